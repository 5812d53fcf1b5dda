//! `HandedOut`: what a session was given that must not come back in a change, known by
//! digests alone (SUS-38).
//!
//! A value is looked for as it is, percent-encoded (RFC 3986, 2.1), in base64 at each of the
//! three alignments (RFC 4648, 4 and 5) and in hexadecimal; line ends and NUL bytes within it
//! count for nothing. A change that hides it otherwise is not found: this is a net under an agent that
//! copies its login, and no control.

use std::collections::HashMap;
use std::io::{self, Read};

use lazaret_tree::Digest;

/// A value is found by its last bytes, so many, whose hash rolls along with the contents.
const WINDOW: usize = 16;

/// The longest form of a value that is looked for, in bytes.
const LONGEST: usize = 128 << 10;

/// So much is read at once.
const PIECE: usize = 64 << 10;

/// After so many ends of values that were none, contents are taken for one: they were made to
/// look like it, and each costs a digest.
const MOST_MISSES: usize = 4096;

/// What was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandedKind {
    /// A token of a login that was lent.
    Login,
    /// What stands in the place of a key.
    Placeholder,
}

/// One form of a value, which can't be told from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// What it is of.
    pub kind: HandedKind,
    /// Its name in the profile.
    pub name: String,
    /// How many bytes it has.
    pub length: usize,
    /// The rolling hash of its last bytes.
    pub tail: u64,
    /// The digest of all of it.
    pub digest: Digest,
}

impl Mark {
    /// Whether both are forms of values of one name.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        (self.kind, &self.name) == (other.kind, &other.name)
    }

    /// Makes the marks of all forms of a value. One of less than 16 bytes has none: it would
    /// be found by chance.
    pub fn all(kind: HandedKind, name: &str, value: &[u8]) -> Vec<Self> {
        let mut forms = vec![
            value.to_vec(),
            percent_encoded(value),
            hexadecimal(value, b"0123456789abcdef"),
            hexadecimal(value, b"0123456789ABCDEF"),
        ];
        for alphabet in [STANDARD, URL] {
            forms.extend((0..3).map(|alignment| base64(value, alignment, alphabet)));
        }
        forms.sort_unstable();
        forms.dedup();
        let forms = forms
            .iter()
            .filter(|form| (WINDOW..=LONGEST).contains(&form.len()));
        let marks = forms.map(|form| Self {
            kind,
            name: name.to_owned(),
            length: form.len(),
            tail: hash(&form[form.len() - WINDOW..]),
            digest: Digest::of(form),
        });
        marks.collect()
    }
}

/// All that a session was given, ready to be looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandedOut {
    marks: Vec<Mark>,
    by_tail: HashMap<u64, Vec<usize>>,
    /// A bit for the upper half word of each tail: nearly every byte is done with one look.
    tails: Vec<u64>,
}

/// How many words [`HandedOut::tails`] has.
const TAILS: usize = (1 << 16) / 64;

/// Where the bit of a tail is: the word, and the bit in it.
fn place(tail: u64) -> (usize, u64) {
    let upper = (tail >> 48) as usize;
    (upper / 64, 1 << (upper % 64))
}

impl FromIterator<Mark> for HandedOut {
    fn from_iter<T: IntoIterator<Item = Mark>>(marks: T) -> Self {
        let marks: Vec<Mark> = marks.into_iter().collect();
        let mut by_tail: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut tails = vec![0; TAILS];
        for (index, mark) in marks.iter().enumerate() {
            by_tail.entry(mark.tail).or_default().push(index);
            let (word, bit) = place(mark.tail);
            tails[word] |= bit;
        }
        Self {
            marks,
            by_tail,
            tails,
        }
    }
}

impl HandedOut {
    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns the name of a login of which a token is in the text.
    pub fn login_in(&self, text: &[u8]) -> Option<&str> {
        let mut found = self.find(text).into_iter();
        let login = found.find(|mark| mark.kind == HandedKind::Login);
        login.map(|mark| &*mark.name)
    }

    /// Returns what is found in a text, in its order.
    pub(crate) fn find(&self, text: &[u8]) -> Vec<&Mark> {
        self.find_in(&mut &text[..]).unwrap_or_default()
    }

