//! `Commit`: what a commit object says, parsed strictly (gitformat-commit, fsck's rules).

use lazaret_transfer::ObjectId;

/// The most parents of one commit.
const MAX_PARENTS: usize = 64;

/// What a commit says. Texts are raw: they are the agent's to write (GIT-22).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its tree.
    pub tree: ObjectId,
    /// What it was made upon, in order.
    pub parents: Vec<ObjectId>,
    /// Who wrote it: `Name <address>`.
    pub author: Vec<u8>,
    /// Who committed it: `Name <address>`.
    pub committer: Vec<u8>,
    /// When it was committed, in seconds since 1970.
    pub time: i64,
    /// When it was written and committed, as git writes that: `seconds zone`.
    pub dates: Dates,
    /// Whether it carries a signature. Signatures are not verified.
    pub is_signed: bool,
    /// The message.
    pub message: Vec<u8>,
}

/// The dates of a commit, each as `seconds zone`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dates {
    /// When it was written.
    pub author: String,
    /// When it was committed.
    pub committer: String,
}

/// Why bytes are no commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The first line names no tree.
    #[error("it names no tree")]
    Tree,
    /// A parent is no id.
    #[error("it names a parent that is no id")]
    Parent,
    /// There are over 64 parents.
    #[error("it has more than {MAX_PARENTS} parents")]
    ManyParents,
    /// The author or the committer is not `Name <address> seconds zone`.
    #[error("its author or committer is not in git's form")]
    Person,
    /// A header line is not `key value`.
    #[error("a header is not in git's form")]
    Header,
    /// There is a NUL byte.
    #[error("it has a NUL byte")]
    Nul,
}

impl Commit {
    /// Parses the contents of a commit object.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn parse(bytes: &[u8]) -> Result<Self, CommitError> {
        if bytes.contains(&0) {
            return Err(CommitError::Nul);
        }
        let mut rest = bytes;
        let tree = value(line(&mut rest), b"tree").and_then(ObjectId::from_hex);
        let tree = tree.ok_or(CommitError::Tree)?;
        let mut parents = Vec::new();
        while rest.starts_with(b"parent ") {
            let parent = value(line(&mut rest), b"parent").and_then(ObjectId::from_hex);
            parents.push(parent.ok_or(CommitError::Parent)?);
            if parents.len() > MAX_PARENTS {
                return Err(CommitError::ManyParents);
            }
        }
        let author = person(line(&mut rest), b"author")?;
        let committer = person(line(&mut rest), b"committer")?;
        let mut is_signed = false;
        let mut is_first = true;
        loop {
            if rest.is_empty() {
                // A commit without a message may end after its headers.
                break;
            }
            match line(&mut rest) {
                Some(b"") => break,
                Some(header) if header.starts_with(b" ") && !is_first => {}
                Some(header) if is_header(header) => {
                    is_signed |= header.starts_with(b"gpgsig");
                }
                _ => return Err(CommitError::Header),
            }
            is_first = false;
        }
        Ok(Self {
            tree,
            parents,
            dates: Dates {
                author: author.date,
                committer: committer.date,
            },
            author: author.who,
            committer: committer.who,
            time: committer.seconds,
            is_signed,
            message: rest.to_vec(),
        })
    }

    /// Returns the first line of the message, raw.
    pub fn subject(&self) -> &[u8] {
        let line = self.message.split(|&byte| byte == b'\n').next();
        line.unwrap_or_default()
    }
}

/// Returns the tree of a commit of the user's, which need not keep every rule.
pub(crate) fn tree_of(bytes: &[u8]) -> Result<ObjectId, CommitError> {
    let mut rest = bytes;
    let tree = value(line(&mut rest), b"tree").and_then(ObjectId::from_hex);
    tree.ok_or(CommitError::Tree)
}

