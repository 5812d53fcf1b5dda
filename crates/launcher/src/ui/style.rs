//! Colours by severity.

use crate::environment::{Environment, StreamKind};
use crate::ui::ColorChoice;

/// What a piece of text means; decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextTone {
    /// Failed, blocked.
    Error,
    /// To be looked at.
    Warning,
    /// All is well; added.
    Good,
    /// Removed.
    Removed,
    /// What to do.
    Hint,
    /// A heading, a name.
    Strong,
    /// Of minor interest.
    Dim,
}

impl TextTone {
    /// The parameters of the SGR sequence (ECMA-48, 8.3.117).
    fn sgr(self) -> &'static str {
        match self {
            Self::Error => "1;31",
            Self::Warning => "1;33",
            Self::Good => "32",
            Self::Removed => "31",
            Self::Hint => "36",
            Self::Strong => "1",
            Self::Dim => "2",
        }
    }
}

/// Which of the two streams are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Styles {
    stdout: Painting,
    stderr: Painting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Painting {
    Plain,
    Coloured,
}

impl Styles {
    /// An explicit choice wins over NO_COLOR, which wins over CLICOLOR_FORCE, which wins
    /// over what the stream is (no-color.org, bixense.com/clicolors).
    pub(super) fn new(choice: ColorChoice, env: &Environment) -> Self {
        let painting = |stream: StreamKind| match choice {
            ColorChoice::Always => Painting::Coloured,
            ColorChoice::Never => Painting::Plain,
            ColorChoice::Auto => {
                let forced = env.text("CLICOLOR_FORCE").is_some_and(|value| value != "0");
                if env.text("NO_COLOR").is_some() {
                    Painting::Plain
                } else if forced
                    || stream == StreamKind::Terminal && env.text("TERM") != Some("dumb")
                {
                    Painting::Coloured
                } else {
                    Painting::Plain
                }
            }
        };
        Self {
            stdout: painting(env.streams.stdout),
            stderr: painting(env.streams.stderr),
        }
    }

    pub(super) fn colours_stderr(self) -> bool {
        self.stderr == Painting::Coloured
    }

    pub(super) fn stdout(self, tone: TextTone, text: &str) -> String {
        paint(self.stdout, tone, text)
    }

    pub(super) fn stderr(self, tone: TextTone, text: &str) -> String {
        paint(self.stderr, tone, text)
    }
}

fn paint(painting: Painting, tone: TextTone, text: &str) -> String {
    match painting {
        Painting::Plain => text.to_owned(),
        Painting::Coloured => format!("\u{1b}[{}m{text}\u{1b}[0m", tone.sgr()),
    }
}
