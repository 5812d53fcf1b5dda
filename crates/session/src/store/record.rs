//! `Record`: what is known of a session, as stored in its `session.json`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lazaret_gate::ignored::IgnoredFiles;
use lazaret_gate::subject::Subject;
use lazaret_gate::unlanded::Unlanded;
use lazaret_gate::waiting::WaitingChanges;
use lazaret_runtime::{ContainerName, ServiceName, SessionId, VolumeName};
use lazaret_transfer::FileIdentity;
use lazaret_tree::RelPathBuf;
use serde::{Deserialize, Serialize};

use crate::engine::owner::ResourceOwner;
use crate::network::Totals;
use crate::store::as_text;
use crate::store::from_branch::FromBranch;
use crate::store::moment::Moment;
pub use crate::store::selection_record::{GitSelection, SelectionRecord};
pub use crate::store::write_scope::{OutsideFolder, WriteScope};
pub use lazaret_gate::input::GateLimits;
pub use lazaret_gate::subject::{CommandEnd, Outcome};

/// The version of the format that this lazaret writes. Unknown ones are refused, not guessed.
const VERSION: u32 = 2;

/// The oldest version that it reads: what came later has a default.
const OLDEST: u32 = 1;

/// Where a session is in its life. The order is that of the data; each phase is written
/// before the step that it names begins, so after a crash the record never claims less
/// than what may have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The volume, the container and the copy are being made. Nothing of value inside.
    Preparing,
    /// The volume of a kept session is brought up to date. What it held before is in it
    /// still, and [`Record::phase_before`] says where the session was.
    Syncing,
    /// The command runs, or ran when the launcher died.
    Running,
    /// The command has ended; its changes are in the volume only.
    Stopped,
    /// The changes are in the quarantine, judged or not, and wait for a decision.
    Collected,
    /// The collection broke a rule that ends a batch; the volume is kept.
    Rejected,
    /// Files of the workspace are being changed; the journal knows how far it came.
    Applying,
    /// The gate is settled.
    Settled,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    version: u32,
    /// Its name.
    #[serde(with = "as_text")]
    pub id: SessionId,
    /// The id of the state directory it belongs to.
    pub store: String,
    /// Seconds since 1970 when it was created: for people, never for ordering decisions.
    pub created: u64,
    /// The workspace, as an absolute path.
    pub workspace: PathBuf,
    /// The device and inode of the workspace's root when it was read.
    pub workspace_identity: (u64, u64),
    /// The profile's name.
    pub profile: String,
    /// The command.
    pub command: Vec<String>,
    /// How to reach the engine again.
    pub engine: String,
    /// The image, pinned by id.
    pub image: String,
    /// Where it is in its life.
    pub phase: Phase,
    /// The gate's limits.
    pub gate: GateLimits,
    /// What becomes of new files that git ignores.
    #[serde(default)]
    pub ignored: IgnoredFiles,
    /// How the command ended, once it has.
    pub end: Option<CommandEnd>,
    /// How the gate ended, once it has.
    pub outcome: Option<Outcome>,
    /// What was committed inside and is not in the workspace's repository, as of the last
    /// collection. The gate leaves it in the volume, so the session waits as long as there is any.
    #[serde(default, skip_serializing_if = "Unlanded::is_empty")]
    pub commits: Unlanded,
    /// What was landed and holds all changes of files that were collected last, without
    /// `refs/heads/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed_as: Option<String>,
    /// Why a batch was rejected: the code and the reason.
    pub rejection: Option<(String, String)>,
    /// How many changes the user left for later in the apply that [`Phase::Applying`] names.
    pub left_out: u64,
    /// What waited for a decision when the gate was last left; `None` where nothing did, and after
    /// an undo or a redo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingChanges>,
    /// The number of the apply that [`Phase::Applying`] is about: only its journal tells how
    /// far it came, and those of earlier ones say nothing of it.
    #[serde(default)]
    pub applying: Option<u32>,
    /// The numbers of the applies that were taken back and not done again, in the order in
    /// which that was.
    #[serde(default)]
    pub undone: Vec<u32>,
    /// When the gate was settled, or an apply was last taken back or done again: how long an
    /// undo is kept counts from here. Private to [`Record::settled_at`], so that it never goes
    /// before what the record knows of. `None` in a record of an earlier lazaret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled: Option<Moment>,
    /// What becomes of the volume when the gate is settled.
    #[serde(default)]
    pub keep: KeepVolume,
    /// What of the workspace goes in. `None` in a record of version 1.
    #[serde(default)]
    pub selection: Option<SelectionRecord>,
    /// Whether what the volume holds was discarded: then the next run makes it what the
    /// workspace is.
    #[serde(default)]
    pub reset: bool,
    /// Whether nothing was started on the volume since it was surveyed: then what was collected
    /// is of its last command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub surveyed: bool,
    /// Milliseconds from 1970 to a moment at which every process of the last command had ended;
    /// `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_since_ms: Option<u64>,
    /// Whether that survey has seen every directory of the volume: then an engine can remove it
    /// as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen_whole: bool,
    /// Where the session was before [`Phase::Syncing`], which changes none of it.
    #[serde(default, rename = "before")]
    pub phase_before: Option<Phase>,
    /// The services of its last command. Each may have a volume, which stays until the session is
    /// removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "as_text::list")]
    pub services: Vec<ServiceName>,
    /// The network of its last command; `None` where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<NetworkSummary>,
    /// How far the command reaches. It is here before anything of the volume is root's.
    #[serde(default)]
    pub bounds: WriteScope,
    /// Where the command leaves the text of a pull request, from the workspace's root. What lies
    /// there never comes back.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "as_text::optional"
    )]
    pub pr_file: Option<RelPathBuf>,
    /// The place in the pool that it took; `None` where its things were made for it.
    #[serde(
        default,
        rename = "berth",
        skip_serializing_if = "Option::is_none",
        with = "as_text::optional"
    )]
    pub pool_slot: Option<SessionId>,
}

