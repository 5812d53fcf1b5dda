#!/bin/sh
# crate-install CRATE [CARGO FLAG…]: compiles programs of the crates' registry into
# /usr/local/bin, with the versions that their own lockfile names. A tool's own speed matters
# less than the time to build it: little is optimised.
set -e
crate=$1
shift
case ${VERSION-} in
    '') ;;
    *.*.*) set -- --version "=$VERSION" "$@" ;;
    *) set -- --version "~$VERSION" "$@" ;;
esac
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
    CARGO_PROFILE_RELEASE_STRIP=symbols
cargo install --locked --no-track --root /tmp/crate --target-dir /tmp/crate-target "$@" "$crate"
install -m 755 /tmp/crate/bin/* /usr/local/bin/
rm -rf /tmp/crate /tmp/crate-target
