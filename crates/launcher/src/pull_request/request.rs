//! `PullRequest`: a request that is about to be opened: shown, pushed, opened.

use std::fmt::{self, Write as _};

use lazaret_gate::format::count;
use lazaret_tree::escape;
use serde::Serialize;

use super::forge::{Branches, Forge, Tool};
use super::remote::Remote;
use super::text::RequestText;
use crate::failure::{Failure, FailureKind};
use crate::user_programs::{UserGit, UserPrograms};

/// How many lines of the body are shown.
const MOST_LINES: usize = 40;

/// A request that is about to be opened.
#[derive(Debug)]
pub(crate) struct PullRequest {
    /// The landed branch, without `refs/heads/`.
    pub(crate) branch: String,
    pub(crate) remote: Remote,
    pub(crate) branches: Branches,
    pub(crate) text: RequestText,
    /// By what it is opened; `None` if by the user.
    pub(crate) tool: Option<Tool>,
    /// Whose addresses the remote has.
    pub(crate) forge: Forge,
}

/// A request that was opened, or can be.
#[derive(Debug, Serialize)]
pub(crate) struct PullRequestReport {
    session: String,
    /// The landed branch.
    branch: String,
    remote: String,
    /// What the branch is called at the remote.
    pushed_as: String,
    base: String,
    title: String,
    draft: bool,
    labels: Vec<String>,
    /// `gh`, `glab` or `tea`; null if the user is to open it.
    opened_with: Option<&'static str>,
    /// Where it is, or where it can be opened; null if the remote has no server.
    pub(crate) url: Option<String>,
}

impl PullRequest {
    /// Words it for people; nothing in it acts on a terminal.
    pub(crate) fn shown(&self) -> String {
        let mut text = String::new();
        // Writing into a text does not fail.
        let _done = self.write(&mut text);
        text.trim_end().to_owned()
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let shown = |text: &str| escape(text.as_bytes());
        let (head, base) = (&self.branches.head, &self.branches.base);
        writeln!(
            out,
            "push    {} -> {}",
            shown(&self.branch),
            self.remote.url.shown()
        )?;
        writeln!(out, "as      {}", shown(head.as_str()))?;
        writeln!(out, "into    {}", shown(base.as_str()))?;
        if self.text.draft {
            writeln!(out, "draft   yes")?;
        }
        if !self.text.labels.is_empty() {
            writeln!(out, "labels  {}", shown(&self.text.labels.join(", ")))?;
        }
        writeln!(out, "title   {}", shown(&self.text.title))?;
        for line in self.text.body.lines().take(MOST_LINES) {
            writeln!(out, "  {}", shown(&line.replace('\t', "    ")))?;
        }
        match self.text.body.lines().count().saturating_sub(MOST_LINES) {
            0 => Ok(()),
            more => writeln!(out, "  and {} more lines", count(more as u64)),
        }
    }

    /// Returns what the user is asked. No text in it is the agent's.
    pub(crate) fn question(&self) -> String {
        match self.tool {
            Some(tool) => format!(
                "Push this branch and open the request with {}?",
                tool.as_str()
            ),
            None => "Push this branch?".to_owned(),
        }
    }

    /// Pushes the branch, and opens the request if a tool does that.
    ///
    /// # Errors
    /// When the push fails: then nothing is opened. When the tool fails: then the branch is pushed.
    pub(crate) fn open(
        &self,
        session: &str,
        programs: &UserPrograms<'_>,
        git: &UserGit<'_>,
    ) -> Result<PullRequestReport, Failure> {
        let Branches { head, base } = &self.branches;
        git.push(&self.remote.name, &self.branch, head.as_str())?;
        let printed = match self.tool {
            Some(tool) => self.run(tool, programs)?,
            None => None,
        };
        Ok(PullRequestReport {
            session: session.to_owned(),
            branch: self.branch.clone(),
            remote: self.remote.name.clone(),
            pushed_as: head.to_string(),
            base: base.to_string(),
            title: self.text.title.clone(),
            draft: self.text.draft,
            labels: self.text.labels.clone(),
            opened_with: self.tool.map(Tool::as_str),
            url: printed.or_else(|| self.compare()),
        })
    }

    fn compare(&self) -> Option<String> {
        let Branches { head, base } = &self.branches;
        self.remote.url.compare(self.forge, base, head)
    }

    /// Runs a tool, and returns the URL that it prints.
    fn run(&self, tool: Tool, programs: &UserPrograms<'_>) -> Result<Option<String>, Failure> {
        let name = tool.as_str();
        let pushed = |why: String| {
            let text = format!(
                "{} is pushed, but {name} did not open a request: {why}",
                self.branches.head
            );
            let failure = Failure::message(FailureKind::Refused, text);
            match self.compare() {
                Some(url) => failure.hinted(format!("Open it at {url}.")),
                None => failure,
            }
        };
        let call = tool.call(&self.branches, &self.remote.name, &self.text);
        let program = programs
            .find(name)
            .ok_or_else(|| pushed("it is gone".to_owned()))?;
        let program = programs.expression(&program, call.arguments, programs.workspace());
        let program = program.stdin_bytes(call.stdin).stdout_capture();
        let output = programs.run(&program, name)?;
        match output.status.success() {
            true => Ok(url_in(&output.stdout)),
            false => Err(pushed(output.status.to_string())),
        }
    }
}

/// Returns the last line that is nothing but a URL.
fn url_in(printed: &[u8]) -> Option<String> {
    let printed = String::from_utf8_lossy(printed);
    let is_url = |line: &&str| {
        let has_scheme = line.starts_with("https://") || line.starts_with("http://");
        has_scheme && line.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let mut lines = printed.lines().map(str::trim);
    lines.rfind(is_url).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_of_what_a_tool_prints() {
        for (printed, url) in [
            ("https://h/1\n", Some("https://h/1")),
            (
                "Creating…\n\nhttp://h/1\nhttps://h/2\nbye\n",
                Some("https://h/2"),
            ),
            ("", None),
            ("done: https://h/1", None),
            ("https://h/\u{1b}[2J", None),
            ("https://h/\u{202e}x", None),
            ("javascript:x", None),
        ] {
            assert_eq!(url_in(printed.as_bytes()).as_deref(), url, "{printed}");
        }
        assert_eq!(url_in(b"https://h/\xff"), None);
    }
}
