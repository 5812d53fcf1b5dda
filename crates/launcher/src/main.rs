//! The `lazaret` command: the only place that looks at the environment of the process.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use lazaret_launcher::environment::{Environment, StreamKind, StreamKinds};
use lazaret_launcher::ui::Streams;
use lazaret_session::cancel::Cancel;

fn main() -> ExitCode {
    lazaret_launcher::panic::install();
    let kind = |is_terminal| match is_terminal {
        true => StreamKind::Terminal,
        false => StreamKind::Other,
    };
    let streams = StreamKinds {
        stdin: kind(io::stdin().is_terminal()),
        stdout: kind(io::stdout().is_terminal()),
        stderr: kind(io::stderr().is_terminal()),
    };
    let width = rustix::termios::tcgetwinsize(io::stderr())
        .ok()
        .map(|size| size.ws_col)
        .filter(|&columns| columns > 0);
    // A current directory that was removed is no reason to fail: `/` makes every
    // relative path end in a message about a path that is not there.
    let cwd = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let environment = Environment::new(
        std::env::vars_os(),
        streams,
        width,
        rustix::process::geteuid().as_raw(),
        cwd,
    );
    let cancel = Cancel::new();
    let streams = Streams::of_process(&cancel);
    lazaret_launcher::main(std::env::args_os(), environment, streams, cancel).into()
}
