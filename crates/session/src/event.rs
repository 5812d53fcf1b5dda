//! `Event`: what a session reports while it goes on.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazaret_runtime::{ContainerName, ProvenControl, ServiceName, SessionId};
use lazaret_transfer::Skipped;
use lazaret_tree::RelPathBuf;

use crate::lifecycle::update_summary::UpdateSummary;
use crate::network::Totals;

/// Takes what a session tells, on any thread.
pub trait EventSink: Sync + fmt::Debug {
    /// Takes one event.
    fn event(&self, event: Event<'_>);
}

/// What a session tells. Texts in it are raw, unless it says otherwise.
#[derive(Debug)]
#[expect(missing_docs, reason = "the fields are what the variant names")]
pub enum Event<'a> {
    /// A step began; its counter goes on until it ends.
    PhaseStarted(&'static str, Counter),
    /// The step came to its end.
    PhaseEnded(&'static str),
    /// The step was broken off.
    PhaseFailed(&'static str),
    /// A control is in force.
    ControlProven(&'a ProvenControl),
    /// Streams go past the engine.
    StreamsDirect(&'a ContainerName),
    /// The session has no volume any more, so all of the workspace goes in.
    VolumeGone(&'a SessionId),
    /// What was brought up to date before the command.
    Updated(&'a UpdateSummary),
    /// What of the workspace did not go in.
    LeftOut(&'a [Skipped]),
    /// A path that is to be protected does not go in.
    NothingToProtect(&'a RelPathBuf),
    /// Entries that the command can only read, tried from inside.
    Protected { entries: usize },
    /// What the volume holds is not known.
    DiskNotWatched(&'a dyn Error),
    /// Settings or programs in the home were not the user's, and were put back.
    HomePutBack { id: &'a SessionId, count: usize },
    /// A lent file may still be in a kept home; the next start removes it.
    LentFileStays(&'a dyn Error),
    /// The command is about to start.
    CommandStarts { argv: &'a [String] },
    /// A service takes requests.
    ServiceReady {
        name: &'a ServiceName,
        took: Duration,
    },
    /// The process of a service ended; `None` if it is not started again.
    ServiceDied {
        name: &'a ServiceName,
        code: i32,
        again_in: Option<Duration>,
    },
    /// A service that died could not be started again.
    ServiceNotStarted(&'a dyn Error),
    /// A setup step has run.
    SetupStepDone { argv: &'a [String], took: Duration },
    /// A port of 127.0.0.1 leads inside.
    PortOpen { host: u16, inside: u16 },
    /// The connection to another machine is lost. The command waits for it there.
    ConnectionLost,
    /// It is there again, and nothing of the command's streams is lost.
    ConnectionResumed,
    /// The gateway ended before the command: the network is closed.
    GatewayLost,
    /// A lent file was refreshed inside, and is kept for the next session.
    CredentialRefreshed { name: &'a str },
    /// A refreshed file could not be kept.
    CredentialLost { cause: &'a str },
    /// Files changed more often than is kept.
    CredentialChangesCut,
    /// The log of the network has a hole.
    DecisionsLost { cause: &'a str },
    /// Another launcher changes the same workspace, and is waited for.
    WaitingForWorkspace,
    /// The network is closed, after so many decisions.
    NetworkClosed { id: &'a SessionId, totals: Totals },
    /// The log of the output is full.
    LogTruncated { dropped: u64 },
    /// The log of the output could not be written.
    LogFailed { cause: &'a str },
    /// A power cut may take what was written before the start.
    NotSynced(&'a dyn Error),
    /// The texts for merging are not all there.
    MergeBaseNotKept(&'a dyn Error),
    /// No exporter stands by: the collection makes its own.
    NoExporterYet(&'a dyn Error),
    /// The pool is not full.
    PoolNotFilled(&'a dyn Error),
    /// A place of the pool that fits no more is still there.
    PoolSlotStays(&'a dyn Error),
}

/// Counts what a step has done. Clones count together, on any thread.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    /// Counts files (or other entries).
    pub fn add_files(&self, files: u64) {
        self.0.files.fetch_add(files, Ordering::Relaxed);
    }

    /// Counts bytes.
    pub fn add_bytes(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the files so far.
    pub fn files(&self) -> u64 {
        self.0.files.load(Ordering::Relaxed)
    }

    /// Returns the bytes so far.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }
}
