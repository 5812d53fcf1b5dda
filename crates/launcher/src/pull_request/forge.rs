//! `Forge`: what a server runs, and the tool that opens a request there.

use super::branch_name::BranchName;
use super::text::RequestText;

/// What a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forge {
    /// GitHub, and what has its addresses.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
}

/// By what a request is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OpenWith {
    /// GitHub's
    Gh,
    /// GitLab's
    Glab,
    /// Gitea's and Forgejo's
    Tea,
    /// Nothing: print the address at which you open it
    None,
}

/// A program that opens requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Gh,
    Glab,
    Tea,
}

/// How a tool is run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolCall {
    pub(crate) arguments: Vec<String>,
    /// What it reads on its standard input.
    pub(crate) stdin: String,
}

/// The names of a request's branches at its remote.
#[derive(Debug, Clone)]
pub(crate) struct Branches {
    /// What is to be merged.
    pub(crate) head: BranchName,
    /// What it is to be merged into.
    pub(crate) base: BranchName,
}

impl Forge {
    /// Guesses by the name of the server, in lower case; `None` if it says nothing.
    pub(crate) fn of(host: &str) -> Option<Self> {
        let has = |words: &[&str]| words.iter().any(|word| host.contains(word));
        if has(&["github"]) {
            Some(Self::GitHub)
        } else if has(&["gitlab"]) {
            Some(Self::GitLab)
        } else if has(&["gitea", "forgejo", "codeberg"]) {
            Some(Self::Gitea)
        } else {
            None
        }
    }

    pub(crate) fn tool(self) -> Tool {
        match self {
            Self::GitHub => Tool::Gh,
            Self::GitLab => Tool::Glab,
            Self::Gitea => Tool::Tea,
        }
    }
}

impl OpenWith {
    /// Returns the tool; `None` if there is to be none.
    pub(crate) fn tool(self) -> Option<Tool> {
        match self {
            Self::Gh => Some(Tool::Gh),
            Self::Glab => Some(Tool::Glab),
            Self::Tea => Some(Tool::Tea),
            Self::None => None,
        }
    }
}

impl Tool {
    /// Returns the name of its program.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Gh => "gh",
            Self::Glab => "glab",
            Self::Tea => "tea",
        }
    }

    pub(crate) fn forge(self) -> Forge {
        match self {
            Self::Gh => Forge::GitHub,
            Self::Glab => Forge::GitLab,
            Self::Tea => Forge::Gitea,
        }
    }

    /// Says how a request is opened with it. Each value is in one word with its option, so no text
    /// becomes an option.
    pub(crate) fn call(self, branches: &Branches, remote: &str, text: &RequestText) -> ToolCall {
        let Branches { head, base } = branches;
        let (title, body) = (&text.title, &text.body);
        let mut stdin = String::new();
        let mut arguments = match self {
            Self::Gh => {
                stdin.clone_from(body);
                vec![
                    "pr".to_owned(),
                    "create".to_owned(),
                    format!("--head={head}"),
                    format!("--base={base}"),
                    format!("--title={title}"),
                    "--body-file=-".to_owned(),
                ]
            }
            Self::Glab => vec![
                "mr".to_owned(),
                "create".to_owned(),
                format!("--source-branch={head}"),
                format!("--target-branch={base}"),
                format!("--title={title}"),
                // A line feed at the end: `-` alone would open an editor.
                format!("--description={body}\n"),
                "--yes".to_owned(),
            ],
            Self::Tea => {
                let draft = if text.draft { "WIP: " } else { "" };
                vec![
                    "pulls".to_owned(),
                    "create".to_owned(),
                    format!("--remote={remote}"),
                    format!("--head={head}"),
                    format!("--base={base}"),
                    format!("--title={draft}{title}"),
                    format!("--description={body}"),
                ]
            }
        };
        if text.draft && self != Self::Tea {
            arguments.push("--draft".to_owned());
        }
        match self {
            Self::Gh | Self::Glab => {
                let labels = text.labels.iter();
                arguments.extend(labels.map(|label| format!("--label={label}")));
            }
            Self::Tea if text.labels.is_empty() => {}
            Self::Tea => arguments.push(format!("--labels={}", text.labels.join(","))),
        }
        ToolCall { arguments, stdin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_server_says_what_it_runs() {
        for (host, forge) in [
            ("github.com", Some(Forge::GitHub)),
            ("github.example.com", Some(Forge::GitHub)),
            ("gitlab.com", Some(Forge::GitLab)),
            ("codeberg.org", Some(Forge::Gitea)),
            ("gitea.example.com", Some(Forge::Gitea)),
            ("forgejo.example.com", Some(Forge::Gitea)),
            ("example.com", None),
            ("localhost", None),
        ] {
            assert_eq!(Forge::of(host), forge, "{host}");
        }
    }

    #[test]
    fn no_text_becomes_an_option() {
        let text = RequestText {
            draft: true,
            labels: vec!["-x".to_owned(), "b".to_owned()],
            ..RequestText::new("--web", "-").unwrap()
        };
        let branches = Branches {
            head: "lazaret/shop/fix".parse().unwrap(),
            base: "main".parse().unwrap(),
        };
        let words = |tool: Tool| tool.call(&branches, "origin", &text).arguments.join(" ");
        assert_eq!(
            words(Tool::Gh),
            "pr create --head=lazaret/shop/fix --base=main --title=--web --body-file=- --draft \
             --label=-x --label=b"
        );
        assert_eq!(Tool::Gh.call(&branches, "origin", &text).stdin, "-");
        assert_eq!(
            words(Tool::Glab),
            "mr create --source-branch=lazaret/shop/fix --target-branch=main --title=--web \
             --description=-\n --yes --draft --label=-x --label=b"
        );
        assert_eq!(
            words(Tool::Tea),
            "pulls create --remote=origin --head=lazaret/shop/fix --base=main --title=WIP: --web \
             --description=- --labels=-x,b"
        );
    }
}
