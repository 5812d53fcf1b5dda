//! Proves the controls of a container from inside, before anything else may run there (P12).

use std::io::Read as _;

use lazaret_runtime::{
    Engine, EngineError, ExecSpec, HardenedSpec, ProbeReport, Process, REPORT_LIMIT, Stdin,
};
use lazaret_tree::escape;

use super::porter::conversation::{finish, porter_error, stderr_of};
use super::porter::porter;
use crate::failure::Failure;
use crate::ui::Ui;

/// Runs the probe and refuses to go on unless every control is shown to be in force.
///
/// # Errors
/// The engine's, or a control that is not in force.
pub(super) fn prove(engine: &dyn Engine, spec: &HardenedSpec, ui: &Ui) -> Result<(), Failure> {
    let exec = ExecSpec {
        argv: spec.probe_argv(),
        ..porter(&[], Stdin::Closed)
    };
    let process = engine.exec(&spec.spec().name, &exec)?;
    let (code, report, complaints) = finish(process)?;
    if report.is_empty() {
        return Err(porter_error("probe", code, &complaints));
    }
    believe(&report, spec, ui)?;
    // A whole report ends with 0, whatever it says.
    if code != 0 {
        return Err(porter_error("probe", code, &complaints));
    }
    Ok(())
}

/// Refuses a report unless it shows every control to be in force.
///
/// # Errors
/// Names the first control that is not.
pub(super) fn believe(report: &[u8], spec: &HardenedSpec, ui: &Ui) -> Result<(), Failure> {
    let proven = ProbeReport::parse(report, &spec.expected())?;
    for proven in proven.controls() {
        let detail = escape(proven.detail.as_bytes());
        ui.detail(&format!("{} {:?} {detail}", proven.control, proven.proof));
    }
    Ok(())
}

/// Reads the report of a process that goes on after it, as far as it comes: until it is told
/// to go on, it says nothing else.
///
/// # Errors
/// When the process ends without a word, or is lost.
pub(super) fn report_of(process: &mut Process) -> Result<Vec<u8>, Failure> {
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
        return Err(porter_error("probe", process.control.wait()?, &said));
    }
    Ok(report)
}
