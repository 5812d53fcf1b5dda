//! Questions. Nothing but a person at a terminal ever answers one (UI-06, UI-07).

use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use lazaret_gate::decision::NoAnswer;

use crate::ui::terminal::key_mode::{END, KeyMode};
use crate::ui::{TextTone, Ui, locked};
use lazaret_session::cancel::{Cancel, Event};

/// Starts the line of a question, and no other line that lazaret prints. Escaped names
/// hold no line break, so that no name can start a line.
const PREFIX: &str = "lazaret? ";

/// Asks for what the choices mean.
const HELP: &str = "?";

/// What counts as an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// What came at once, mostly a key.
    Key,
    /// A line, with Enter.
    Line,
}

/// One of the answers that a question offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// What is typed, such as `a`. Lower case.
    pub key: &'static str,
    /// The whole word, which may be typed where a line is read, such as `apply`.
    pub word: &'static str,
    /// What it does, for a person who types `?`.
    pub help: &'static str,
}

impl Choice {
    /// `[y]es`; a word that has to be typed as a whole is `[allow]`.
    fn shown(&self) -> String {
        match self.word.strip_prefix(self.key) {
            Some(rest) => format!("[{}]{rest}", self.key),
            None => format!("[{}] {}", self.key, self.word),
        }
    }
}

/// A question with its choices.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The question: `Apply these 3 changes?`. No text in it that came out of a container.
    pub text: &'a str,
    /// The choices. An empty line is none of them.
    pub choices: &'a [Choice],
}

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "no answer is not a yes"]
pub enum Answer {
    /// The key of the choice that the user typed.
    Chosen(&'static str),
    /// The user did not choose.
    None(NoAnswer),
}

enum Read {
    Typed(String),
    End,
}

/// What is wanted of stdin, and who waits for it.
struct Request {
    unit: Unit,
    answer_to: Sender<Event<Read>>,
}

/// Stdin, read by a thread of its own, and only while a question is open: a blocking
/// read can't be called off by Ctrl-C, a wait for a message can.
pub(super) struct Input {
    stdin: Option<Box<dyn BufRead + Send>>,
    requests: Option<Sender<Request>>,
    discard_typeahead: fn(),
    keys: fn() -> Option<KeyMode>,
}

impl Input {
    pub(super) fn new(
        stdin: Box<dyn BufRead + Send>,
        discard_typeahead: fn(),
        keys: fn() -> Option<KeyMode>,
    ) -> Self {
        Self {
            stdin: Some(stdin),
            requests: None,
            discard_typeahead,
            keys,
        }
    }

    /// Gives stdin away; no question can be answered after that.
    pub(super) fn take(&mut self) -> Option<Box<dyn BufRead + Send>> {
        self.stdin.take()
    }

    /// Reads one answer, or returns `None` when the user asked for an end instead.
    fn read(&mut self, unit: Unit, cancel: &Cancel) -> Option<Read> {
        if let Some(stdin) = self.stdin.take() {
            let (sender, receiver) = mpsc::channel();
            self.requests = Some(sender);
            thread::spawn(move || read_all(stdin, &receiver));
        }
        let (answer_to, event_queue) = cancel.event_queue();
        let request = Request { unit, answer_to };
        let asked = self
            .requests
            .as_ref()
            .map(|requests| requests.send(request));
        if !matches!(asked, Some(Ok(()))) {
            // The thread ended with the input.
            return Some(Read::End);
        }
        match event_queue.wait(None) {
            Event::Value(read) => Some(read),
            Event::Cancel(_) | Event::Deadline => None,
        }
    }
}

fn read_all(mut stdin: Box<dyn BufRead + Send>, requests: &Receiver<Request>) {
    for Request { unit, answer_to } in requests {
        let read = match unit {
            Unit::Key => read_key(&mut stdin),
            Unit::Line => read_line(&mut stdin),
        };
        let end = matches!(read, Read::End);
        // After an interrupt no question waits for it any more.
        drop(answer_to.send(Event::Value(read)));
        if end {
            return;
        }
    }
}

fn read_line(stdin: &mut dyn BufRead) -> Read {
    let mut line = String::new();
    match stdin.read_line(&mut line) {
        Ok(_) if line.ends_with('\n') => Read::Typed(line),
        // A line without Enter, unreadable or not UTF-8 is no answer.
        Ok(_) | Err(_) => Read::End,
    }
}

/// Reads what came at once. A key of several bytes, or text that was pasted, is one answer and not
/// several.
fn read_key(stdin: &mut dyn BufRead) -> Read {
    let Ok(bytes) = stdin.fill_buf() else {
        return Read::End;
    };
    let typed = String::from_utf8_lossy(bytes).into_owned();
    let count = bytes.len();
    stdin.consume(count);
    match typed.is_empty() || typed.starts_with(END) {
        true => Read::End,
        false => Read::Typed(typed),
    }
}

const YES_OR_NO: [Choice; 2] = [
    Choice {
        key: "y",
        word: "yes",
        help: "do it",
    },
    Choice {
        key: "n",
        word: "no",
        help: "change nothing",
    },
];

impl Ui {
    /// Whether a person answers yes.
    pub fn confirms(&self, text: &str, cancel: &Cancel) -> bool {
        let question = Question {
            text,
            choices: &YES_OR_NO,
        };
        self.prompt(&question, cancel) == Answer::Chosen("y")
    }

    /// Asks until a person chooses, closes the input or interrupts. `?` explains the choices. At a
    /// terminal a key is enough, unless a choice has to be typed as a word.
    ///
    /// Without a terminal on stdin and stderr nothing is asked or read, so that `yes |`
    /// never means yes.
    pub fn prompt(&self, question: &Question<'_>, cancel: &Cancel) -> Answer {
        if !self.can_ask() {
            return Answer::None(NoAnswer::NoTerminal);
        }
        let mut input = locked(&self.0.input);
        (input.discard_typeahead)();
        let has_words = question.choices.iter().any(|choice| choice.key.len() > 1);
        let keys = match has_words {
            true => None,
            false => (input.keys)(),
        };
        let unit = keys.as_ref().map_or(Unit::Line, |_| Unit::Key);
        let shown: Vec<String> = question.choices.iter().map(Choice::shown).collect();
        let prefix = self.paint(TextTone::Strong, PREFIX);
        let line = format!("{prefix}{} {} [{HELP}]: ", question.text, shown.join(" "));
        loop {
            self.say(&line);
            let read = input.read(unit, cancel);
            let is_on_line = match &read {
                Some(Read::Typed(typed)) => !typed.ends_with('\n'),
                Some(Read::End) => true,
                None => false,
            };
            if is_on_line {
                self.say("\n");
            }
            let typed = match read {
                None => return Answer::None(NoAnswer::Interrupted),
                Some(Read::End) => return Answer::None(NoAnswer::EndOfInput),
                Some(Read::Typed(typed)) => typed.trim().to_ascii_lowercase(),
            };
            let mut choices = question.choices.iter();
            match choices.find(|choice| typed == choice.key || typed == choice.word) {
                Some(choice) => return Answer::Chosen(choice.key),
                None if typed == HELP => self.explain(question.choices),
                None => self.say(&format!("Type one of the choices; {HELP} explains them.\n")),
            }
        }
    }

    fn explain(&self, choices: &[Choice]) {
        let widest = choices.iter().map(|choice| choice.shown().len()).max();
        let width = widest.unwrap_or(0);
        for choice in choices {
            let line = format!("  {:width$}  {}\n", choice.shown(), choice.help);
            self.say_indented(&line, width + 4);
        }
    }
}
