//! What a command line could mean by a path: every word that a shell would make of it, and of
//! the text that it hands on to another shell.
//!
//! It is no shell, and it errs to one side: a word too many holds a change back that a person
//! can allow; one that is missed lets it through.

/// What stands for anything that is known when the line runs only: `$x`, `$(x)`.
pub(super) const UNKNOWN: char = '\u{1}';

/// How deep a line may hold lines.
const DEEPEST: usize = 4;
/// How deep commands may stand in commands: `$($(x))`.
const DEEPEST_COMMANDS: usize = 32;
/// The most words of one line; one with more is not understood.
pub(super) const MOST_WORDS: usize = 4096;

/// Interpreters that find a file without its extension.
const BY_STEM: &[&str] = &["bun", "deno", "node", "nodejs", "ts-node", "tsx"];

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Without quotes; [`UNKNOWN`] where it can't be told.
    pub(super) text: String,
    pub(super) place: Place,
}

/// Where in a command a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It names the program: no directory.
    Program,
    /// It is handed to a program, which may look for anything in a directory.
    Argument,
    /// It names a module, or a file without its extension.
    Stem,
}

/// Returns every word of a command line; `None` of one with too many.
pub(super) fn words(line: &str) -> Option<Vec<Word>> {
    let mut found = Vec::new();
    collect(line, 0, &mut found);
    let name = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    let by_stem = found
        .iter()
        .any(|word| BY_STEM.contains(&&*name(&word.text)));
    if by_stem {
        let arguments = found.iter().filter(|word| word.place == Place::Argument);
        let stems: Vec<Word> = arguments
            .filter(|word| !name(&word.text).trim_start_matches('.').contains('.'))
            .map(|word| Word {
                text: word.text.clone(),
                place: Place::Stem,
            })
            .collect();
        found.extend(stems);
    }
    (found.len() <= MOST_WORDS).then_some(found)
}

fn collect(line: &str, depth: usize, found: &mut Vec<Word>) {
    let mut lexer = Lexer {
        chars: line.chars().collect(),
        at: 0,
        depth: 0,
        words: Vec::new(),
    };
    lexer.command(None);
    let mut is_module = false;
    for word in lexer.words {
        if found.len() > MOST_WORDS {
            return;
        }
        let is_line = |c: char| c.is_whitespace() || ";&|<>()'\"`".contains(c);
        if depth < DEEPEST && word.text != line && word.text.contains(is_line) {
            collect(&word.text, depth + 1, found);
        }
        if std::mem::replace(&mut is_module, word.text == "-m") {
            module(&word.text, found);
        }
        pieces(&word, found);
    }
}

/// Adds a word, and what it may hold: the value of an option or of a variable, an entry of a
/// list, the file behind an `@`.
fn pieces(word: &Word, found: &mut Vec<Word>) {
    let mut add = |text: &str, place| {
        if !text.is_empty() && !text.starts_with('-') {
            found.push(Word {
                text: text.to_owned(),
                place,
            });
        }
    };
    add(&word.text, word.place);
    for piece in word.text.split(['=', ':', ',']) {
        for piece in [piece, piece.trim_start_matches('@')] {
            if piece != word.text {
                add(piece, Place::Argument);
            }
        }
    }
    // `-C./x`, `-mtools.fmt`.
    let mut chars = word.text.chars();
    if chars.next() == Some('-') {
        let option = chars.next();
        let rest = chars.as_str();
        if option != Some('-') {
            add(rest, Place::Argument);
            if option == Some('m') {
                module(rest, found);
            }
        }
    }
}

