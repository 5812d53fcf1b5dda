//! Which landed branch a request is for.

use lazaret_runtime::SessionId;
use lazaret_tree::escape;

use crate::failure::{Failure, FailureKind};
use crate::user_programs::UserGit;

/// The branches of the user's repository that were landed of a session.
#[derive(Debug)]
pub(crate) struct LandedBranches<'a> {
    session: &'a SessionId,
    /// Without `refs/heads/`, in order.
    names: Vec<String>,
}

impl<'a> LandedBranches<'a> {
    /// Lists them.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn of(session: &'a SessionId, git: &UserGit<'_>) -> Result<Self, Failure> {
        let below = format!("refs/heads/{}", prefix(session));
        let arguments = ["for-each-ref", "--format=%(refname)", &below];
        let listed = git.text("list branches", &arguments)?;
        let names = listed
            .lines()
            .filter_map(|name| name.strip_prefix("refs/heads/"));
        Ok(Self {
            session,
            names: names.map(str::to_owned).collect(),
        })
    }

    /// Picks the one that was asked for, by its name inside or in the user's repository; else the
    /// one that holds all changes; else the only branch.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub(crate) fn pick(
        &self,
        asked: Option<&str>,
        holds_all: Option<&str>,
    ) -> Result<&str, Failure> {
        let session = self.session;
        let prefix = prefix(session);
        let has = |name: &str| self.names.iter().find(|other| *other == name);
        if let Some(asked) = asked {
            let found = has(&format!("{prefix}{asked}")).or_else(|| has(asked));
            let text = format!(
                "no branch {} of session {session} is landed",
                escape(asked.as_bytes())
            );
            return found.map(String::as_str).ok_or_else(|| self.failure(text));
        }
        if let Some(name) = holds_all.and_then(has) {
            return Ok(name);
        }
        let is_branch = |name: &&String| {
            let inside = name.strip_prefix(&prefix).unwrap_or_default();
            let is_other = |kind| inside.starts_with(kind);
            inside != "HEAD" && !["stash-", "lost-", "worktree-"].iter().any(is_other)
        };
        let branches: Vec<&String> = self.names.iter().filter(is_branch).collect();
        match branches.as_slice() {
            [one] => Ok(one),
            [] => Err(self.failure(format!("no branch of session {session} is landed"))),
            [..] => {
                let text = format!("more than one branch of session {session} is landed");
                Err(self.failure(text))
            }
        }
    }

    fn failure(&self, text: String) -> Failure {
        let session = self.session;
        let failure = Failure::message(FailureKind::Refused, text);
        if self.names.is_empty() {
            return failure.hinted(format!(
                "`lazaret commits land {session}` lands what waits."
            ));
        }
        let prefix = prefix(session);
        let inside = (self.names.iter()).filter_map(|name| name.strip_prefix(&prefix));
        let names: Vec<String> = inside.map(|name| escape(name.as_bytes())).collect();
        failure.hinted(format!(
            "Name one of them, as in `lazaret pr {session} {}`: {}.",
            names.first().map_or("BRANCH", String::as_str),
            names.join(", ")
        ))
    }
}

fn prefix(session: &SessionId) -> String {
    format!("lazaret/{session}/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn picked(names: &[&str], asked: Option<&str>, holds_all: Option<&str>) -> String {
        let session = "shop".parse().unwrap();
        let branches = LandedBranches {
            session: &session,
            names: (names.iter())
                .map(|name| format!("lazaret/shop/{name}"))
                .collect(),
        };
        match branches.pick(asked, holds_all) {
            Ok(name) => name.to_owned(),
            Err(failure) => format!("{}: {}", failure.chain()[0], failure.hints[0]),
        }
    }

    #[test]
    fn one_branch_is_picked() {
        let fix = "lazaret/shop/fix";
        assert_eq!(picked(&["fix"], None, None), fix);
        assert_eq!(
            picked(&["HEAD", "fix", "lost-1", "stash-0"], None, None),
            fix
        );
        assert_eq!(picked(&["a", "fix"], Some("fix"), None), fix);
        assert_eq!(
            picked(&["a", "fix"], Some(fix), Some("lazaret/shop/a")),
            fix
        );
        assert_eq!(picked(&["a", "fix"], None, Some(fix)), fix);
        assert_eq!(picked(&["HEAD"], Some("HEAD"), None), "lazaret/shop/HEAD");
        // It was deleted since.
        assert_eq!(picked(&["fix"], None, Some("lazaret/shop/gone")), fix);
    }

    #[test]
    fn no_branch_and_many_are_named() {
        assert_eq!(
            picked(&[], None, None),
            "no branch of session shop is landed: `lazaret commits land shop` lands what waits."
        );
        assert_eq!(
            picked(&["a", "b"], None, None),
            "more than one branch of session shop is landed: Name one of them, as in `lazaret pr \
             shop a`: a, b."
        );
        assert_eq!(
            picked(&["stash-0"], None, None),
            "no branch of session shop is landed: Name one of them, as in `lazaret pr shop \
             stash-0`: stash-0."
        );
        assert_eq!(
            picked(&["a"], Some("\u{1b}x"), None),
            "no branch \\u{1b}x of session shop is landed: Name one of them, as in `lazaret pr \
             shop a`: a."
        );
    }
}
