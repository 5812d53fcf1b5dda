//! Lets the command start: the record says so first.

use std::sync::Arc;

use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::ContainerLease;
use lazaret_tree::PathError;

use crate::audit::Durability;
use crate::audit::event::AuditEvent;
use crate::context::SessionContext;
use crate::event::Event;
use crate::lifecycle::disk_limits::DiskLimits;
use crate::lifecycle::fill::FilledContainer;
use crate::lifecycle::guard::Guarded;
use crate::lifecycle::setup::Launched;
use crate::live::pause::Pauses;
use crate::porter::credentials::CredentialLender;
use crate::services::{ServiceError, StartedServices};
use crate::setup_steps::{CopyAge, SetupStepError, StepRunner};
use crate::spec::RunSpec;
use crate::store::deferred_sync::DeferredSync;
use crate::store::record::{CommandEnd, NetworkSummary};
use crate::store::run_log::{InputLog, LogFile, RunDir, RunSummary, next_run};
use crate::store::{LockedSession, SessionDir, StoreError};

/// A session whose command may have started.
#[derive(Debug)]
#[must_use = "its container runs: stop it"]
pub struct Running {
    /// Removed with this value, unless they are supervised.
    pub(super) services: StartedServices,
    pub(super) session: LockedSession,
    pub(super) container: FilledContainer,
    pub(super) lender: Option<CredentialLender>,
    /// The gateway's container: removed with this value, unless the session is stopped.
    pub(super) gateway: Option<ContainerLease>,
    pub(super) log: LogFile,
    pub(super) notes: RunNotes,
    pub(super) pauses: Arc<Pauses>,
    /// What is synced while the command runs.
    pub(super) deferred: DeferredSync,
}

/// What is noted of a run beside what it prints.
#[derive(Debug)]
pub(super) struct RunNotes {
    dir: RunDir,
    summary: RunSummary,
    /// What it is sent on stdin.
    pub(super) input: InputLog,
}

impl RunNotes {
    /// Writes down how the run ended.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn end(
        mut self,
        session: &SessionDir,
        stdin: CommandStdin,
        end: CommandEnd,
        network: Option<NetworkSummary>,
    ) -> Result<(), PathError> {
        self.summary.input_bytes = match stdin {
            CommandStdin::Kept => Some(self.input.bytes()),
            CommandStdin::Empty => None,
        };
        self.summary.end = Some(end);
        self.summary.network = network;
        self.summary.write(&self.dir)?;
        let run = self.summary.run;
        let ended = AuditEvent::End { run, end };
        session
            .audit_log()
            .append(session.id(), ended, Durability::Written)
    }
}

impl Guarded {
    /// Starts the services, and waits until they are ready.
    ///
    /// # Errors
    /// When one of them does not run.
    pub(super) fn serve(
        mut self,
        cx: &SessionContext<'_>,
        spec: &RunSpec<'_>,
    ) -> Result<Self, ServiceError> {
        self.services = StartedServices::start(
            cx,
            &self.setup.dir(),
            self.setup.record(),
            &spec.services,
            &spec.porter,
            self.container.pending.placement,
        )?;
        Ok(self)
    }

    /// Runs the setup steps that are due.
    ///
    /// # Errors
    /// When one of them fails.
    pub(super) fn set_up(
        mut self,
        cx: &SessionContext<'_>,
        spec: &RunSpec<'_>,
        disk_limits: Option<DiskLimits>,
    ) -> Result<Self, SetupStepError> {
        let network = self.container.network.as_ref();
        StepRunner {
            cx,
            spec,
            dir: &self.setup.dir(),
            record: self.setup.record(),
            disk_limits,
            agent: &self.container.agent,
            spawner: &self.container.spawner,
            placement: self.container.pending.placement,
            patterns: network.and_then(|network| network.patterns.as_ref()),
            lender: self.lender.as_ref(),
            services: &self.services,
            copy: match self.container.update {
                None => CopyAge::New,
                Some(_) => CopyAge::Kept,
            },
        }
        .run()?;
        Ok(self)
    }

    /// Marks the session as running, before the command gets its first instruction: the
    /// process that becomes it still waits.
    ///
    /// # Errors
    /// When the log or the record can't be written; the record is as it was before then.
    pub(super) fn launch(
        mut self,
        cx: &SessionContext<'_>,
        spec: &RunSpec<'_>,
    ) -> Result<Running, StoreError> {
        if let Some(update) = &self.container.update {
            cx.events.event(Event::Updated(update));
        }
        cx.events.event(Event::LeftOut(&self.container.skipped));
        let run_dir = next_run(&self.setup.dir())?;
        let log = LogFile::create(&run_dir.path)?;
        let input = InputLog::create(&run_dir, spec.log)?;
        let summary = RunSummary::begin(spec, run_dir.number);
        summary.write(&run_dir)?;
        let dir = self.setup.dir();
        let started = summary.audited(spec);
        dir.audit_log()
            .append(dir.id(), started, Durability::Written)?;
        self.setup
            .update(|record| record.run_again(spec.record(cx)))?;
        let Launched {
            session,
            gateway,
            deferred,
        } = self.setup.launch();
        let pausing = cx.info.capabilities.pausing;
        let pauses = Pauses::new(&cx.engine, pausing, session.record().agent());
        Ok(Running {
            pauses: Arc::new(pauses),
            services: self.services,
            session,
            container: self.container,
            lender: self.lender,
            gateway,
            log,
            notes: RunNotes {
                dir: run_dir,
                summary,
                input,
            },
            deferred,
        })
    }
}
