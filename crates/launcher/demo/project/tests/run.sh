#!/bin/sh
# Runs every tests/*.test: the first line is the command, the rest what it must print.
set -u
cd "$(dirname "$0")/.." || exit 1

failed=0
for test in tests/*.test; do
    expected=$(tail -n +2 "$test")
    actual=$(sh -c "$(head -n 1 "$test")" 2>&1)
    if [ "$actual" = "$expected" ]; then
        echo "ok      $test"
    else
        echo "FAILED  $test: expected '$expected', got '$actual'"
        failed=1
    fi
done
exit $failed
