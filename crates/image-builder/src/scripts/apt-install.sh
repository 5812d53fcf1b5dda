#!/bin/sh
# apt-install [--sources FILE] PACKAGE…: installs Debian packages without those that they only
# recommend, from the machine's own sources where the build knows them, else from the image's;
# and from those in FILE, for this time.
set -e
extra=
if [ "$1" = --sources ]; then
    extra=$2
    shift 2
fi
parts=/etc/apt/sources.list.d
options='-q -y -o Acquire::Retries=3 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30
    -o APT::Install-Recommends=false -o Dpkg::Options::=--force-confold'
if [ -s /lazaret/build/apt.d/machine.sources ]; then
    parts=/lazaret/build/apt.d
    options="$options -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$parts"
fi
if [ -n "$extra" ]; then
    cp "$extra" "$parts/extra.sources"
fi
if [ -s /lazaret/build/ca.pem ]; then
    options="$options -o Acquire::https::CAInfo=/lazaret/build/ca.pem"
fi
# Installing a service does not start it.
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
# shellcheck disable=SC2086 # words, not one word
apt-get $options update
# shellcheck disable=SC2086
apt-get $options install "$@"
rm -f /usr/sbin/policy-rc.d "$parts/extra.sources"
