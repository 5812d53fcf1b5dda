//! Scenarios that may fail once and pass when they are run again, each with its reason.

/// A scenario that is known to be flaky.
#[derive(Debug)]
pub(crate) struct Flaky {
    pub(crate) scenario: &'static str,
    /// What makes it fail, and why that is no fault of lazaret's or of the scenario's.
    pub(crate) reason: &'static str,
}

/// Every other scenario that fails once fails the run.
pub(crate) const KNOWN: &[Flaky] = &[];

/// Returns why a scenario may be flaky.
pub(crate) fn reason(scenario: &str) -> Option<&'static str> {
    let known = KNOWN.iter().find(|flaky| flaky.scenario == scenario);
    known.map(|flaky| flaky.reason)
}
