//! The choices that make a `Ui`.

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set; CLICOLOR_FORCE colours everywhere.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How to show progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ProgressChoice {
    /// `tty` on a terminal, `plain` elsewhere.
    #[default]
    Auto,
    /// A line every few seconds.
    Plain,
    /// Not at all.
    None,
    /// A line that changes in place.
    Tty,
}

/// What results look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text for people.
    Text,
    /// JSON on stdout, and nothing else there.
    Json,
}

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only warnings and errors.
    Quiet,
    /// What is being done.
    Normal,
    /// Details too.
    Verbose,
}

/// The choices that make a [`Ui`].
#[derive(Debug, Clone, Copy)]
pub struct UiOptions {
    /// What results look like.
    pub format: OutputFormat,
    /// When to colour.
    pub color: ColorChoice,
    /// How to show progress.
    pub progress: ProgressChoice,
    /// How much to say.
    pub verbosity: Verbosity,
    /// Whether to ask.
    pub questions: Questions,
}

/// Whether a person at the terminal is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Questions {
    /// If there is a terminal.
    Asked,
    /// Never (`--no-input`): as where there is no terminal.
    Unasked,
}
