//! What processes hold in memory.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// MiB: a process's share of what it maps (`Pss` of `smaps_rollup` in proc(5)).
///
/// # Errors
/// It has ended.
pub(super) fn of(process: &Path) -> Result<f64> {
    let maps = fs::read_to_string(process.join("smaps_rollup"))?;
    let share = maps.lines().find_map(|line| line.strip_prefix("Pss:"));
    let share = share.and_then(|line| line.split_ascii_whitespace().next());
    let kib: u64 = share.context("no Pss in smaps_rollup")?.parse()?;
    Ok(kib as f64 / 1024.0)
}

/// The same of several together. One that has ended has none.
pub(super) fn of_all(processes: &[impl AsRef<Path>]) -> f64 {
    let all = processes
        .iter()
        .filter_map(|process| of(process.as_ref()).ok());
    all.sum()
}
