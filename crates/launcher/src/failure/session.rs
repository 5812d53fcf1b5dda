//! Words the errors of a session: which kind each is, and what to do.

use lazaret_runtime::SessionId;
use lazaret_tree::{SizedFile, escape};

use super::{Failure, FailureKind};
use crate::ui::{bytes, count};
use lazaret_gate::format::show_command;
use lazaret_session::cancel::Interrupted;
use lazaret_session::commits::packer::PackError;
use lazaret_session::engine::inventory::SweepError;
use lazaret_session::engine::lasting_volume::LastingVolumeError;
use lazaret_session::engine::resources::ResourceError;
use lazaret_session::home::HomeError;
use lazaret_session::home::reset::ResetError;
use lazaret_session::keeper::connection::KeeperError;
use lazaret_session::keeper::message::RefusalCode;
use lazaret_session::lifecycle::collect::CollectError;
use lazaret_session::lifecycle::create::CreateError;
use lazaret_session::lifecycle::disk_limits::{DiskExcess, ExceededBy};
use lazaret_session::lifecycle::file_limit::{SizeError, TooLarge};
use lazaret_session::lifecycle::fill::FillError;
use lazaret_session::lifecycle::guard::GuardError;
use lazaret_session::lifecycle::open::OpenError;
use lazaret_session::lifecycle::outcome::RunError;
use lazaret_session::lifecycle::protection_plan::ProtectError;
use lazaret_session::lifecycle::prune::PruneError;
use lazaret_session::lifecycle::recover::ResumeError;
use lazaret_session::lifecycle::repair::RepairError;
use lazaret_session::lifecycle::standby::ExporterError;
use lazaret_session::lifecycle::stop::StopError;
use lazaret_session::lifecycle::update::UpdateError;
use lazaret_session::lifecycle::verify::VerifyError;
use lazaret_session::live::remote_pause::RemotePauseError;
use lazaret_session::live::view::LiveViewError;
use lazaret_session::network::{BindError, GatewayError};
use lazaret_session::pool::PoolError;
use lazaret_session::porter::conversation::PorterError;
use lazaret_session::porter::credentials::LendError;
use lazaret_session::porter::export::ExportError;
use lazaret_session::services::ServiceError;
use lazaret_session::settle::SettleError;
use lazaret_session::settle::workspace_lock::WorkspaceLockError;
use lazaret_session::setup_steps::SetupStepError;
use lazaret_session::store::history::HistoryError;
use lazaret_session::store::record::Phase;
use lazaret_session::store::sync_state::SyncStateError;
use lazaret_session::volumes::VolumeError;

/// Words an error whose variants carry those of lower steps: each by its own words. What has
/// words of its own follows.
macro_rules! words {
    ($error:ident: $($carried:ident)|+ $(; $($own:tt)+)?) => {
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                match error {
                    $($error::$carried(error) => error.into(),)+
                    $($($own)+)?
                }
            }
        }
    };
}

words!(SweepError: Engine | Store | Io);
words!(VerifyError: Engine | Porter | Probe);
words!(HistoryError: Io | DecisionLog | Changes | Store);
words!(ExporterError: Engine | Unenforceable);
words!(CreateError: Pool | Size | Resources | Home | Unenforceable | Engine | Store | Sweep | Volume);
words!(VolumeError: Interrupted | Engine | Unenforceable | Lasting | Porter | Io | Pack;
    error @ (VolumeError::Receipt(_) | VolumeError::OtherReceipt) => {
        Self::new(FailureKind::Transfer, error)
    },
    error @ VolumeError::ExtraChanged { .. } => Self::new(FailureKind::Workspace, error)
        .hinted("Try again when nothing writes to it."),
    error @ VolumeError::Panicked => Self::new(FailureKind::Internal, error),
    error @ VolumeError::Unfilled { .. } => {
        let VolumeError::Unfilled { id } = &error else { unreachable!("it was matched") };
        let hint = format!("Fill it: `lazaret volume fill {id} --from PROFILE -- CMD …`.");
        Self::new(FailureKind::Refused, error).hinted(hint)
    },
    error @ VolumeError::Busy { .. } => Self::new(FailureKind::Refused, error)
        .hinted("Wait until that has ended."),
    error @ VolumeError::InUse { .. } => Self::new(FailureKind::Refused, error)
        .hinted("`lazaret ls` lists the sessions; stop those that use it."),
);
words!(CollectError: Exporter | Export | Store);
words!(StopError: Engine | Sweep | Store);
words!(PoolError: Interrupted | Resources | Unenforceable | Store | Io | Engine | Sweep);
words!(ResumeError: Interrupted | Engine | Sweep | Store | Stop | Collect | DecisionLog | Recover);
words!(RepairError: Io | DecisionLog | Recover | History);
words!(LiveViewError: Engine | Unenforceable | Interrupted | Sweep | Store | Io | State
    | Quarantine | Export | Pause);
