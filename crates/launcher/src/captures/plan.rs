//! `CapturePlan`: what of a session a capture would keep, known before anything is destroyed.

use std::collections::BTreeMap;

use lazaret_gate::unlanded::{Unlanded, UnlandedKind};
use lazaret_image_builder::Pinned;
use lazaret_runtime::{Detected, SessionId};
use lazaret_transfer::{NewRefs, ObjectId};
use lazaret_tree::{RelPathBuf, escape};

use super::take_up::is_collected;
use crate::app::App;
use crate::commits::repository::KnownObjects;
use crate::commits::tips::{Lost, Pending};
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::session_access::session_context;
use lazaret_session::captures::{
    CaptureRequest, CapturedFiles, PackSource, RepositoryPack, captured_of, take,
};
use lazaret_session::commits::copy_refs::{CopyRefs, ListError, list_refs};
use lazaret_session::engine::resources::VolumePresence;
use lazaret_session::lifecycle::open::standing;
use lazaret_session::store::record::{Phase, Record};
use lazaret_session::store::{LockedSession, Store};

/// What a capture of a session would hold.
#[derive(Debug)]
pub(crate) enum CapturePlan {
    /// Nothing waits.
    Idle,
    /// Something waits, and nothing of it can be kept.
    Nothing {
        /// Why the files can't be kept, escaped.
        why: String,
    },
    /// Something of it.
    Kept(KeptWork),
}

/// What can be kept.
#[derive(Debug)]
pub(crate) struct KeptWork {
    /// What was committed inside.
    commits: Unlanded,
    /// What was committed and is gone with the volume.
    gone: Unlanded,
    files: CapturedFiles,
    repositories: Vec<RepositoryPack>,
}

impl CapturePlan {
    /// Finds out what of a session can be kept. One that was broken off was
    /// [taken up](super::take_up) before.
    ///
    /// # Errors
    /// When that can't be told.
    pub(crate) fn of(session: &LockedSession, store: &Store, app: &App) -> Result<Self, Failure> {
        let record = session.record();
        let files = match phase_of_work(record) {
            Phase::Collected => CapturedFiles::Collected,
            Phase::Rejected if is_collected(session) => CapturedFiles::Collected,
            Phase::Rejected => CapturedFiles::Lost {
                why: rejection(record),
            },
            Phase::Running | Phase::Stopped => CapturedFiles::Lost {
                why: "its volume is gone".to_owned(),
            },
            Phase::Preparing | Phase::Syncing | Phase::Applying | Phase::Settled => {
                return Ok(Self::Idle);
            }
        };
        let is_listed = files == CapturedFiles::Collected && is_whole(&record.commits);
        let needs_volume =
            captured_of(session.dir()).is_none() && !(is_listed && record.commits.is_empty());
        let kept = match (needs_volume, is_listed) {
            (false, _) => KeptWork::without_packs(record, files),
            (true, is_listed) => {
                let tools = Tools::of(record, app)?;
                match (standing(&*tools.detected.engine, record)?, is_listed) {
                    (VolumePresence::Missing, _) => KeptWork::without_volume(record, files),
                    (VolumePresence::Present, true) => KeptWork::listed(session, files, app),
                    (VolumePresence::Present, false) => {
                        let cx = session_context(app, store, tools.detected);
                        let refs =
                            cx.phase("list commits", |_| list_refs(&cx, record, &tools.base))?;
                        KeptWork::found(session, files, &refs, app)
                    }
                }
            }
        };
        Ok(match &kept.files {
            CapturedFiles::Lost { why } if kept.commits.is_empty() => {
                Self::Nothing { why: why.clone() }
            }
            _ => Self::Kept(kept),
        })
    }

    /// Says what would be gone for good, and what kept of it; `None` if all is kept.
    pub(crate) fn losses(&self) -> Option<String> {
        match self {
            Self::Idle => None,
            Self::Nothing { why } => Some(format!(
                "nothing of it can be kept: its files can't be collected ({why}), and no commits \
                 are found"
            )),
            Self::Kept(KeptWork {
                commits,
                gone,
                files,
                ..
            }) => match files {
                CapturedFiles::Collected if gone.is_empty() => None,
                CapturedFiles::Collected => Some(format!(
                    "its files are kept; its volume is gone, and with it {gone}"
                )),
                CapturedFiles::Lost { why } => Some(format!(
                    "its files can't be collected ({why}) and are not kept; what it committed is: \
                     {commits}"
                )),
            },
        }
    }

    /// Returns what was committed inside if the record does not know it, since nothing was
    /// collected.
    pub(crate) fn commits(&self) -> Option<&Unlanded> {
        match self {
            Self::Kept(kept) if kept.files != CapturedFiles::Collected => Some(&kept.commits),
            Self::Idle | Self::Nothing { .. } | Self::Kept(_) => None,
        }
    }

