//! `DoneSteps`: which setup steps of a session have run, and on what.
//!
//! What a step made is in the copy of the workspace or in the volume of a service. If one of them
//! was made anew, every step is due again, and so is one that changed or whose image did.

use std::fs;
use std::path::{Path, PathBuf};

use lazaret_tree::PathError;
use serde::{Deserialize, Serialize};

use super::SetupStep;
use crate::store::file::{private_dir, remove_file, write_atomically};

/// The steps of a session that have run to their end.
#[derive(Debug)]
pub(super) struct DoneSteps {
    path: PathBuf,
    steps: Vec<DoneStep>,
}

/// A step that has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DoneStep {
    argv: Vec<String>,
    place: String,
    image: String,
}

/// Whether what earlier steps made is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Groundwork {
    /// The copy of the workspace and every volume of a service are those of the last start.
    Kept,
    /// One of them was made anew.
    New,
}

impl DoneStep {
    /// Describes a step that runs on this image.
    pub(super) fn of(step: &SetupStep, image: String) -> Self {
        Self {
            argv: step.argv.clone(),
            place: step.place.as_str().to_owned(),
            image,
        }
    }
}

impl DoneSteps {
    /// Reads which steps have run from the directory of the setup. A list that can't be read is empty: steps run once too often
    /// rather than never.
    ///
    /// # Errors
    /// The disk's, if the list of what is gone can't be removed.
    pub(super) fn open(folder: &Path, groundwork: Groundwork) -> Result<Self, PathError> {
        let path = folder.join("done.json");
        if groundwork == Groundwork::New {
            remove_file(&path)?;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        let steps = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Self { path, steps })
    }

    /// Whether this step has run.
    pub(super) fn has(&self, step: &DoneStep) -> bool {
        self.steps.contains(step)
    }

    /// Notes that a step has run, before the next one does.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn add(&mut self, step: DoneStep) -> Result<(), PathError> {
        if self.has(&step) {
            return Ok(());
        }
        self.steps.push(step);
        if let Some(folder) = self.path.parent() {
            private_dir(folder)?;
        }
        let text = serde_json::to_vec(&self.steps).unwrap_or_default();
        write_atomically(&self.path, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Repeat, StepPlace};
    use super::*;

    fn step(program: &str, image: &str) -> DoneStep {
        let step = SetupStep {
            argv: vec![program.to_owned()],
            place: StepPlace::Command,
            repeat: Repeat::Once,
            within: std::time::Duration::from_secs(1),
        };
        DoneStep::of(&step, image.to_owned())
    }

    #[test]
    fn a_step_has_run_until_what_it_worked_on_is_new() {
        let session = tempfile::tempdir().unwrap();
        let folder = session.path().join("setup");
        let open = |groundwork| DoneSteps::open(&folder, groundwork).unwrap();
        let mut done = open(Groundwork::Kept);
        assert!(!done.has(&step("migrate", "dev@1")));
        done.add(step("migrate", "dev@1")).unwrap();
        let done = open(Groundwork::Kept);
        let has = [
            ("migrate", "dev@1"),
            ("seed", "dev@1"),
            ("migrate", "dev@2"),
        ]
        .map(|(program, image)| done.has(&step(program, image)));
        assert_eq!(has, [true, false, false]);
        assert!(!open(Groundwork::New).has(&step("migrate", "dev@1")));
        // Also if that start did not come to its end.
        assert!(!open(Groundwork::Kept).has(&step("migrate", "dev@1")));
    }

    #[test]
    fn a_list_that_can_not_be_read_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("done.json"), b"[{\"argv\": 1}]").unwrap();
        let mut done = DoneSteps::open(folder.path(), Groundwork::Kept).unwrap();
        assert!(!done.has(&step("migrate", "dev@1")));
        done.add(step("migrate", "dev@1")).unwrap();
        let done = DoneSteps::open(folder.path(), Groundwork::Kept).unwrap();
        assert!(done.has(&step("migrate", "dev@1")));
    }
}