words!(SizeError: Walk | TooLarge);
words!(SettleError: Lock | Apply | Store | Io);

words!(WorkspaceLockError: Interrupted | Store;
    error @ WorkspaceLockError::Busy => Self::new(FailureKind::Refused, error)
        .hinted("Try again when it has finished; the changes are kept."),
    WorkspaceLockError::HalfChanged { workspace, id, what } => {
        let hint = recover_hint(&id);
        let error = WorkspaceLockError::HalfChanged { workspace, id, what };
        Self::new(FailureKind::Refused, error).hinted(hint)
    }
);

words!(PorterError: Engine | Interrupted;
    error @ (PorterError::Stream(_) | PorterError::Failed { .. }) => {
        Self::new(FailureKind::Transfer, error)
    }
    error @ PorterError::NoStdin { .. } => Self::new(FailureKind::Internal, error),
);

words!(ResourceError: Interrupted | Engine | Unenforceable;
    error @ ResourceError::Panicked => Self::new(FailureKind::Internal, error),
);

words!(SyncStateError: Io | History;
    error @ SyncStateError::Damaged { .. } => Self::new(FailureKind::State, error),
);

words!(ExportError: Porter | State | Quarantine | Io | Interrupted;
    error @ ExportError::Survey(_) => Self::new(FailureKind::Transfer, error),
    error @ ExportError::BrokeOff(_) => Self::new(FailureKind::Engine, error),
);

words!(PackError: Engine | Unenforceable | Interrupted | Verify;
    error @ PackError::NoStdin => Self::new(FailureKind::Internal, error),
    error @ PackError::Stream(_) => Self::new(FailureKind::Engine, error),
    PackError::TooLarge { limit } => Self::message(
        FailureKind::Transfer,
        format!("cannot pack the commits: the pack is larger than {}", bytes(limit)),
    )
    .hinted(
        "Nothing is lost: the commits stay in the copy. Write them as patches there \
         (`git format-patch`), or rewrite them without their large files.",
    ),
    error @ PackError::TimedOut { .. } => Self::new(FailureKind::Transfer, error)
        .hinted("Nothing is lost: the commits stay in the copy. Run `git gc` there, and try again."),
    error @ PackError::Git { .. } => Self::new(FailureKind::Transfer, error).hinted(
        "Nothing is lost: the commits stay in the copy. See there what `git fsck` says.",
    ),
);

words!(RemotePauseError: Keeper | Interrupted;
    error @ RemotePauseError::NoKeeper(_) => Self::new(FailureKind::WrongState, error)
        .hinted("Only a session of `lazaret start` or `run` can be reached from elsewhere."),
);

impl From<KeeperError> for Failure {
    fn from(error: KeeperError) -> Self {
        match (&error, error.refusal()) {
            (_, Some(RefusalCode::Taken)) => Self::new(FailureKind::Refused, error).hinted(
                "Wait for it, or end it: only one at a time can make the command stand still.",
            ),
            (_, Some(RefusalCode::Engine)) => Self::new(FailureKind::Engine, error),
            (_, Some(RefusalCode::Ending)) => Self::new(FailureKind::WrongState, error),
            (_, Some(_)) => Self::new(FailureKind::Refused, error),
            (KeeperError::Silent, None) => Self::new(FailureKind::State, error).hinted(
                "Its process was stopped, or hangs: end that process, then `lazaret recover`.",
            ),
            (_, None) => Self::new(FailureKind::State, error),
        }
    }
}

words!(LendError: Engine;
    LendError::Written(error) => Self::new(FailureKind::Engine, error),
    error @ LendError::NoStdin => Self::new(FailureKind::Internal, error),
    LendError::NotReady(error) => {
        let kind = unready(error.is_interrupted());
        Self::new(kind, LendError::NotReady(error))
    }
);

words!(GatewayError: Engine | DecisionLog | Verify;
    error @ GatewayError::NoStdin { .. } => Self::new(FailureKind::Internal, error),
    error @ GatewayError::NoOrder(_) => Self::new(FailureKind::Engine, error),
    GatewayError::NotReady { verb, source } => {
        let kind = unready(source.is_interrupted());
        Self::new(kind, GatewayError::NotReady { verb, source })
    }
);

fn unready(is_interrupted: bool) -> FailureKind {
    match is_interrupted {
        true => FailureKind::Interrupted,
        false => FailureKind::Engine,
    }
}

