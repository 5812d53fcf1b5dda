# What the user does to the project meanwhile.
set -eu
sed -i 's/^# Harbour/# Harbour and pier/' README.md
sed -i 's/^Ada,NO,1200/Ada,NO,1300/' docs/ships.csv
