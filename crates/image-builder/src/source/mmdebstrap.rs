//! Runs mmdebstrap, which makes a Debian system from packages.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use lazaret_tree::escape;

use super::apt_sources;
use super::debian::{BootstrapError, DebianBase};
use crate::cache::entry::at;
use crate::layer::writer::EPOCH;
use crate::{BuildEvent, PackageName};

/// Runs a program without the descriptors from 3 to 9 that a terminal or an editor may have left
/// open in lazaret: mmdebstrap has `sh` write to the next free one, and dash knows one digit only
/// (`man 1 dash`, Redirections).
const WITHOUT_DESCRIPTORS: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec \"$@\"";

/// How `sh` ends if there is no such program (POSIX.1-2024, `exec`).
const NO_PROGRAM: i32 = 127;

/// How much of a failed program's output is shown.
const TAIL_LINES: usize = 15;

impl DebianBase<'_> {
    /// Installs the packages into a new root and writes it to the tar `system`.
    ///
    /// Its stdin is empty; stdout and stderr come to `on_event` line by line.
    pub(crate) fn install(
        &self,
        scratch: &Path,
        system: &Path,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), BootstrapError> {
        let mode = if rustix::process::geteuid().is_root() {
            "root"
        } else {
            "unshare"
        };
        let mut argv = vec![
            format!("--mode={mode}"),
            "--variant=minbase".to_owned(),
            "--format=tar".to_owned(),
            format!("--architectures={}", self.architecture),
            "--aptopt=Acquire::Retries \"3\"".to_owned(),
        ];
        if !self.include.is_empty() {
            let names: Vec<_> = self.include.iter().map(PackageName::as_str).collect();
            argv.push(format!("--include={}", names.join(",")));
        }
        argv.push(self.suite.to_string());
        argv.push(system.display().to_string());
        let sources = apt_sources::read(Path::new("/etc/apt"), self.suite.as_str())
            .map_err(BootstrapError::Sources)?;
        if let Some(sources) = sources {
            let path = scratch.join("machine.sources");
            fs::write(&path, sources).map_err(at(&path))?;
            argv.push(path.display().to_string());
        }

        let shell = ["-c", WITHOUT_DESCRIPTORS, "sh", self.program];
        let shell = shell.map(str::to_owned).into_iter();
        let reader = duct::cmd("sh", shell.chain(argv.iter().cloned()))
            .env("SOURCE_DATE_EPOCH", EPOCH.to_string())
            .env("LC_ALL", "C.UTF-8")
            .stdin_null()
            .stderr_to_stdout()
            .unchecked()
            .reader()
            .map_err(BootstrapError::Run)?;
        let mut tail = VecDeque::with_capacity(TAIL_LINES);
        let mut lines = BufReader::new(&reader);
        let mut line = Vec::new();
        while lines
            .read_until(b'\n', &mut line)
            .map_err(BootstrapError::Run)?
            > 0
        {
            let text = escape(line.trim_ascii_end());
            line.clear();
            if tail.len() == TAIL_LINES {
                tail.pop_front();
            }
            tail.push_back(text.clone());
            on_event(BuildEvent::Output {
                image: self.image.to_owned(),
                line: text,
            });
        }
        let how = match reader.try_wait().map_err(BootstrapError::Run)? {
            Some(output) if output.status.success() => return Ok(()),
            Some(output) if output.status.code() == Some(NO_PROGRAM) => {
                return Err(BootstrapError::NoMmdebstrap);
            }
            Some(output) => format!("ended with {}", output.status),
            None => "closed its output without ending".to_owned(),
        };
        Err(BootstrapError::Failed {
            command: format!("{} {}", self.program, argv.join(" ")),
            how,
            tail: Vec::from(tail).join("\n"),
        })
    }
}
