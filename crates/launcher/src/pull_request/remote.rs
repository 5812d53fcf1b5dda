//! `Remote`: where a branch is pushed to, and what it is merged into there.

use lazaret_tree::escape;

use super::branch_name::BranchName;
use super::remote_url::RemoteUrl;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::user_programs::UserGit;

/// A remote of the user's repository.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) name: String,
    pub(crate) url: RemoteUrl,
    /// The branch that its `HEAD` names, as far as the repository knows.
    default: Option<String>,
}

impl Remote {
    /// Finds the one that was asked for, else the only one, else `origin`.
    ///
    /// # Errors
    /// When there is none of these, or git fails.
    pub(crate) fn find(asked: Option<&str>, git: &UserGit<'_>) -> Result<Self, Failure> {
        let listed = git.text("list remotes", &["remote"])?;
        let names: Vec<&str> = listed.lines().collect();
        let wanted = match (asked, names.as_slice()) {
            (Some(asked), _) => asked,
            (None, [one]) => one,
            (None, _) => "origin",
        };
        if !names.contains(&wanted) {
            let text = format!("the repository has no remote {}", escape(wanted.as_bytes()));
            let hint = match names.as_slice() {
                [] => "Add one with `git remote add origin URL`.".to_owned(),
                names => format!(
                    "Name one of them with --remote: {}.",
                    escape(names.join(", ").as_bytes())
                ),
            };
            return Err(Failure::message(FailureKind::Refused, text).hinted(hint));
        }
        let url = git.text(
            "find the remote",
            &["remote", "get-url", "--push", "--", wanted],
        )?;
        let below = format!("refs/remotes/{wanted}/");
        let head = git.answer(&["symbolic-ref", "--quiet", &format!("{below}HEAD")])?;
        Ok(Self {
            name: wanted.to_owned(),
            url: RemoteUrl::parse(url.lines().next().unwrap_or_default()),
            default: head.and_then(|head| Some(head.strip_prefix(&below)?.to_owned())),
        })
    }

    /// Returns what a request is merged into if nothing else says so: the remote's default branch,
    /// else the branch that is checked out.
    ///
    /// # Errors
    /// When there is neither.
    pub(crate) fn base(&self, git: &UserGit<'_>) -> Result<BranchName, Failure> {
        let name = match &self.default {
            Some(name) => Some(name.clone()),
            None => git.answer(&["symbolic-ref", "--quiet", "--short", "HEAD"])?,
        };
        let hint = "Name the branch that the request is merged into with --base.";
        let name = name.ok_or_else(|| {
            let text = "no branch is known that the request could be merged into";
            Failure::message(FailureKind::Refused, text).hinted(hint)
        })?;
        let doing = format!("cannot use {} as the base", escape(name.as_bytes()));
        let base: Result<BranchName, _> = name.parse();
        base.or_fail(FailureKind::Refused, &doing)
            .map_err(|failure| failure.hinted(hint))
    }

    /// Whether a branch is the one that requests are merged into.
    pub(crate) fn is_default(&self, branch: &BranchName) -> bool {
        self.default.as_deref() == Some(branch.as_str())
    }

    /// Returns the subjects of at most `most` commits of the landed `branch` that `base` has not,
    /// newest first; of its newest commit alone if `base` is not known here.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn subjects(
        &self,
        branch: &str,
        base: &BranchName,
        git: &UserGit<'_>,
    ) -> Result<Vec<String>, Failure> {
        const MOST: &str = "--max-count=100";
        let tip = format!("refs/heads/{branch}");
        let mut range = vec!["--max-count=1".to_owned(), tip.clone()];
        for place in [
            format!("refs/remotes/{}/{base}", self.name),
            format!("refs/heads/{base}"),
        ] {
            let is_there = [
                "rev-parse",
                "--quiet",
                "--verify",
                &format!("{place}^{{commit}}"),
            ];
            if git.answer(&is_there)?.is_some() {
                range = vec![MOST.to_owned(), tip.clone(), format!("^{place}")];
                break;
            }
        }
        let mut arguments = vec![
            "log",
            "--no-show-signature",
            "--no-color",
            "--no-patch",
            "--encoding=UTF-8",
            "--format=%s",
            "-z",
        ];
        arguments.extend(range.iter().map(String::as_str));
        arguments.push("--");
        let subjects = git.text("read the commits", &arguments)?;
        let subjects = subjects.split('\0').filter(|subject| !subject.is_empty());
        Ok(subjects.map(str::to_owned).collect())
    }
}
