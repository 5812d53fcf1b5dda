#!/bin/sh
# Becomes the program of this name in a Rust toolchain: `cargo +nightly test`, as rustup has it.
case ${1-} in
    +*) toolchain=${1#+}; shift ;;
    *) toolchain=stable ;;
esac
bin=/opt/rust/$toolchain/bin
if ! [ -d "$bin" ]; then
    echo "this image has no Rust toolchain '$toolchain'; it has: $(ls /opt/rust | grep -vx run | tr '\n' ' ')" >&2
    exit 1
fi
PATH=$bin:$PATH exec "$bin/${0##*/}" "$@"
