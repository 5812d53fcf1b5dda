//! `CopyRefs`: what names commits in the repositories of a volume, listed by git in a container.
//!
//! A collection lists the same on the host, from the files of the repositories. That is not
//! possible if the survey of the volume breaks a rule, and it lists no more than 100 refs. Here
//! git reads the refs in a repository of its own. What no ref names, it finds among all objects,
//! so nothing that was committed is left out.

use std::collections::BTreeSet;
use std::io;

use lazaret_image_builder::Pinned;
use lazaret_transfer::{NewRef, NewRefKind, NewRefs, ObjectId, ref_kind};
use lazaret_tree::RelPathBuf;

use crate::commits::git_container::{GitScript, PackError, run};
use crate::commits::packer::PACK_TIMEOUT;
use crate::context::{SessionContext, WORKSPACE};
use crate::store::record::Record;

/// The most bytes of the list.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// The most refs of a repository that are listed; the rest is counted.
const MOST_LISTED: usize = 1000;

/// The last line of a list.
const END: &str = "end";

/// What runs in the container. Its argument is the directory of the copy.
///
/// `refs` of git's repository leads to that of the copy's, and so does `packed-refs`. Of the
/// copy's configuration it reads the format of objects, as a value. What `fsck` calls dangling is
/// named by no ref, no `HEAD` and no other object; its exit code says nothing here.
const SCRIPT: &str = r#"cd "$1" || exit
list() {
  printf 'repository %s\n' "$1"
  local format=sha1 head= old new rest
  [ "$(git config --file "$1/config" --get extensions.objectFormat)" != sha256 ] || format=sha256
  rm -rf "$GIT_DIR"
  if [ -d "$1/reftable" ]; then
    git init --quiet --bare --template= --object-format=$format --ref-format=reftable || exit
    rm -rf "$GIT_DIR/reftable"
    ln -s "$PWD/$1/reftable" "$GIT_DIR/reftable" || exit
  else
    git init --quiet --bare --template= --object-format=$format || exit
    if [ -d "$1/refs" ]; then
      rm -rf "$GIT_DIR/refs"
      ln -s "$PWD/$1/refs" "$GIT_DIR/refs" || exit
    fi
    [ ! -f "$1/packed-refs" ] || ln -s "$PWD/$1/packed-refs" "$GIT_DIR/packed-refs" || exit
  fi
  [ ! -f "$1/HEAD" ] || IFS= read -r head < "$1/HEAD"
  case $head in
  ref:* | *[!0-9a-f]* | "") ;;
  *)
    printf 'head %s\n' "$head"
    printf '%s\n' "$head" > "$GIT_DIR/HEAD"
    ;;
  esac
  export GIT_OBJECT_DIRECTORY="$PWD/$1/objects" GIT_SHALLOW_FILE="$PWD/$1/shallow"
  git for-each-ref --format='ref %(objectname) %(refname)' || echo unreadable
  if [ -f "$1/logs/refs/stash" ]; then
    while read -r old new rest; do printf 'stash %s\n' "$new"; done < "$1/logs/refs/stash"
  fi
  git -c core.commitGraph=false fsck --connectivity-only --no-reflogs --no-progress --dangling |
    grep -E '^dangling (commit|tag) '
  unset GIT_OBJECT_DIRECTORY GIT_SHALLOW_FILE
}
{ find .git -type d \( -name objects -prune -print0 -o \( -name refs -o -name logs \) -prune \) || :; } |
  while IFS= read -r -d '' objects; do
    case $objects in *$'\n'*) ;; *) list "${objects%/objects}" ;; esac
  done || exit
echo end
"#;

/// Why there is no list. The volume is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// git failed.
    #[error(transparent)]
    Git(PackError),
    /// The list broke off.
    #[error("cannot list the commits in the copy: the list broke off")]
    Cut,
    /// The stream broke.
    #[error("cannot list the commits in the copy")]
    Stream(#[source] io::Error),
    /// There are too many refs.
    #[error("cannot list the commits in the copy: the list is larger than {MAX_LIST_BYTES} bytes")]
    TooLarge,
}

