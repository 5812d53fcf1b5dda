//! What a keeper takes of the machine, so that one that grows is seen.

use std::fs;

use crate::ctx::Ctx;

/// Most that a keeper's memory may grow by, as a factor: what it frees stays with its allocator.
const MEMORY: f64 = 1.6;
/// The same of its descriptors: one client may just be leaving.
const DESCRIPTORS: f64 = 1.25;

/// What a keeper without clients takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pid: i64,
    /// KiB that are its alone.
    memory: f64,
    descriptors: f64,
}

impl Usage {
    /// Asks the keeper of a session for its process, and looks at that.
    pub(super) fn of(ctx: &Ctx, session: &str) -> Result<Self, String> {
        let limits = ctx.run_json(&["--json", "limits", session])?;
        let pid = limits["pid"].as_i64().ok_or("the keeper has no process")?;
        let failed = |error: std::io::Error| format!("keeper {pid} of {session}: {error}");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(failed)?;
        let memory = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next())
            .and_then(|kib| kib.parse().ok());
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_err(failed)?;
        Ok(Self {
            pid,
            memory: memory.ok_or("the keeper has no memory")?,
            descriptors: descriptors.count() as f64,
        })
    }

    /// Checks that a later look at the same keeper found no more.
    ///
    /// # Errors
    /// It has grown, or is another process.
    pub(super) fn is_flat(&self, later: &Self) -> Result<(), String> {
        let grew = |before: f64, after: f64, most: f64| after > before * most;
        let is_flat = self.pid == later.pid
            && !grew(self.memory, later.memory, MEMORY)
            && !grew(self.descriptors, later.descriptors, DESCRIPTORS);
        match is_flat {
            true => Ok(()),
            false => Err(format!("its keeper has grown: {self:?}, then {later:?}")),
        }
    }
}