    /// Returns what is found in contents of any length, each value once.
    pub(crate) fn find_in(&self, contents: &mut dyn Read) -> io::Result<Vec<&Mark>> {
        let mut found: Vec<&Mark> = Vec::new();
        let Some(longest) = self.marks.iter().map(|mark| mark.length).max() else {
            return Ok(found);
        };
        let mut piece = vec![0; PIECE];
        // What was read, without line ends and the zeros of UTF-16, as far back as a value may begin.
        let mut text: Vec<u8> = Vec::new();
        let (mut looked, mut rolling, mut misses) = (0, 0, 0);
        loop {
            let length = match contents.read(&mut piece) {
                Ok(0) => return Ok(found),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let bytes = piece[..length].iter();
            text.extend(bytes.filter(|byte| !matches!(byte, b'\r' | b'\n' | 0)));
            while looked < text.len() {
                let gone = looked.checked_sub(WINDOW).map_or(0, |at| text[at]);
                rolling = roll(rolling, gone, text[looked]);
                looked += 1;
                let (word, bit) = place(rolling);
                if self.tails[word] & bit == 0 {
                    continue;
                }
                let Some(candidates) = self.by_tail.get(&rolling) else {
                    continue;
                };
                for &candidate in candidates {
                    let mark = &self.marks[candidate];
                    let Some(start) = looked.checked_sub(mark.length) else {
                        continue;
                    };
                    if found.iter().any(|found| found.is_of(mark)) {
                        continue;
                    }
                    if Digest::of(&text[start..looked]) == mark.digest || misses == MOST_MISSES {
                        found.push(mark);
                    } else {
                        misses += 1;
                    }
                }
            }
            // One that ends later begins in what stays.
            let before = text.len().saturating_sub(longest.max(WINDOW));
            drop(text.drain(..before));
            looked -= before;
        }
    }
}

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// `BASE` to the power of [`WINDOW`].
const LEAVING: u64 = {
    let (mut power, mut at) = (1_u64, 0);
    while at < WINDOW {
        power = power.wrapping_mul(BASE);
        at += 1;
    }
    power
};

/// Lets a byte into the window, and the one out that is the oldest; no byte yet is a zero.
fn roll(hash: u64, gone: u8, new: u8) -> u64 {
    hash.wrapping_mul(BASE)
        .wrapping_add(u64::from(new))
        .wrapping_sub(u64::from(gone).wrapping_mul(LEAVING))
}

fn hash(window: &[u8]) -> u64 {
    window.iter().fold(0, |hash, &byte| roll(hash, 0, byte))
}

fn percent_encoded(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in value {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => out.push(byte),
            false => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    out
}

fn hexadecimal(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let both = |byte: &u8| [byte >> 4, byte & 15].map(|digit| digits[usize::from(digit)]);
    value.iter().flat_map(both).collect()
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The characters of base64 that depend on the value alone, where it begins `alignment` bytes
/// into a group of three.
fn base64(value: &[u8], alignment: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bits = alignment * 8..(alignment + value.len()) * 8;
    let bit = |at: usize| {
        let at = at - bits.start;
        value[at / 8] >> (7 - at % 8) & 1
    };
    let first = bits.start.div_ceil(6);
    let sextets = first..(bits.end / 6).max(first);
    sextets
        .map(|sextet| {
            let six = (sextet * 6..sextet * 6 + 6).fold(0, |six, at| six << 1 | bit(at));
            alphabet[usize::from(six)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{HandedKind, HandedOut, Mark};

    const TOKEN: &[u8] = b"sk-ant-oat01-canary/of+a~login_0123456789";

    fn handed() -> HandedOut {
        let marks = Mark::all(HandedKind::Login, "login", TOKEN);
        let more = Mark::all(HandedKind::Placeholder, "KEY", b"lazaret-placeholder-KEY");
        marks.into_iter().chain(more).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let handed = handed();
        let found = handed.find(text.as_bytes());
        let found: Vec<&str> = found.iter().map(|mark| &*mark.name).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{text}");
    }

    #[test]
    fn sus_38_a_value_is_found_in_every_form() {
        let token = String::from_utf8(TOKEN.to_vec()).unwrap();
        check(&token, Some("login"));
        check(&format!("export T='{token}'\n"), Some("login"));
        check(&format!("{}\n  {}", &token[..20], &token[20..]), None);
        check(
            &format!("{}\r\n{}", &token[..20], &token[20..]),
            Some("login"),
        );
        check(
            "?t=sk-ant-oat01-canary%2Fof%2Ba~login_0123456789&x",
            Some("login"),
        );
        check(
            "736b2d616e742d6f617430312d63616e6172792f6f662b617e6c6f67696e5f30313233343536373839",
            Some("login"),
        );
        check("x lazaret-placeholder-KEY.", Some("KEY"));
        check("x lazaret-placeholder-KEZ.", None);
        let wide: String = token.chars().flat_map(|c| [c, '\0']).collect();
        check(&wide, Some("login"));
        check(&token[1..], None);
        check(&token[..token.len() - 1], None);
        check("", None);
    }

    #[test]
    fn sus_38_a_value_is_found_in_base64_at_every_alignment() {
        use super::{STANDARD, base64};
        for before in ["", "a", "ab", "abc", "{\"accessToken\":\""] {
            let mut text = before.as_bytes().to_vec();
            text.extend_from_slice(TOKEN);
            text.extend_from_slice(b"\"}}");
            // All bits are known, so it is the encoding as a whole.
            let encoded = base64(&text, 0, STANDARD);
            let lines: Vec<&[u8]> = encoded.chunks(76).collect();
            let found = handed().find(&lines.join(&b'\n')).len();
            assert_eq!(found, 1, "{before}");
        }
    }

    #[test]
    fn sus_38_a_value_is_found_wherever_pieces_end() {
        for before in (65_400..65_700).step_by(7) {
            let mut text = vec![b'x'; before];
            text.extend_from_slice(TOKEN);
            assert_eq!(handed().find(&text).len(), 1, "{before}");
        }
    }

    #[test]
    fn sus_38_contents_that_are_made_to_look_like_a_value_are_taken_for_it() {
        let tail = &TOKEN[TOKEN.len() - 16..];
        assert!(handed().find(&tail.repeat(100)).is_empty());
        assert!(!handed().find(&tail.repeat(10_000)).is_empty());
    }

    /// Nothing of a value can be read out of what is kept.
    #[test]
    fn sus_38_a_mark_shows_no_value() {
        let shown = format!("{:?}", handed());
        assert!(!shown.contains("canary"), "{shown}");
    }
}
