//! `Case`: a collected session before the gate, judged.

use std::io::Read as _;

use lazaret_transfer::{
    Change, Conflict, Quarantine, RelPath, Skipped, WorkspaceDir, conflicts, diff,
};
use lazaret_validator::{Destination, JudgeInput, Limits, Policy, Selected, Verdict, judge};

use crate::failure::{Failure, FailureKind};
use crate::session::collect::read_collection;
use crate::session::record::{GateLimits, identity};
use crate::session::store::LockedSession;

/// Everything the gate knows of one batch.
#[derive(Debug)]
pub struct Case {
    /// What changed, judged or not, `.git` left out.
    pub changes: Vec<Change>,
    /// What the rules say.
    pub verdict: Verdict,
    /// Where the workspace is not as it was when it was copied in.
    pub conflicts: Vec<Conflict>,
    /// Caches that appeared in the copy and stay there.
    pub caches: Vec<Skipped>,
    /// How many changes that could be applied the user left out for now.
    pub postponed: usize,
    /// The contents.
    pub quarantine: Quarantine,
    /// The workspace that the batch is for.
    pub workspace: WorkspaceDir,
}

impl Case {
    /// Reads a collected session and judges it. Nothing is written.
    ///
    /// # Errors
    /// When the session's files are damaged, or its workspace is not where it was (APP-03).
    pub fn open(session: &LockedSession) -> Result<Self, Failure> {
        let (dir, record) = (session.dir(), session.record());
        let workspace = WorkspaceDir::open_ambient(&record.workspace)?;
        if identity(workspace.identity()) != record.workspace_identity {
            let text = format!("{} is another directory now", record.workspace.display());
            return Err(Failure::message(FailureKind::Refused, text).hinted(
                "The directory that was copied in was moved or replaced; put it back first.",
            ));
        }
        let (baseline, collection) = read_collection(dir, record.gate)?;
        let quarantine = Quarantine::open(&dir.file("quarantine"))?;
        let changes = diff(&baseline, &collection.tree);
        let shown = changes
            .iter()
            .filter(|change| change.path.components().next() != Some(".git"))
            .cloned()
            .collect();
        let input = JudgeInput {
            baseline: &baseline,
            collected: &collection.tree,
            changes,
            refusals: &collection.refusals,
            notes: &collection.notes,
            contents: &quarantine,
        };
        let verdict = judge(input, &policy(record.gate));
        let conflicts = match &verdict.validated {
            Some(validated) => conflicts(&workspace, validated.changes())?,
            None => Vec::new(),
        };
        Ok(Self {
            changes: shown,
            verdict,
            conflicts,
            caches: collection.left_out,
            postponed: 0,
            quarantine,
            workspace,
        })
    }

    /// Returns the changes that would be applied.
    pub fn applicable(&self) -> &[Change] {
        self.verdict
            .validated
            .as_ref()
            .map_or(&[], |validated| validated.changes())
    }

    /// Leaves out of the batch what `keep` does not want, and looks for conflicts again.
    ///
    /// # Errors
    /// When the workspace can't be read.
    pub fn pick(&mut self, keep: impl FnMut(&RelPath) -> Selected) -> Result<(), Failure> {
        if let Some(validated) = self.verdict.validated.take() {
            let all = validated.changes().len();
            let validated = validated.select(keep);
            self.postponed = all - validated.changes().len();
            self.conflicts = conflicts(&self.workspace, validated.changes())?;
            self.verdict.validated = Some(validated);
        }
        Ok(())
    }

    /// Reads the new contents of a file.
    ///
    /// # Errors
    /// When the quarantine does not hold them.
    pub fn contents(
        &self,
        digest: &lazaret_transfer::Digest,
        size: u64,
    ) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let mut blob = self.quarantine.blob(digest, size)?;
        blob.read_to_end(&mut bytes).map_err(|error| {
            Failure::new(FailureKind::State, error).context("the quarantine can't be read")
        })?;
        Ok(bytes)
    }
}

fn policy(limits: GateLimits) -> Policy {
    Policy {
        limits: Limits {
            entries: limits.max_entries,
            total_bytes: limits.max_bytes,
            file_bytes: limits.max_file_bytes,
            ..Limits::shipped()
        },
        protect: Vec::new(),
        // The default file systems of macOS fold case; those of Linux do not.
        destination: if cfg!(target_os = "macos") {
            Destination::Folds
        } else {
            Destination::Distinguishes
        },
    }
}