/// The network of a command. Where there was one, the engine may hold a gateway's container
/// and the volume with its sockets until the session is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSummary {
    /// Which public hosts were allowed.
    pub mode: lazaret_egress::Mode,
    /// What was decided; `None` until the command has ended.
    pub totals: Option<Totals>,
    /// Whether the gateway was there until the command ended.
    pub gateway_lost: bool,
}

/// Whether a volume outlives the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepVolume {
    /// Removed as soon as nothing in it is needed.
    #[default]
    UntilSettled,
    /// Kept until `rm`.
    Always,
}

/// Why a record can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not our JSON.
    #[error("session.json can't be understood: {0}")]
    Json(#[from] serde_json::Error),
    /// From another version of lazaret.
    #[error("session.json is of version {found}, this lazaret knows {OLDEST} to {VERSION}")]
    Version {
        /// The version found.
        found: u32,
    },
}

/// What a new session starts from.
#[derive(Debug, Clone)]
pub struct NewRecord {
    /// Its name.
    pub id: SessionId,
    /// The id of the state directory.
    pub store: String,
    /// The workspace.
    pub workspace: PathBuf,
    /// Its device and inode.
    pub workspace_identity: (u64, u64),
    /// The profile's name.
    pub profile: String,
    /// The command.
    pub command: Vec<String>,
    /// How to reach the engine.
    pub engine: String,
    /// The image, pinned by id.
    pub image: String,
    /// The gate's limits.
    pub gate: GateLimits,
    /// What becomes of new files that git ignores.
    pub ignored: IgnoredFiles,
    /// What becomes of the volume.
    pub keep: KeepVolume,
    /// What of the workspace goes in.
    pub selection: SelectionRecord,
    /// How far the command reaches.
    pub bounds: WriteScope,
    /// Where the command leaves the text of a pull request.
    pub pr_file: Option<RelPathBuf>,
    /// Its network.
    pub egress: Option<NetworkSummary>,
    /// Its services.
    pub services: Vec<ServiceName>,
}

/// Converts what tells a directory from every other one into what a record stores.
pub fn identity(identity: FileIdentity) -> (u64, u64) {
    (identity.dev, identity.ino)
}

