//! Lets the command start: the record says so first.

use lazaret_runtime::ContainerLease;

use crate::context::SessionContext;
use crate::event::Event;
use crate::lifecycle::fill::FilledContainer;
use crate::lifecycle::guard::Guarded;
use crate::lifecycle::setup::Launched;
use crate::porter::credentials::CredentialLender;
use crate::spec::RunSpec;
use crate::store::deferred_sync::DeferredSync;
use crate::store::run_log::{LogFile, next_run};
use crate::store::{LockedSession, StoreError};

/// A session whose command may have started.
#[derive(Debug)]
#[must_use = "its container runs: stop it"]
pub struct Running {
    pub(super) session: LockedSession,
    pub(super) container: FilledContainer,
    pub(super) lender: Option<CredentialLender>,
    /// The gateway's container: removed with this value, unless the session is stopped.
    pub(super) gateway: Option<ContainerLease>,
    pub(super) log: LogFile,
    /// What is synced while the command runs.
    pub(super) deferred: DeferredSync,
}

impl Guarded {
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
        let log = LogFile::create(&next_run(&self.setup.dir())?)?;
        self.setup
            .update(|record| record.run_again(spec.record(cx)))?;
        let Launched {
            session,
            gateway,
            deferred,
        } = self.setup.launch();
        Ok(Running {
            session,
            container: self.container,
            lender: self.lender,
            gateway,
            log,
            deferred,
        })
    }
}
