//! Times the scan before an update: `scan DIR CACHE`, with the cache that the last run left.

use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use lazaret_transfer::{
    AgentChanges, GitMode, SelectionSpec, StatCache, StatCacheOutcome, StatCacheWriter,
    VolumeState, WorkspaceDir, reconcile, walk_cached,
};

#[expect(clippy::print_stdout, reason = "an example prints its figures")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(dir), Some(cache)) = (arguments.next(), arguments.next()) else {
        return Err("usage: scan DIR CACHE".into());
    };
    let cache = Path::new(&cache);
    let workspace = WorkspaceDir::open_ambient(Path::new(&dir))?;
    let (git, exclude) = (GitMode::Full, Vec::new());
    let selector = SelectionSpec { git, exclude }.compile()?;
    let start = Instant::now();
    let known = match File::open(cache) {
        Ok(mut file) => StatCache::read_from(&mut file).unwrap_or_default(),
        Err(_) => StatCache::default(),
    };
    let loaded = start.elapsed();
    let mut next = Vec::new();
    let mut recorder = StatCacheWriter::new(&workspace, &mut next);
    let walked = walk_cached(&workspace, &selector, &known, &mut recorder)?;
    if recorder.finish()? == StatCacheOutcome::Written {
        fs::write(cache, &next)?;
    }
    let scanned = start.elapsed();
    let plan = reconcile(
        &walked.tree,
        &walked,
        &VolumeState::default(),
        AgentChanges::Keep,
    );
    let decided = start.elapsed();
    println!(
        "{} entries, {} known, {} bytes: cache {loaded:.1?}, with scan {scanned:.1?}, with \
         diff {decided:.1?}, {} to send",
        walked.tree.len(),
        known.len(),
        walked.tree.total_bytes(),
        plan.request.send.len(),
    );
    Ok(())
}
