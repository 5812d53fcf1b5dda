//! `porter export` as a process, asked one thing after the other.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lazaret_transfer::{StreamLimits, Survey, SurveyError, Wanted, write_wanted};

use super::session::Said;

pub(super) struct Exporting {
    porter: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl Exporting {
    pub(super) fn of(root: &Path) -> Self {
        let mut porter = Command::new(env!("CARGO_BIN_EXE_lazaret-porter"))
            .arg("export")
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the porter was built");
        Self {
            stdin: porter.stdin.take().expect("piped"),
            stdout: porter.stdout.take().expect("piped"),
            porter,
        }
    }

    pub(super) fn survey(
        &mut self,
        request: &[u8],
        limits: &StreamLimits,
    ) -> Result<Survey, SurveyError> {
        self.stdin.write_all(request).expect("it listens");
        Survey::read_from(&mut self.stdout, limits)
    }

    /// Asks for files, or for anything else, and returns what it says up to its end.
    pub(super) fn send(mut self, list: &[u8]) -> Said {
        // One that has given up hears nothing any more.
        drop(self.stdin.write_all(list));
        drop(self.stdin);
        let mut stdout = Vec::new();
        let read = self.stdout.read_to_end(&mut stdout);
        read.expect("it writes or ends");
        let output = self.porter.wait_with_output().expect("it was started");
        Said {
            code: output.status.code().expect("not killed"),
            stdout,
            stderr: String::from_utf8(output.stderr).expect("escaped"),
        }
    }
}

/// Lists files as the host does.
pub(super) fn list(wanted: &[Wanted]) -> Vec<u8> {
    let mut list = Vec::new();
    write_wanted(wanted, &mut list).expect("to memory");
    list
}
