#!/bin/sh
# Makes dot-git, the sample project's history, anew from project/. To be run after
# a change in project/; the same files give the same commits.
set -eu
cd "$(dirname "$0")"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME='Harbour Master' GIT_AUTHOR_EMAIL='master@harbour.example'
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"

cp -R project/. "$scratch"
cd "$scratch"
git init --quiet --initial-branch=main --template= .

commit() {
    export GIT_AUTHOR_DATE="$1" GIT_COMMITTER_DATE="$1"
    git commit --quiet -m "$2"
}
git add README.md .gitignore data docs
commit '2025-03-03T09:00:00Z' 'Keep the register in a file'
git add bin
commit '2025-03-04T10:30:00Z' 'Answer how many ships and how long they are'
git add --all
commit '2025-03-05T16:45:00Z' 'Test the answers'

git repack -a -d --quiet
# The index as `git clone` would leave it, but without this machine's file ids.
rm .git/index
git read-tree HEAD
rm -rf .git/logs .git/COMMIT_EDITMSG .git/objects/info .git/description .git/branches .git/hooks .git/info
cat > .git/config <<'END'
[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
END
# Loose names, so that the files can be listed in the program.
mv .git/objects/pack/pack-*.pack .git/history.pack
mv .git/objects/pack/pack-*.idx .git/history.idx
cd - > /dev/null
rm -rf dot-git
mkdir dot-git
for file in HEAD config index history.pack history.idx; do
    cp "$scratch/.git/$file" "dot-git/$file"
done
cp "$scratch/.git/refs/heads/main" dot-git/main
chmod 644 dot-git/*