impl Record {
    /// Starts a record in [`Phase::Preparing`].
    pub fn new(new: NewRecord, now: SystemTime) -> Self {
        let created = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |age| age.as_secs());
        Self {
            version: VERSION,
            id: new.id,
            store: new.store,
            created,
            workspace: new.workspace,
            workspace_identity: new.workspace_identity,
            profile: new.profile,
            command: new.command,
            engine: new.engine,
            image: new.image,
            phase: Phase::Preparing,
            gate: new.gate,
            ignored: new.ignored,
            end: None,
            outcome: None,
            commits: Unlanded::default(),
            landed_as: None,
            rejection: None,
            left_out: 0,
            waiting: None,
            applying: None,
            undone: Vec::new(),
            settled: None,
            keep: new.keep,
            selection: Some(new.selection),
            reset: false,
            surveyed: false,
            quiet_since_ms: None,
            seen_whole: false,
            phase_before: None,
            bounds: new.bounds,
            pr_file: new.pr_file,
            egress: new.egress,
            services: new.services,
            pool_slot: None,
        }
    }

    /// Puts the command of a session into its record as it is about to start: from here on
    /// its volume holds what that one does.
    pub fn run_again(&mut self, new: NewRecord) {
        let (created, keep) = (self.created, self.keep);
        let undone = std::mem::take(&mut self.undone);
        // They are in the volume, whatever becomes of this command.
        let commits = std::mem::take(&mut self.commits);
        let pool_slot = self.pool_slot.take();
        *self = Self::new(new, SystemTime::UNIX_EPOCH);
        self.pool_slot = pool_slot;
        self.phase = Phase::Running;
        self.created = created;
        self.undone = undone;
        self.commits = commits;
        // Who kept the volume once has not said otherwise since.
        if keep == KeepVolume::Always {
            self.keep = keep;
        }
    }

    /// Returns what the session is a clone of; `None` if it copies the workspace's own files.
    pub fn from_branch(&self) -> Option<&FromBranch> {
        self.selection.as_ref()?.from.as_ref()
    }

    /// Returns what reports tell of the session.
    pub fn subject(&self) -> Subject {
        Subject {
            name: self.id.to_string(),
            workspace: self.workspace.clone(),
            profile: self.profile.clone(),
            command: self.command.clone(),
            engine: self.engine.clone(),
            image: self.image.clone(),
            created: self.created,
            end: self.end,
            outcome: self.outcome,
            commits: self.commits.clone(),
        }
    }

    /// Notes that the gate is settled now, or that an apply is taken back or done again.
    pub fn settled_at(&mut self, now: Moment) {
        self.settled = Some(now.not_before(self.created));
    }

    /// Returns when that was last; `None` when it never was, or by an earlier lazaret.
    pub fn settled(&self) -> Option<&Moment> {
        self.settled.as_ref()
    }

    /// Whether it was begun less than `age` before `now`, or after it: a clock that was set
    /// back says nothing.
    pub fn is_younger_than(&self, age: Duration, now: SystemTime) -> bool {
        let begun = SystemTime::UNIX_EPOCH + Duration::from_secs(self.created);
        now.duration_since(begun).is_ok_and(|passed| passed < age) || now < begun
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When it is not JSON of this version; unknown fields are refused too.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_slice(bytes)?;
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(RecordError::Version { found: version });
        }
        let mut record: Self = serde_json::from_slice(bytes)?;
        record.version = VERSION;
        Ok(record)
    }

    /// Writes it as JSON, with a newline at the end.
    ///
    /// # Errors
    /// When the workspace's path is not UTF-8.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordError> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Says whose its things in the engine are.
    pub fn owner(&self) -> ResourceOwner {
        ResourceOwner {
            tag: self.pool_slot.clone().unwrap_or_else(|| self.id.clone()),
            store: self.store.clone(),
            workspace: Some(self.workspace.clone()),
        }
    }

    /// Names the volume that holds the copy.
    pub fn volume(&self) -> VolumeName {
        self.owner().volume()
    }

    /// Names the container that the command runs in.
    pub fn agent(&self) -> ContainerName {
        self.owner().agent()
    }

    /// Names the volume that holds the sockets of the gateway.
    pub fn sockets(&self) -> VolumeName {
        self.owner().sockets()
    }

    /// Names the container of the gateway.
    pub fn gateway(&self) -> ContainerName {
        self.owner().gateway()
    }

    /// Names the container that reads the volume afterwards.
    pub fn exporter(&self) -> ContainerName {
        self.owner().name("exporter")
    }

    /// Names the container through which a volume is brought up to date by `sync`.
    pub fn importer(&self) -> ContainerName {
        self.owner().name("importer")
    }

    /// Names the container that makes entries of the volume root's, or gives them back.
    pub fn guard(&self) -> ContainerName {
        self.owner().guard()
    }

    /// Names the container in which git packs commits of the volume.
    pub fn packer(&self) -> ContainerName {
        self.owner().name("packer")
    }

    /// Names a container that reads the volume while the command runs; `view` is the six
    /// digits that tell views apart.
    pub fn viewer(&self, view: &str) -> ContainerName {
        self.owner().name(&format!("view-{view}"))
    }
}
