//! Seeing from outside where a call of `lazaret` is, to hit it there.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::ctx::Ctx;
use crate::lazaret::Running;

/// How long a phase may be in coming, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(180);

/// How often it is looked.
const POLL: Duration = Duration::from_millis(20);

/// So many bytes read or written mean that files are on their way.
const FLOWING: u64 = 24 << 20;

/// The phase that the record of session `s` names.
pub(crate) fn phase(ctx: &Ctx) -> Option<String> {
    let text = fs::read_to_string(ctx.state().join("sessions/s/session.json")).ok()?;
    let record: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(record["phase"].as_str()?.to_owned())
}

/// Waits until `done` says so.
///
/// # Errors
/// It does not within [`SOON`], or fails.
pub(crate) fn wait_until(
    what: &str,
    mut done: impl FnMut() -> Result<bool, String>,
) -> Result<(), String> {
    let deadline = Instant::now() + SOON;
    while !done()? {
        if Instant::now() > deadline {
            return Err(format!("not within {SOON:?}: {what}"));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Waits until session `s`, whose launcher was ended while it started, is taken back by its keeper:
/// nothing is left on the engine, and its name is free.
///
/// # Errors
/// It is not.
pub(crate) fn until_taken_back(ctx: &Ctx) -> Result<(), String> {
    let session = ctx.state().join("sessions/s");
    wait_until("nothing is left of the session", || {
        Ok(!session.exists() && ctx.objects()?.is_empty())
    })
}

impl Running {
    /// Waits until session `s` exists: its volume and container are being made.
    pub(crate) fn until_creating(&self, ctx: &Ctx) -> Result<(), String> {
        self.wait_until("the session exists", SOON, || phase(ctx).is_some())
    }

    /// Waits until much of the workspace is on its way in.
    pub(crate) fn until_copying_in(&self, ctx: &Ctx) -> Result<(), String> {
        self.until_creating(ctx)?;
        let before = self.number("io", "rchar");
        self.wait_until("the workspace is being copied", SOON, || {
            self.number("io", "rchar") > before + FLOWING
        })?;
        match phase(ctx).as_deref() {
            Some("preparing") => Ok(()),
            other => Err(format!("copied in too soon: {other:?}")),
        }
    }

    /// Waits until the command has said `word`. Lazaret shows the command on stderr before
    /// it runs, so only stdout counts.
    pub(crate) fn until_said(&self, word: &str) -> Result<(), String> {
        self.wait_until(&format!("the command says {word}"), SOON, || {
            self.stdout_so_far().contains(word)
        })
    }

    /// Waits until no such signal waits for the process any more.
    pub(crate) fn until_delivered(&self, signal: Signal) -> Result<(), String> {
        let bit = 1_u64 << (signal.as_raw() - 1);
        self.wait_until("the signal is delivered", SOON, || {
            let status = self.status();
            let mut masks = status.lines().filter_map(|line| {
                let mask = line
                    .strip_prefix("ShdPnd:")
                    .or_else(|| line.strip_prefix("SigPnd:"))?;
                u64::from_str_radix(mask.trim(), 16).ok()
            });
            masks.all(|mask| mask & bit == 0)
        })
    }

    /// Waits until much of the changes is on its way out.
    pub(crate) fn until_collecting(&self, ctx: &Ctx) -> Result<(), String> {
        self.wait_until("the command has ended", SOON, || {
            phase(ctx).as_deref() == Some("stopped")
        })?;
        let before = self.number("io", "wchar");
        self.wait_until("changes are being collected", SOON, || {
            self.number("io", "wchar") > before + FLOWING
        })?;
        match phase(ctx).as_deref() {
            Some("stopped") => Ok(()),
            other => Err(format!("collected too soon: {other:?}")),
        }
    }
}

/// Makes a file of `size` bytes that takes no room and no time.
pub(crate) fn sparse(path: &Path, size: u64) -> Result<(), String> {
    fs::File::create(path)
        .and_then(|file| file.set_len(size))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Tells whether a process wrote to a directory, without reading its files.
pub(crate) fn stamp(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            found.push(format!(
                "{path:?} ino {} mode {:o} size {} mtime {}.{:09}",
                metadata.ino(),
                metadata.mode(),
                metadata.size(),
                metadata.mtime(),
                metadata.mtime_nsec()
            ));
            if metadata.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}
