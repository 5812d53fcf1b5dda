//! Proves the controls of a container from inside, before anything else may run there (P12).

use std::io::Read as _;

use lazaret_protocol::{Placement, ProbeReport, REPORT_LIMIT};
use lazaret_runtime::{Engine, EngineError, ExecSpec, HardenedSpec, ProbeFailure, Process, Stdin};

use crate::event::{Event, EventSink};
use crate::porter::conversation::{PorterError, finish, porter_error, stderr_of};

/// Why the controls of a container are not known to be in force.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// The report shows a control that is not in force, or is none.
    #[error(transparent)]
    Probe(#[from] ProbeFailure),
}

/// Runs the probe and refuses to go on unless every control is shown to be in force.
///
/// # Errors
/// The engine's, or a control that is not in force.
pub(crate) fn verify_controls(
    engine: &dyn Engine,
    spec: &HardenedSpec,
    events: &dyn EventSink,
) -> Result<(), VerifyError> {
    let exec = ExecSpec::new(spec.probe_argv(), Stdin::Closed);
    let process = engine.exec(&spec.spec().name, &exec)?;
    prove(process, spec, events).map(drop)
}

/// As [`verify_controls`], by a process of [`HardenedSpec::probe_argv`] that was started. Returns
/// where the proof was made.
///
/// # Errors
/// As [`verify_controls`].
pub(crate) fn prove(
    process: Process,
    spec: &HardenedSpec,
    events: &dyn EventSink,
) -> Result<Placement, VerifyError> {
    let (code, report, stderr_tail) = finish(process)?;
    if report.is_empty() {
        return Err(porter_error("probe", code, &stderr_tail).into());
    }
    let placement = accept_report(&report, spec, events)?;
    // A whole report ends with 0, whatever it says.
    if code != 0 {
        return Err(porter_error("probe", code, &stderr_tail).into());
    }
    Ok(placement)
}

/// Refuses a report unless it shows every control to be in force. Returns where it was made.
///
/// # Errors
/// Names the first control that is not.
pub(crate) fn accept_report(
    report: &[u8],
    spec: &HardenedSpec,
    events: &dyn EventSink,
) -> Result<Placement, VerifyError> {
    let proven = spec.judge(report)?;
    for proven in proven.controls() {
        events.event(Event::ControlProven(proven));
    }
    Ok(proven.placement())
}

/// Reads the report of a process that goes on after it, as far as it comes: until it is told
/// to go on, it says nothing else.
///
/// # Errors
/// When the process ends without a word, or is lost.
pub(crate) fn report_of(process: &mut Process) -> Result<Vec<u8>, VerifyError> {
    let mut report = Vec::new();
    let mut piece = [0; 4096];
    while !ProbeReport::is_whole(&report) && report.len() as u64 <= REPORT_LIMIT {
        let length = (process.stdout.read(&mut piece)).map_err(|source| EngineError::Stream {
            verb: "exec",
            source,
        })?;
        if length == 0 {
            break;
        }
        report.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
    if report.is_empty() {
        let said = stderr_of(&mut process.stderr);
        return Err(porter_error("probe", process.control.wait()?, &said).into());
    }
    Ok(report)
}