    /// Takes the capture, and returns its name; `None` if there is nothing to keep.
    ///
    /// # Errors
    /// When it can't be taken: then nothing may be destroyed.
    pub(crate) fn carry_out(
        &self,
        session: &LockedSession,
        store: &Store,
        app: &App,
    ) -> Result<Option<SessionId>, Failure> {
        let Self::Kept(kept) = self else {
            return Ok(None);
        };
        let mut request = CaptureRequest {
            commits: &kept.commits,
            packs: None,
            files: &kept.files,
        };
        if kept.repositories.is_empty() {
            return Ok(Some(take(store, session, &request)?));
        }
        let Tools { detected, base } = Tools::of(session.record(), app)?;
        let cx = session_context(app, store, detected);
        request.packs = Some(PackSource {
            cx: &cx,
            image: &base,
            repositories: &kept.repositories,
        });
        Ok(Some(
            cx.phase("capture", |_| take(store, session, &request))?,
        ))
    }
}

/// Returns the phase of what waits: an update changes none of it.
fn phase_of_work(record: &Record) -> Phase {
    match record.phase {
        Phase::Syncing => record.phase_before.unwrap_or(Phase::Settled),
        phase => phase,
    }
}

/// Whether a list names everything: it may be cut, or have a file that can't be read.
fn is_whole(commits: &Unlanded) -> bool {
    let is_gap = |kind| matches!(kind, UnlandedKind::More | UnlandedKind::Unreadable);
    !commits.iter().any(|one| is_gap(one.kind))
}

fn rejection(record: &Record) -> String {
    let (code, reason) = record.rejection.clone().unwrap_or_default();
    escape(format!("{code}: {reason}").as_bytes())
}

impl KeptWork {
    /// Keeps what the record lists. Its commits, if there are any, are in packs of the session's.
    fn without_packs(record: &Record, files: CapturedFiles) -> Self {
        Self {
            commits: record.commits.clone(),
            gone: Unlanded::NONE,
            files,
            repositories: Vec::new(),
        }
    }

    /// Keeps the files, if they were collected.
    fn without_volume(record: &Record, files: CapturedFiles) -> Self {
        Self {
            commits: Unlanded::NONE,
            gone: record.commits.clone(),
            files,
            repositories: Vec::new(),
        }
    }

    /// Keeps the commits that the record lists.
    fn listed(session: &LockedSession, files: CapturedFiles, app: &App) -> Self {
        let commits = session.record().commits.clone();
        let mut tips: BTreeMap<RelPathBuf, Vec<ObjectId>> = BTreeMap::new();
        for tip in Pending::of(&commits, Lost::Take).tips {
            tips.entry(tip.repository).or_default().push(tip.id);
        }
        let known = KnownObjects::of(session.dir(), session.record(), app);
        let repositories = tips.into_iter().map(|(inside, tips)| RepositoryPack {
            known: known.refs(&inside),
            inside,
            tips,
        });
        Self {
            repositories: repositories.collect(),
            commits,
            gone: Unlanded::NONE,
            files,
        }
    }

    /// Keeps the commits that git has found in the volume.
    fn found(session: &LockedSession, files: CapturedFiles, all: &[CopyRefs], app: &App) -> Self {
        let known = KnownObjects::of(session.dir(), session.record(), app);
        let mut found = NewRefs::default();
        let mut repositories = Vec::new();
        for refs in all {
            let pack = pack_of(refs, &known);
            refs.add_to(&mut found, &|id| !pack.tips.contains(id));
            if !pack.tips.is_empty() {
                repositories.push(pack);
            }
        }
        Self {
            commits: found.into(),
            gone: Unlanded::NONE,
            files,
            repositories,
        }
    }
}

/// Returns what is packed of a repository: what the user's lacks.
fn pack_of(refs: &CopyRefs, known: &KnownObjects<'_>) -> RepositoryPack {
    let inside = refs.repository.clone();
    let mut tips = refs.ids();
    let having = known.having(&inside, &tips);
    tips.retain(|id| !having.contains(id));
    RepositoryPack {
        known: known.refs(&inside),
        inside,
        tips,
    }
}

/// What packs commits.
struct Tools {
    detected: Detected,
    base: Pinned,
}

impl Tools {
    fn of(record: &Record, app: &App) -> Result<Self, Failure> {
        let detected = app.engine_of(record)?;
        let base = image::ensure(app, &detected, "base")?.pinned;
        Ok(Self { detected, base })
    }
}

impl From<ListError> for Failure {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Git(error) => error.into(),
            error @ (ListError::Cut | ListError::Stream(_) | ListError::TooLarge) => {
                Self::new(FailureKind::Transfer, error)
            }
        }
    }
}