/// Returns what an annotated tag names, and git's word for its kind.
pub(crate) fn tagged(bytes: &[u8]) -> Option<(ObjectId, &[u8])> {
    let mut rest = bytes;
    let object = value(line(&mut rest), b"object").and_then(ObjectId::from_hex)?;
    Some((object, value(line(&mut rest), b"type")?))
}

/// Takes a line, its line feed less; `None` where no line feed comes.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let (line, after) = rest.split_at_checked(end)?;
    *rest = after.get(1..).unwrap_or_default();
    Some(line)
}

fn value<'a>(line: Option<&'a [u8]>, key: &[u8]) -> Option<&'a [u8]> {
    line?.strip_prefix(key)?.strip_prefix(b" ")
}

fn is_header(line: &[u8]) -> bool {
    let key = line.split(|&byte| byte == b' ').next().unwrap_or_default();
    !key.is_empty() && key.len() < line.len() && key.iter().all(u8::is_ascii_graphic)
}

/// Who did what a commit says, and when.
struct Person {
    who: Vec<u8>,
    seconds: i64,
    date: String,
}

/// Reads `Name <address> seconds zone`.
fn person(line: Option<&[u8]>, key: &[u8]) -> Result<Person, CommitError> {
    let parsed = value(line, key).and_then(|text| {
        let end = text.iter().rposition(|&byte| byte == b'>')?;
        let (who, when) = text.split_at_checked(end + 1)?;
        let is_name = who.iter().filter(|&&byte| byte == b'<').count() == 1
            && who.iter().filter(|&&byte| byte == b'>').count() == 1;
        let when = std::str::from_utf8(when).ok()?.strip_prefix(' ')?;
        let date = when.to_owned();
        let (seconds, zone) = when.split_once(' ')?;
        let is_zone = matches!(zone.as_bytes(), [b'+' | b'-', digits @ ..]
            if digits.len() == 4 && digits.iter().all(u8::is_ascii_digit));
        let is_number = seconds.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = seconds.parse().ok().filter(|_| is_number)?;
        (is_name && is_zone).then(|| Person {
            who: who.to_vec(),
            seconds,
            date,
        })
    });
    parsed.ok_or(CommitError::Person)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";
    const WHO: &str = "author A <a@b> 1 +0000\ncommitter C <> 2 -0130\n";

    #[test]
    fn git_20_commits_are_parsed_strictly() {
        let parent = "parent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";
        let good = [
            format!("{TREE}{WHO}\nsubject\n\nbody\n"),
            format!("{TREE}{parent}{parent}{WHO}gpgsig -----\n line\n \n -----\n\nm"),
            format!("{TREE}{WHO}encoding latin1\n\n"),
            format!("{TREE}{WHO}"),
        ];
        for text in good {
            let commit = Commit::parse(text.as_bytes()).unwrap();
            assert_eq!((&*commit.author, commit.time), (&b"A <a@b>"[..], 2));
            assert_eq!(commit.is_signed, text.contains("gpgsig"));
        }
        let bad = [
            (String::new(), CommitError::Tree),
            ("tree 4b\n".to_owned(), CommitError::Tree),
            (format!("{TREE}parent 1\n{WHO}\n"), CommitError::Parent),
            (
                format!("{TREE}{}{WHO}\n", parent.repeat(65)),
                CommitError::ManyParents,
            ),
            (format!("{TREE}author A\n"), CommitError::Person),
            (
                format!("{TREE}author A <a> <b> 1 +0000\n"),
                CommitError::Person,
            ),
            (
                format!("{TREE}author A <a> -1 +0000\n"),
                CommitError::Person,
            ),
            (format!("{TREE}author A <a> 1 0000\n"), CommitError::Person),
            (format!("{TREE}{WHO} line\n\n"), CommitError::Header),
            (format!("{TREE}{WHO}word\n\n"), CommitError::Header),
            (format!("{TREE}{WHO}\n\0"), CommitError::Nul),
        ];
        for (text, error) in bad {
            assert_eq!(Commit::parse(text.as_bytes()), Err(error), "{text}");
        }
    }
}
