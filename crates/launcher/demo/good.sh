#!/bin/sh
# The demo's well-behaved agent: finds what is broken, repairs it, tidies up, checks.
set -eu

say() { printf '\nagent> %s\n' "$*"; }

say "I am $(id -un) (uid $(id -u)) in $(pwd); the checks say:"
sh tests/run.sh || true

say "\`total\` leaves out the first ship: it starts one line late."
sed 's/NR > 2/NR > 1/' bin/harbour > bin/harbour.new
cat bin/harbour.new > bin/harbour
rm bin/harbour.new

say "While I am here: a question that was missing, with its test."
sed '/^    total)/a\
    longest) tail -n +2 "$register" | sort -t, -k2,2nr | head -n 1 | cut -d, -f1 ;;
s/usage: harbour count | total"/usage: harbour count | total | longest"/' bin/harbour > bin/harbour.new
cat bin/harbour.new > bin/harbour
rm bin/harbour.new
printf 'bin/harbour longest\nPerseverance\n' > tests/longest.test

mkdir -p docs
cat > docs/changes.md <<'END'
# Changes

- `harbour total` counts the first ship, too.
- `harbour longest` names the longest ship.
END

say "The old notes ask to be deleted."
rm docs/old-notes.md

say "The checks again:"
sh tests/run.sh

if command -v git > /dev/null; then
    say "What I changed, as git sees it in here:"
    git --no-pager status --short
fi
