# The project in the picture, in the current directory.
set -eu
mkdir -p src docs tests assets .github/workflows
cat > README.md <<'X'
# Harbour

Counts ships and their cargo.

    make test
    ./harbour total

## Status

Works for one harbour.
X
cat > Makefile <<'X'
CC = cc
CFLAGS = -O2 -Wall

harbour: src/main.c src/ships.c
	$(CC) $(CFLAGS) -o $@ $^

test: harbour
	./tests/run.sh
X
cat > src/ships.c <<'X'
#include <stdio.h>
#include <string.h>
#include "ships.h"

/* One line of the list: name, flag, tons. */
int parse_ship(const char *line, struct ship *ship)
{
	char buffer[64];
	strcpy(buffer, line);
	return sscanf(buffer, "%31[^,],%2[^,],%ld",
	              ship->name, ship->flag, &ship->tons) == 3;
}

long total(const struct ship *ships, int count)
{
	long sum = 0;
	for (int i = 0; i < count; i++)
		sum += ships[i].tons;
	return sum;
}

void print_total(const struct ship *ships, int count)
{
	printf("total: %ld\n", total(ships, count));
}
X
printf 'struct ship {\n\tchar name[32];\n\tchar flag[3];\n\tlong tons;\n};\n' > src/ships.h
printf 'int main(void)\n{\n\treturn 0;\n}\n' > src/main.c
printf '#!/bin/sh\n./harbour total\n' > tests/run.sh
printf 'name,flag,tons\nAda,NO,1200\nGrace,US,8000\n' > docs/ships.csv
printf 'Old notes.\nThey are out of date.\n' > docs/old-notes.md
printf 'on: push\njobs:\n  test:\n    steps:\n      - run: make test\n' > .github/workflows/test.yml
