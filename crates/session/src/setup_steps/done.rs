//! `DoneSteps`: which setup steps of a session have run, and on what.
//!
//! What a step in a service made is in that one's volume; what a step in the command's container
//! made is in the copy of the workspace or in any volume. If that was made anew, the step is due
//! again, and so is one that changed or whose image did.

use std::fs;
use std::path::{Path, PathBuf};

use lazaret_tree::PathError;
use serde::{Deserialize, Serialize};

use super::SetupStep;
use crate::store::file::{private_dir, write_atomically};

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
    /// Reads which steps have run from the directory of the setup. `is_new` says of a place, as
    /// [`StepPlace::as_str`](super::StepPlace::as_str) names it, whether what steps made there is
    /// gone: they are forgotten for good. A list that can't be read is empty: steps run once too
    /// often rather than never.
    ///
    /// # Errors
    /// The disk's, if the list can't be written.
    pub(super) fn open(folder: &Path, is_new: impl Fn(&str) -> bool) -> Result<Self, PathError> {
        let path = folder.join("done.json");
        let bytes = fs::read(&path).unwrap_or_default();
        let mut steps: Vec<DoneStep> = serde_json::from_slice(&bytes).unwrap_or_default();
        let before = steps.len();
        steps.retain(|step| !is_new(&step.place));
        let done = Self { path, steps };
        if done.steps.len() < before {
            done.write()?;
        }
        Ok(done)
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
        self.write()
    }

    fn write(&self) -> Result<(), PathError> {
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
        step_in(StepPlace::Command, program, image)
    }

    fn step_in(place: StepPlace, program: &str, image: &str) -> DoneStep {
        let step = SetupStep {
            argv: vec![program.to_owned()],
            place,
            repeat: Repeat::Once,
            within: std::time::Duration::from_secs(1),
        };
        DoneStep::of(&step, image.to_owned())
    }

    const KEPT: fn(&str) -> bool = |_| false;

    #[test]
    fn a_step_has_run_until_what_it_worked_on_is_new() {
        let session = tempfile::tempdir().unwrap();
        let folder = session.path().join("setup");
        let db = || StepPlace::Service("db".parse().unwrap());
        let mut done = DoneSteps::open(&folder, KEPT).unwrap();
        assert!(!done.has(&step("migrate", "dev@1")));
        done.add(step("migrate", "dev@1")).unwrap();
        done.add(step_in(db(), "migrate", "pg@1")).unwrap();
        let has = |done: &DoneSteps| {
            [
                step("migrate", "dev@1"),
                step("seed", "dev@1"),
                step("migrate", "dev@2"),
                step_in(db(), "migrate", "pg@1"),
            ]
            .map(|step| done.has(&step))
        };
        let done = DoneSteps::open(&folder, KEPT).unwrap();
        assert_eq!(has(&done), [true, false, false, true]);
        let new_copy = DoneSteps::open(&folder, |place| place == "command").unwrap();
        assert_eq!(has(&new_copy), [false, false, false, true]);
        // Also if that start did not come to its end.
        let later = DoneSteps::open(&folder, KEPT).unwrap();
        assert_eq!(has(&later), [false, false, false, true]);
        let new_data = DoneSteps::open(&folder, |place| place == "db").unwrap();
        assert_eq!(has(&new_data), [false; 4]);
    }

    #[test]
    fn a_list_that_can_not_be_read_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("done.json"), b"[{\"argv\": 1}]").unwrap();
        let mut done = DoneSteps::open(folder.path(), KEPT).unwrap();
        assert!(!done.has(&step("migrate", "dev@1")));
        done.add(step("migrate", "dev@1")).unwrap();
        let done = DoneSteps::open(folder.path(), KEPT).unwrap();
        assert!(done.has(&step("migrate", "dev@1")));
    }
}