/// Adds what `python -m a.b` runs.
fn module(name: &str, found: &mut Vec<Word>) {
    let path = name.replace('.', "/");
    for (text, place) in [
        (path.clone(), Place::Argument),
        (path.clone(), Place::Stem),
        (format!("{path}/__init__"), Place::Stem),
    ] {
        found.push(Word { text, place });
    }
    if let Some((package, _)) = path.rsplit_once('/') {
        found.push(Word {
            text: format!("{package}/__init__"),
            place: Place::Stem,
        });
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    /// How many commands the one stands in that is read.
    depth: usize,
    words: Vec<Word>,
}

impl Lexer {
    fn next(&mut self) -> Option<char> {
        let c = self.chars.get(self.at).copied()?;
        self.at += 1;
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// Reads commands up to `end`, or to the end of the line.
    fn command(&mut self, end: Option<char>) {
        let mut place = Place::Program;
        let mut word: Option<String> = None;
        while let Some(c) = self.next() {
            if Some(c) == end {
                break;
            }
            let next = match c {
                ';' | '&' | '|' | '(' | ')' | '\n' => Some(Place::Program),
                '<' | '>' => Some(Place::Argument),
                c if c.is_whitespace() => Some(place),
                _ => None,
            };
            if let Some(next) = next {
                let ended = self.end_word(&mut word, place);
                place = if c.is_whitespace() && c != '\n' {
                    ended
                } else {
                    next
                };
                continue;
            }
            let text = word.get_or_insert_default();
            self.extend_word(c, text);
        }
        self.end_word(&mut word, place);
    }

    fn inner(&mut self, end: char) {
        self.depth += 1;
        self.command(Some(end));
        self.depth -= 1;
    }

    /// Ends a word, and says where the next one stands.
    fn end_word(&mut self, word: &mut Option<String>, place: Place) -> Place {
        let Some(text) = word.take() else {
            return place;
        };
        // `!`, `x=y` and some words stand before the program.
        let name = text.split_once('=').map(|(name, _)| name);
        let is_setting = name.is_some_and(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let before = matches!(
            &*text,
            "!" | "{"
                | "}"
                | "do"
                | "then"
                | "else"
                | "if"
                | "while"
                | "until"
                | "exec"
                | "env"
                | "command"
                | "eval"
                | "time"
                | "nohup"
                | "sudo"
                | "xargs"
        );
        let stays = place == Place::Program && (is_setting || before);
        self.words.push(Word { text, place });
        match stays {
            true => Place::Program,
            false => Place::Argument,
        }
    }

    /// Adds to a word what a character begins.
    fn extend_word(&mut self, c: char, word: &mut String) {
        match c {
            '\'' => {
                while let Some(c) = self.next().filter(|c| *c != '\'') {
                    word.push(c);
                }
            }
            '"' => {
                while let Some(c) = self.next().filter(|c| *c != '"') {
                    match c {
                        '\\' => word.extend(self.next()),
                        '$' | '`' => self.expansion(c, word),
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.extend(self.next().filter(|c| *c != '\n')),
            '$' | '`' => self.expansion(c, word),
            c => word.push(c),
        }
    }

    /// Reads what a `$` or a backquote begins; commands in it are commands.
    fn expansion(&mut self, c: char, word: &mut String) {
        match (c, self.peek()) {
            ('`', _) | (_, Some('(')) if self.depth == DEEPEST_COMMANDS => {}
            ('`', _) => self.inner('`'),
            (_, Some('(')) => {
                self.at += 1;
                self.inner(')');
            }
            (_, Some('{')) => {
                self.at += 1;
                let mut name = String::new();
                while let Some(c) = self.next().filter(|c| *c != '}') {
                    name.push(c);
                }
                // `${x:-./y}` is `./y` where nothing else is said.
                let default = name.split_once(['-', '=', '+']).map(|(_, default)| default);
                if let Some(text) = default.filter(|text| !text.is_empty()) {
                    self.words.push(Word {
                        text: text.to_owned(),
                        place: Place::Argument,
                    });
                }
                if name == "HOME" {
                    return word.push('~');
                }
            }
            // `$'…'` is a quote.
            (_, Some('\'' | '"')) => return,
            (_, Some(next)) if next == '_' || next.is_ascii_alphanumeric() => {
                let mut name = String::new();
                while let Some(c) = self
                    .peek()
                    .filter(|c| *c == '_' || c.is_ascii_alphanumeric())
                {
                    name.push(c);
                    self.at += 1;
                }
                if name == "HOME" && word.is_empty() {
                    return word.push('~');
                }
            }
            (_, Some('@' | '*' | '#' | '?' | '!' | '$')) => self.at += 1,
            _ => {}
        }
        word.push(UNKNOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_WORDS, Place, UNKNOWN, words};

    fn texts(line: &str) -> Vec<String> {
        let words = words(line).unwrap();
        words
            .into_iter()
            .map(|word| word.text.replace(UNKNOWN, "?"))
            .collect()
    }

    #[test]
    fn git_27_every_word_that_could_be_a_path() {
        for (line, wanted) in [
            ("tools/run", "tools/run"),
            ("./run --fast", "./run"),
            ("sh -c './run --x'", "./run"),
            ("sh -c \"cd tools && ./run\"", "./run"),
            ("sh -c \"sh -c './a b/run'\"", "./a"),
            ("bash -c 'sh -c \"./deep\"'", "./deep"),
            ("'my tools/run'", "my tools/run"),
            ("my\\ tools/run x", "my tools/run"),
            ("too\"ls/r\"un", "tools/run"),
            ("python3 tools/x.py", "tools/x.py"),
            ("python3 -m tools.fmt", "tools/fmt"),
            ("python3 -mtools.fmt", "tools/fmt"),
            ("\"$PWD\"/tools/x", "?/tools/x"),
            ("${PWD}/tools/x", "?/tools/x"),
            ("$(git rev-parse --show-toplevel)/x", "?/x"),
            ("\"$(git rev-parse --show-toplevel)/x\"", "?/x"),
            ("`pwd`/x", "?/x"),
            ("a $(./inner) b", "./inner"),
            ("$HOME/x", "~/x"),
            ("${X:-./default}", "./default"),
            ("PATH=tools:$PATH run", "tools"),
            ("x --config=tools/c.yml", "tools/c.yml"),
            ("make -Ctools", "tools"),
            ("java @args/file", "args/file"),
            ("cat <in >out", "in"),
            ("a;b/c", "b/c"),
            ("a&&b/c||d/e", "d/e"),
            ("(cd x;./y)", "./y"),
            ("f() { tools/x \"$@\"; }; f", "tools/x"),
            ("if true; then ./x; fi", "./x"),
            ("'unclosed ./x", "./x"),
            ("\"unclosed ./x", "./x"),
            ("x \\", "x"),
            ("node tools/x", "tools/x"),
        ] {
            let found = texts(line);
            assert!(found.iter().any(|word| word == wanted), "{line}: {found:?}");
        }
    }

    #[test]
    fn git_27_which_words_name_programs() {
        let programs = |line: &str| {
            let words = words(line).unwrap().into_iter();
            let programs = words.filter(|word| word.place == Place::Program);
            programs.map(|word| word.text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(programs("code --wait x"), "code");
        assert_eq!(
            programs("X=1 ! exec code x | less -R; a && b"),
            "X=1 ! exec code less a b"
        );
        assert_eq!(programs("cat < code"), "cat");
    }

    #[test]
    fn p9_git_27_a_line_that_is_too_long_is_not_understood() {
        assert!(words(&"x ".repeat(MOST_WORDS + 1)).is_none());
        let deep = "\"".repeat(100_000);
        assert!(words(&deep).is_some());
        // However deep commands stand in commands, the stack does not run out.
        for nested in ["$(", "`", "$(`\"", "\"$("] {
            drop(words(&nested.repeat(100_000)));
        }
    }
}