words!(UpdateError: Engine | Interrupted | Porter | State | Io | Walk | Pack | Wire | Volume
    | TooLarge | Protect;
    error @ UpdateError::Unbelievable(_) => Self::new(FailureKind::Refused, error)
        .hinted("Remove the session, or raise the limits of the profile's gate."),
    error @ UpdateError::OtherReceipt => Self::new(FailureKind::Transfer, error),
    error @ UpdateError::Protected { .. } => Self::new(FailureKind::Refused, error).hinted(
        "Nothing was sent: what is protected goes in when the command has ended, with the next \
         run or `sync`.",
    ),
    error @ UpdateError::Panicked => Self::new(FailureKind::Internal, error),
);

words!(GuardError: Protect | Home | Lend | Io);

words!(HomeError: Interrupted | Engine | Unenforceable | Io;
    HomeError::Porter(error @ PorterError::Failed { .. }) => Self::from(error).hinted(
        "`lazaret home reset NAME` makes a fresh home; history in it is lost.",
    ),
    HomeError::Porter(error) => error.into(),
    error @ HomeError::Entries(_) => Self::new(FailureKind::Transfer, error),
);

words!(ResetError: Engine | Io);

words!(FillError: Verify | Gateway | Porter | Update | Pack | Volume | Protect | State | Io
    | Interrupted;
    FillError::Manifest(error) => Self::new(FailureKind::Internal, error),
    error @ (FillError::Receipt(_) | FillError::OtherReceipt) => {
        Self::new(FailureKind::Transfer, error)
    }
    error @ FillError::Panicked => Self::new(FailureKind::Internal, error),
);

words!(LastingVolumeError: Engine | Unenforceable | Porter | Io;
    error @ LastingVolumeError::Foreign { .. } => Self::new(FailureKind::Engine, error)
        .hinted("Take another name for the session."),
);

words!(ServiceError: Interrupted | Engine | Unenforceable | Volume | Verify | Porter | Io;
    error @ ServiceError::Panicked => Self::new(FailureKind::Internal, error),
    error @ ServiceError::OtherNetwork { .. } => Self::new(FailureKind::Engine, error),
    error @ (ServiceError::Ended { .. } | ServiceError::NotReady { .. }) => {
        let text = match error.log() {
            [] => format!("{error}; its log is empty"),
            lines => format!("{error}; its log ends with:\n{}", lines.join("\n")),
        };
        Self::message(FailureKind::Service, text)
            .hinted("The command did not start. `lazaret profile show` lists the services.")
    }
);

words!(SetupStepError: Interrupted | Engine | Io;
    error @ SetupStepError::NoService { .. } => Self::new(FailureKind::Profile, error),
    SetupStepError::Failed { number, argv, code, log } => {
        let text = format!("setup step {number} ended with exit code {code}: {}", show_command(&argv));
        setup_failed(&text, &log)
    }
    SetupStepError::TookTooLong { number, argv, within, log } => {
        let text = format!(
            "setup step {number} took longer than {} s: {}", within.as_secs(), show_command(&argv)
        );
        setup_failed(&text, &log)
    }
    SetupStepError::DiskFull { number, argv, excess } => {
        let (held, limit, key) = in_words(excess);
        let text = format!(
            "setup step {number} was ended: the session holds {held}, and `{key}` allows {limit}: {}",
            show_command(&argv)
        );
        Self::message(FailureKind::Service, text)
            .hinted(format!("The command did not start. Set `{key}` in the profile."))
    }
);

/// Returns what a session holds and may hold, and by which key of a profile.
fn in_words(excess: DiskExcess) -> (String, String, &'static str) {
    let DiskExcess { used, limits, by } = excess;
    let files = |inodes| format!("{} files", count(inodes));
    match by {
        ExceededBy::Bytes => (bytes(used.bytes), bytes(limits.bytes), "limits.disk"),
        ExceededBy::Inodes => (files(used.inodes), files(limits.inodes), "limits.inodes"),
    }
}

fn setup_failed(text: &str, log: &[String]) -> Failure {
    let text = match log {
        [] => format!("{text}; it printed nothing"),
        lines => format!("{text}; its log ends with:\n{}", lines.join("\n")),
    };
    Failure::message(FailureKind::Service, text)
        .hinted("The command did not start. `lazaret profile show` lists the steps.")
}

words!(RunError: Interrupted | Create | Fill | Guard | Service | Setup | Store | Io;
    RunError::Unreachable { id, source } => Self::new(FailureKind::State, source)
        .context("clients can't reach the session, so its command does not start")
        .hinted(nothing_is_lost(&id)),
    RunError::Lost { id, source } => Self::new(FailureKind::Engine, source)
        .context("lost sight of the command")
        .hinted(format!(
            "Its changes are in the volume: `lazaret recover {id}` collects them."
        )),
    RunError::NotStopped { id, source } => Self::from(source).hinted(nothing_is_lost(&id)),
    RunError::NotCollected { id, source } => Self::from(source).hinted(nothing_is_lost(&id)),
    RunError::Insisted { id } => Self::from(Interrupted).hinted(nothing_is_lost(&id)),
);