impl From<PackError> for ListError {
    fn from(error: PackError) -> Self {
        match error {
            PackError::TooLarge { .. } => Self::TooLarge,
            error => Self::Git(error),
        }
    }
}

/// What names commits in one repository of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyRefs {
    /// Where the repository lies: `.git`, or a directory below `.git/modules`.
    pub repository: RelPathBuf,
    named: Vec<Named>,
    /// Entries of the stash, oldest first.
    stashes: Vec<ObjectId>,
    /// What nothing names.
    lost: Vec<ObjectId>,
    is_unreadable: bool,
}

/// Something that names an object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    kind: NewRefKind,
    name: Vec<u8>,
    id: ObjectId,
}

/// Lists what names commits in each repository of a session's volume. `image` is the one that has
/// git, `base`.
///
/// # Errors
/// Why there is no list.
pub fn list_refs(
    cx: &SessionContext<'_>,
    record: &Record,
    image: &Pinned,
) -> Result<Vec<CopyRefs>, ListError> {
    let script = GitScript {
        text: SCRIPT,
        arguments: &[WORKSPACE],
        input: "",
        max_bytes: MAX_LIST_BYTES,
        timeout: PACK_TIMEOUT,
    };
    let text = run(cx, record, image, &script, |printed| {
        let mut text = Vec::new();
        match printed.read_to_end(&mut text) {
            Ok(_) => Ok(text),
            // It is known better from how the process ended.
            Err(error) => Err(ListError::Stream(error)),
        }
    })?;
    parse(&text).ok_or(ListError::Cut)
}

/// Reads the list; `None` if its end is missing. Lines that say nothing are left out.
fn parse(text: &[u8]) -> Option<Vec<CopyRefs>> {
    let lines = text.strip_suffix(b"\n")?.split(|&byte| byte == b'\n');
    let mut lines: Vec<&[u8]> = lines.collect();
    if lines.pop()? != END.as_bytes() {
        return None;
    }
    let mut all: Vec<CopyRefs> = Vec::new();
    for line in lines {
        let (word, rest) = split(line).unwrap_or((line, b""));
        match (word, all.last_mut()) {
            (b"repository", _) => all.extend(CopyRefs::at(rest)),
            (_, Some(refs)) => drop(refs.add(word, rest)),
            (_, None) => {}
        }
    }
    all.sort_by(|a, b| a.repository.cmp(&b.repository));
    Some(all)
}

impl CopyRefs {
    fn at(path: &[u8]) -> Option<Self> {
        let path: RelPathBuf = std::str::from_utf8(path).ok()?.parse().ok()?;
        let text = path.as_str();
        (text == ".git" || text.starts_with(".git/modules/")).then(|| Self {
            repository: path,
            named: Vec::new(),
            stashes: Vec::new(),
            lost: Vec::new(),
            is_unreadable: false,
        })
    }

    fn add(&mut self, word: &[u8], rest: &[u8]) -> Option<()> {
        match word {
            b"head" => self.named.push(Named {
                kind: NewRefKind::Head,
                name: Vec::new(),
                id: ObjectId::from_hex(rest)?,
            }),
            b"ref" => {
                let (id, name) = split(rest)?;
                let id = ObjectId::from_hex(id)?;
                match ref_kind(name) {
                    Some((kind, name)) => self.named.push(Named {
                        kind,
                        name: name.to_vec(),
                        id,
                    }),
                    None => self.lost.push(id),
                }
            }
            b"stash" => self.stashes.push(ObjectId::from_hex(rest)?),
            b"dangling" => self.lost.push(ObjectId::from_hex(split(rest)?.1)?),
            b"unreadable" => self.is_unreadable = true,
            _ => {}
        }
        Some(())
    }

    /// Returns everything that is named or lost.
    pub fn ids(&self) -> Vec<ObjectId> {
        let named = self.named.iter().map(|named| named.id);
        let ids = named.chain(self.stashes.iter().copied());
        let ids: BTreeSet<ObjectId> = ids.chain(self.lost.iter().copied()).collect();
        ids.into_iter().collect()
    }

