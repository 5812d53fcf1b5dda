//! `projects`: the directories that a profile of the user's is for.

use std::fs;
use std::path::{Path, PathBuf};

use toml::Spanned;

use super::lookup::{list, read};
use super::source::Source;
use super::{Origin, ProfileError};
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};

/// A profile of the user's, and the directory that it is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProjectProfile {
    /// The profile's name.
    pub(crate) name: String,
    /// The directory, as a real path where it is there.
    pub(crate) project: PathBuf,
}

/// Finds the profile whose `projects` name a directory, or one around it; the nearest wins.
/// Only the user's own profiles count, since a file of a workspace may have come from an agent.
///
/// # Errors
/// Two profiles name the same directory, or one of the user's profiles can't be read.
pub(crate) fn profile_for(
    dir: &Path,
    env: &Environment,
) -> Result<Option<ProjectProfile>, Failure> {
    let mut found: Option<ProjectProfile> = None;
    for listed in list(env)? {
        let Origin::File(file) = listed.origin else {
            continue;
        };
        let Some(text) = read(&file)? else { continue };
        let shown = file.display().to_string();
        let source = Source {
            file: &shown,
            text: &text,
        };
        for project in &source.parse()?.projects {
            let project = resolved(&source, project, env)?;
            if !dir.starts_with(&project) {
                continue;
            }
            match &found {
                Some(other) if other.project == project && other.name != listed.name => {
                    return Err(two(&project, &other.name, &listed.name));
                }
                Some(nearer) if nearer.project.starts_with(&project) => {}
                _ => {
                    found = Some(ProjectProfile {
                        name: listed.name.clone(),
                        project,
                    });
                }
            }
        }
    }
    Ok(found)
}

/// Returns the real path of a project, or the path as it is written if there is nothing.
fn resolved(
    source: &Source<'_>,
    project: &Spanned<String>,
    env: &Environment,
) -> Result<PathBuf, ProfileError> {
    let written = Path::new(project.get_ref());
    let path = env.expand(written);
    if !path.is_absolute() {
        let text = "expected an absolute path, or one that starts with ~/";
        return Err(source.error(&project.span(), text));
    }
    Ok(fs::canonicalize(&path).unwrap_or(path))
}

fn two(project: &Path, one: &str, other: &str) -> Failure {
    let text = format!(
        "two profiles are for {}: {one} and {other}",
        project.display()
    );
    Failure::message(FailureKind::Profile, text).hinted(
        "Remove the directory from `projects` of one of them, or name a profile: \
         `lazaret run PROFILE`.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{StreamKind, StreamKinds};

    struct Home(tempfile::TempDir);

    impl Home {
        fn with(profiles: &[(&str, &str)]) -> Self {
            let home = Self(tempfile::tempdir().unwrap());
            let dir = home.0.path().join(".config/lazaret/profiles");
            fs::create_dir_all(&dir).unwrap();
            for (name, text) in profiles {
                fs::write(dir.join(format!("{name}.toml")), text).unwrap();
            }
            home
        }

        fn env(&self) -> Environment {
            let other = StreamKind::Other;
            let streams = StreamKinds {
                stdin: other,
                stdout: other,
                stderr: other,
            };
            let home = ("HOME".into(), self.0.path().into());
            Environment::new([home], streams, None, 1000, PathBuf::from("/"))
        }

        fn find(&self, dir: &str) -> Result<Option<String>, String> {
            let found = profile_for(Path::new(dir), &self.env());
            found
                .map(|found| found.map(|found| found.name))
                .map_err(|failure| failure.chain().join(": "))
        }
    }

    #[test]
    fn the_nearest_project_decides_in_any_order_of_files() {
        let home = Home::with(&[
            ("a", "image = \"base\"\nprojects = [\"/no/shop/deep\"]\n"),
            (
                "b",
                "image = \"base\"\nprojects = [\"/no/shop\", \"/no/other\"]\n",
            ),
            ("c", "image = \"base\"\nprojects = [\"/no/shop/deep/er\"]\n"),
            ("d", "image = \"base\"\n"),
        ]);
        for (dir, expected) in [
            ("/no/shop", Some("b")),
            ("/no/shop/src", Some("b")),
            ("/no/shop/deep", Some("a")),
            ("/no/shop/deep/er/x", Some("c")),
            ("/no/shopping", None),
            ("/no", None),
        ] {
            assert_eq!(home.find(dir), Ok(expected.map(str::to_owned)), "{dir}");
        }
    }

    #[test]
    fn what_leaves_it_open_which_profile_is_meant_is_an_error() {
        for (one, other, expected) in [
            (
                "[\"/no/p\"]",
                "[\"/no/p\"]",
                "two profiles are for /no/p: a and b",
            ),
            ("[\"p\"]", "[]", "expected an absolute path"),
            ("3", "[]", "found integer"),
        ] {
            let text = |projects: &str| format!("image = \"base\"\nprojects = {projects}\n");
            let home = Home::with(&[("a", &text(one)), ("b", &text(other))]);
            let found = home.find("/no/p").unwrap_err();
            assert!(found.contains(expected), "{found}");
        }
    }
}
