//! Macros of `.gitattributes`: names that stand for what other attributes set. Git reads
//! them in the root of the work tree, so a line anywhere may use one that was there before.

use std::collections::{HashMap, VecDeque};

use lazaret_tree::Entry;

use super::{chosen_by, words};
use crate::rules::content::file_pair::lines;
use crate::rules::{Context, FilePair, FileSide};

const FILE: &str = ".gitattributes";

/// Macros, each with the first setting among what it stands for that does something.
#[derive(Debug, Default)]
pub(super) struct Macros<'a>(HashMap<&'a [u8], &'a [u8]>);

impl<'a> Macros<'a> {
    /// Reads the definitions, `[attr]name setting...`. Macros may stand for macros; time
    /// grows with the length of the text.
    pub(super) fn of(text: &'a [u8]) -> Self {
        let mut known = Self::default();
        let mut users: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
        let mut told = VecDeque::new();
        for (_, line) in lines(text) {
            let line = line.trim_ascii_start();
            let Some(rest) = line.strip_prefix(b"[attr]") else {
                continue;
            };
            let name = rest.trim_ascii_start();
            let end = name.iter().position(u8::is_ascii_whitespace);
            let name = name.get(..end.unwrap_or(name.len())).unwrap_or_default();
            // Between the bracket and the name there may be blanks.
            for word in words(line).filter(|&word| word != name) {
                match chosen_by(word) {
                    Some(_) => told.push_back((name, word)),
                    None => users.entry(word).or_default().push(name),
                }
            }
        }
        while let Some((name, setting)) = told.pop_front() {
            if known.0.contains_key(name) {
                continue;
            }
            known.0.insert(name, setting);
            let above = users.remove(name).unwrap_or_default();
            told.extend(above.into_iter().map(|user| (user, setting)));
        }
        known
    }

    /// Returns what a macro comes to, when that does something.
    pub(super) fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.0.get(name).copied()
    }
}

/// Returns the attributes in the root as the batch leaves them, if they can be had.
pub(super) fn at_the_root<'o>(context: &Context<'_>, pair: &'o FilePair<'_>) -> RootFile<'o> {
    if pair.path().as_str() == FILE {
        return RootFile::This(pair.after());
    }
    let root = lazaret_tree::RelPath::new(FILE).ok();
    let entry: Option<&Entry> = root.and_then(|root| context.collected.get(root));
    RootFile::Other(pair.read_other(entry))
}

/// The attributes in the root: the file that is looked at, or another one.
pub(super) enum RootFile<'o> {
    This(&'o FileSide),
    Other(FileSide),
}

impl RootFile<'_> {
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::This(side) => side.bytes(),
            Self::Other(side) => side.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Macros;

    #[test]
    fn git_11_macros_of_macros() {
        let text = b"[attr]one two -x\n[attr]two three\n[attr]three text filter=f diff=d\n\
            [attr]loop loop2\n[attr]loop2 loop\n\t[attr]\tblank diff=b\n*.c notmacro\n";
        let macros = Macros::of(text);
        for (name, setting) in [
            (&b"one"[..], Some(&b"filter=f"[..])),
            (b"two", Some(b"filter=f")),
            (b"three", Some(b"filter=f")),
            (b"blank", Some(b"diff=b")),
            (b"loop", None),
            (b"notmacro", None),
        ] {
            assert_eq!(macros.get(name), setting, "{name:?}");
        }
    }

    #[test]
    fn a_long_chain_of_macros_is_no_deep_recursion() {
        let mut text: String = (0..200_000).fold(String::new(), |text, number| {
            text + &format!("[attr]m{number} m{}\n", number + 1)
        });
        text.push_str("[attr]m200000 filter=f\n");
        assert_eq!(
            Macros::of(text.as_bytes()).get(b"m0"),
            Some(&b"filter=f"[..])
        );
    }
}