    /// Adds what names an object that `is_known` does not know.
    pub fn add_to(&self, found: &mut NewRefs, is_known: &dyn Fn(&ObjectId) -> bool) {
        let new = |ids: &[ObjectId]| -> Vec<ObjectId> {
            ids.iter().filter(|id| !is_known(id)).copied().collect()
        };
        let mut stashes = new(&self.stashes);
        stashes.reverse();
        let mut lost = new(&self.lost);
        lost.retain(|id| !stashes.contains(id));
        let blank = |kind, name: &[u8]| NewRef {
            kind,
            name: name.to_vec(),
            repository: self.repository.clone(),
            tip: None,
            count: None,
            subject: None,
            logged: Vec::new(),
        };
        for Named { kind, name, id } in &self.named {
            if is_known(id) || found.listed.len() >= MOST_LISTED {
                found.more += u64::from(!is_known(id));
                continue;
            }
            let logged = match kind {
                NewRefKind::Stash => std::mem::take(&mut stashes),
                _ => Vec::new(),
            };
            found.listed.push(NewRef {
                tip: Some(*id),
                count: (!logged.is_empty()).then(|| exactly(&logged)),
                logged,
                ..blank(*kind, name)
            });
        }
        for (kind, logged) in [(NewRefKind::Stash, stashes), (NewRefKind::Reflog, lost)] {
            if !logged.is_empty() {
                found.listed.push(NewRef {
                    count: Some(exactly(&logged)),
                    logged,
                    ..blank(kind, b"")
                });
            }
        }
        if self.is_unreadable {
            let path = self.repository.as_str().as_bytes();
            found.listed.push(blank(NewRefKind::Unreadable, path));
        }
    }
}

fn exactly(ids: &[ObjectId]) -> lazaret_transfer::Count {
    lazaret_transfer::Count::Exactly(ids.len() as u64)
}

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|&byte| byte == b' ')?;
    Some((line.get(..at)?, line.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> ObjectId {
        let text = String::from(digit).repeat(40);
        ObjectId::from_hex(text.as_bytes()).unwrap()
    }

    fn names(all: &[CopyRefs], known: &[ObjectId]) -> Vec<String> {
        let mut found = NewRefs::default();
        for refs in all {
            refs.add_to(&mut found, &|id| known.contains(id));
        }
        let unlanded: crate::store::unlanded::Unlanded = found.into();
        unlanded.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_names_commits_is_listed_by_repository() {
        let (a, b, c, d) = (id('a'), id('b'), id('c'), id('d'));
        let text = format!(
            "repository .git/modules/x\nref {d} refs/heads/sub\n\
             repository .git\nhead {a}\nref {b} refs/heads/fix\nref {c} refs/stash\n\
             stash {d}\nstash {c}\ndangling commit {a}\ndangling blob x\nodd\nend\n"
        );
        let all = parse(text.as_bytes()).unwrap();
        assert_eq!(all[0].ids(), [a, b, c, d]);
        assert_eq!(
            names(&all, &[]),
            [
                "detached HEAD",
                "branch fix",
                "stash: 2",
                "1 commit only in the reflog",
                "branch sub in .git/modules/x",
            ]
        );
        assert_eq!(names(&all, &[a, b, d]), ["stash: 1"]);
    }

    #[test]
    fn a_list_without_its_end_is_none() {
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"repository .git\n"), None);
        assert_eq!(parse(b"repository .git\nend"), None);
        assert_eq!(parse(b"end\n"), Some(Vec::new()));
    }

    #[test]
    fn what_git_would_not_have_written_is_not_believed() {
        let (a, b) = (id('a'), id('b'));
        let text = format!(
            "ref {a} refs/heads/nowhere\nrepository /etc\nrepository .git/../x\nrepository .git\n\
             ref {a} refs/heads/../x\nref {} refs/heads/y\nref {b} refs/heads/\u{1b}[2J\n\
             unreadable\nend\n",
            &a.to_string()[1..]
        );
        let all = parse(text.as_bytes()).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(
            names(&all, &[]),
            ["2 commits only in the reflog", "unreadable refs: .git"]
        );
    }
}
