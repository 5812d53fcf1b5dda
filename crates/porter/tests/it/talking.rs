//! A porter as a process that is asked one thing after the other.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};

use super::session::Said;

pub(super) struct Talking {
    porter: duct::Handle,
    pub(super) stdin: PipeWriter,
    pub(super) stdout: PipeReader,
}

impl Talking {
    pub(super) fn with(arguments: &[&str]) -> Self {
        let (their_stdin, stdin) = io::pipe().expect("a pipe");
        let (stdout, their_stdout) = io::pipe().expect("a pipe");
        let porter = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
            .stdin_file(their_stdin)
            .stdout_file(their_stdout)
            .stderr_capture()
            .unchecked();
        // The expression holds the porter's ends of the pipes, and goes here.
        Self {
            porter: porter.start().expect("the porter was built"),
            stdin,
            stdout,
        }
    }

    pub(super) fn say(&mut self, bytes: &[u8]) {
        self.stdin.write_all(bytes).expect("it listens");
    }

    /// Returns what it says up to its end.
    pub(super) fn rest(self) -> Said {
        let Self {
            porter,
            stdin,
            mut stdout,
        } = self;
        drop(stdin);
        let mut said = Vec::new();
        stdout.read_to_end(&mut said).expect("a pipe");
        let output = porter.into_output().expect("it was started");
        Said {
            code: output.status.code().expect("not killed"),
            stdout: said,
            stderr: String::from_utf8(output.stderr).expect("escaped"),
        }
    }
}