fn nothing_is_lost(id: &SessionId) -> String {
    format!("Nothing is lost: `lazaret recover {id}` goes on from here.")
}

words!(PruneError: Store | Engine | Sweep | History | Capture;
    PruneError::Judge { id, source } => {
        Self::from(*source).context(format!("cannot judge session {id}"))
    }
    PruneError::Remove { session, source } => {
        Self::from(source).context(format!("cannot remove all of session {session}"))
    }
);

words!(OpenError: Engine | Sweep;
    error => {
        let hint = match &error {
            OpenError::OtherEngine { .. } => {
                "Leave --engine out, or take another name.".to_owned()
            }
            OpenError::VolumeGone { id } => format!(
                "Settle them first: `lazaret apply {id}`, or `lazaret discard {id}`."
            ),
            // It holds changes: removing it is no way out.
            OpenError::ReplacedWorkspace {
                id,
                workspace,
                phase: Phase::Collected,
            } => format!(
                "Go on with this directory: `lazaret apply {id} --workspace {}`; or take another \
                 name.",
                workspace.display()
            ),
            OpenError::ReplacedWorkspace { id, .. } | OpenError::OtherWorkspace { id, .. } => {
                format!("Take another name, or remove that session with `lazaret rm {id}`.")
            }
            OpenError::Engine(_) | OpenError::Sweep(_) => String::new(),
        };
        Self::new(FailureKind::Refused, error).hinted(hint)
    }
);

words!(ProtectError: Engine | Interrupted | Unenforceable | Porter;
    error @ ProtectError::BadPath { .. } => Self::new(FailureKind::Profile, error),
    error @ ProtectError::NoText => Self::new(FailureKind::Internal, error),
    error @ ProtectError::BehindLink { .. } => Self::new(FailureKind::Refused, error)
        .hinted("Name it where it lies, not through a link."),
    error @ ProtectError::LeadsOut { .. } => Self::new(FailureKind::Refused, error).hinted(
        "Protect what it leads to as well, or leave the link out of `workspace.protect`.",
    ),
    ProtectError::Changed { path, id } => {
        let hint = format!(
            "Settle the changes first (`lazaret apply {id}`, `lazaret discard {id}`), or take \
             another name."
        );
        Self::new(FailureKind::Refused, ProtectError::Changed { path, id }).hinted(hint)
    }
    error @ ProtectError::LeftOut { .. } => Self::new(FailureKind::Refused, error).hinted(
        "See with `--dry-run` why; a line of `.lazaretignore` such as `!/groups/` takes it in.",
    ),
    error @ ProtectError::NotInForce { .. } => Self::new(FailureKind::Engine, error).hinted(
        "The command is not started. The engine's storage may not keep owners: try another \
         engine or storage driver.",
    ),
);

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        Self::new(FailureKind::Refused, error)
            .hinted("Leave the host's port out to have one that is free.")
    }
}

impl From<TooLarge> for Failure {
    fn from(error: TooLarge) -> Self {
        const MOST_NAMES: usize = 5;
        let name = |file: &SizedFile| escape(file.path.as_str().as_bytes());
        let TooLarge { limit, files } = &error;
        let named = files.iter().take(MOST_NAMES);
        let mut names: Vec<String> = named
            .map(|file| format!("{} ({})", name(file), bytes(file.bytes)))
            .collect();
        if let Some(more) = files.len().checked_sub(MOST_NAMES).filter(|more| *more > 0) {
            names.push(format!("and {} more", count(more as u64)));
        }
        let text = format!(
            "cannot copy in {}: the limit for one file is {}",
            names.join(", "),
            bytes(limit.bytes())
        );
        let path = files.first().map(name).unwrap_or_default();
        Self::message(FailureKind::Workspace, text)
            .hinted(format!(
                "Leave it out: add the line /{path} to .lazaretignore."
            ))
            .hinted("Or raise the limit in the profile: `gate.max_bytes = \"16g\"`.")
    }
}

/// Says how to finish an apply, an undo or a redo that was cut off.
pub(crate) fn recover_hint(id: &SessionId) -> String {
    format!("Recover the session first: `lazaret recover {id}`.")
}

/// Says what can be done with commits that stay in a copy.
pub(crate) fn commits_hint(id: &SessionId) -> String {
    format!(
        "Commits and stashes stay in the copy: `lazaret commits {id}` shows them, `lazaret commits \
         land {id}` brings them into your repository, `lazaret discard {id}` throws them away."
    )
}
