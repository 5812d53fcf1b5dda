//! Protects what the command may only read, and hands out its credentials.

use lazaret_tree::PathError;

use crate::context::SessionContext;
use crate::home::{self, HomeError};
use crate::lifecycle::fill::{Filled, FilledContainer};
use crate::lifecycle::protect::verify_protection;
use crate::lifecycle::protection_plan::ProtectError;
use crate::lifecycle::setup::SetupGuard;
use crate::porter::credentials::{CredentialLender, LendError};
use crate::services::StartedServices;
use crate::spec::RunSpec;
use crate::store::handed_out::HandedOutFile;

/// Why a command may not start on a volume that is filled.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// Something is not protected.
    #[error(transparent)]
    Protect(#[from] ProtectError),
    /// The home is not as it should be.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A file could not be lent.
    #[error(transparent)]
    Lend(#[from] LendError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
}

/// A session whose command may start.
#[derive(Debug)]
#[must_use = "dropping it removes what was made"]
pub struct Guarded {
    /// Before the command's container, which no engine removes while others are in its network.
    pub(super) services: StartedServices,
    pub(super) setup: SetupGuard,
    pub(super) container: FilledContainer,
    /// `None` without credentials.
    pub(super) lender: Option<CredentialLender>,
}

impl Filled<'_> {
    /// Makes protected paths root's, has everything tried against that from inside, puts back
    /// what is not the user's in a kept home, and puts the credentials into it.
    ///
    /// # Errors
    /// Names what was not refused, or what could not be tried (P12).
    pub(super) fn guard(
        self,
        cx: &SessionContext<'_>,
        spec: &RunSpec<'_>,
    ) -> Result<Guarded, GuardError> {
        let Self {
            mut setup,
            container,
            protection,
            protector,
        } = self;
        match (protection, protector) {
            (Some(plan), protector) => {
                let protector = match protector {
                    Some(protector) => protector,
                    None => setup.protector(cx, &spec.porter)?,
                };
                plan.report(cx.events);
                cx.phase("protect", |_| {
                    protector.protect(&plan)?;
                    protector.end()?;
                    verify_protection(cx, setup.record(), &plan, &spec.scope)
                })?;
            }
            (None, Some(protector)) => protector.end()?,
            (None, None) => {}
        }
        if let Some(home) = &spec.home {
            home::prepare(cx, &container.agent, &setup.dir(), home, &spec.credentials)?;
        }
        // By what it is known again, before the command has it.
        let ledger = HandedOutFile::of(&setup.dir());
        let routes = (spec.network.iter()).flat_map(|plan| &plan.order.routes);
        let placeholders = routes.map(|route| (route.name.as_str(), route.placeholder()));
        ledger.add(&spec.credentials, placeholders)?;
        let credentials = spec.credentials.clone();
        let lender = CredentialLender::open(cx, &container.agent, credentials, ledger)?;
        Ok(Guarded {
            services: StartedServices::default(),
            setup,
            container,
            lender,
        })
    }
}
