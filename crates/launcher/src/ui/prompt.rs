//! Questions. Nothing but a person at a terminal ever answers one (UI-06, UI-07).

use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use lazaret_gate::decision::NoAnswer;

use crate::ui::{TextTone, Ui, locked};
use lazaret_session::cancel::{Cancel, Event};

/// Starts the line of a question, and no other line that lazaret prints. Escaped names
/// hold no line break, so that no name can start a line.
const PREFIX: &str = "lazaret? ";

/// Asks for what the choices mean.
const HELP: &str = "?";

/// One of the answers that a question offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// What is typed, such as `a`. Lower case.
    pub key: &'static str,
    /// The whole word, which may be typed too, such as `apply`.
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

enum Line {
    Typed(String),
    End,
}

/// Stdin, read by a thread of its own, and only while a question is open: a blocking
/// read can't be called off by Ctrl-C, a wait for a message can.
pub(super) struct Input {
    stdin: Option<Box<dyn BufRead + Send>>,
    requests: Option<Sender<Sender<Event<Line>>>>,
    discard_typeahead: fn(),
}

impl Input {
    pub(super) fn new(stdin: Box<dyn BufRead + Send>, discard_typeahead: fn()) -> Self {
        Self {
            stdin: Some(stdin),
            requests: None,
            discard_typeahead,
        }
    }

    /// Gives stdin away; no question can be answered after that.
    pub(super) fn take(&mut self) -> Option<Box<dyn BufRead + Send>> {
        self.stdin.take()
    }

    /// Reads one line, or returns `None` when the user asked for an end instead.
    fn line(&mut self, cancel: &Cancel) -> Option<Line> {
        if let Some(stdin) = self.stdin.take() {
            let (sender, receiver) = mpsc::channel();
            self.requests = Some(sender);
            thread::spawn(move || read_lines(stdin, &receiver));
        }
        let (sender, event_queue) = cancel.event_queue();
        let asked = self.requests.as_ref().map(|requests| requests.send(sender));
        if !matches!(asked, Some(Ok(()))) {
            // The thread ended with the input.
            return Some(Line::End);
        }
        match event_queue.wait(None) {
            Event::Value(line) => Some(line),
            Event::Cancel(_) | Event::Deadline => None,
        }
    }
}

fn read_lines(mut stdin: Box<dyn BufRead + Send>, requests: &Receiver<Sender<Event<Line>>>) {
    for answer_to in requests {
        let mut line = String::new();
        let line = match stdin.read_line(&mut line) {
            Ok(_) if line.ends_with('\n') => Line::Typed(line),
            // A line without Enter, unreadable or not UTF-8 is no answer.
            Ok(_) | Err(_) => Line::End,
        };
        let end = matches!(line, Line::End);
        // After an interrupt no question waits for it any more.
        drop(answer_to.send(Event::Value(line)));
        if end {
            return;
        }
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

    /// Asks until a person chooses, closes the input or interrupts. `?` explains the choices.
    ///
    /// Without a terminal on stdin and stderr nothing is asked or read, so that `yes |`
    /// never means yes.
    pub fn prompt(&self, question: &Question<'_>, cancel: &Cancel) -> Answer {
        if !self.can_ask() {
            return Answer::None(NoAnswer::NoTerminal);
        }
        let mut input = locked(&self.0.input);
        (input.discard_typeahead)();
        let shown: Vec<String> = question.choices.iter().map(Choice::shown).collect();
        let prefix = self.paint(TextTone::Strong, PREFIX);
        let line = format!("{prefix}{} {} [{HELP}]: ", question.text, shown.join(" "));
        loop {
            self.say(&line);
            let typed = match input.line(cancel) {
                None => return Answer::None(NoAnswer::Interrupted),
                Some(Line::End) => {
                    self.say("\n");
                    return Answer::None(NoAnswer::EndOfInput);
                }
                Some(Line::Typed(line)) => line.trim().to_ascii_lowercase(),
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
            self.say(&format!("  {:width$}  {}\n", choice.shown(), choice.help));
        }
    }
}
