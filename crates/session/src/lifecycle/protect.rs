//! What a command may only read: made root's in the volume, and shown to be refused, before
//! the command starts; given back before the volume is brought up to date.
//!
//! The record says so before root owns anything, so the launcher that opens a volume later knows
//! whether there is something to give back. Giving back is idempotent.

use lazaret_image_builder::Pinned;
use lazaret_protocol::{Protection, Verb};
use lazaret_runtime::{ContainerLease, EngineError, ExecSpec, Process, Stdin};

use crate::context::{SessionContext, WORKSPACE};
use crate::engine::containers::guard_spec;
use crate::event::Event;
use crate::lifecycle::protection_plan::{ProtectError, ProtectionPlan};
use crate::porter::conversation::{PorterError, finish, porter_error};
use crate::porter::porter;
use crate::store::record::{Record, WriteScope};

/// The most broken attempts that a failure names.
const NAMED: usize = 5;

/// The container that makes entries of the volume root's, and gives them back.
#[derive(Debug)]
#[must_use = "dropping it removes the container"]
pub struct ProtectionContainer<'a> {
    cx: &'a SessionContext<'a>,
    lease: ContainerLease,
}

impl<'a> ProtectionContainer<'a> {
    /// Makes the container. `taken` sees what became of its creation.
    ///
    /// # Errors
    /// The engine's.
    pub fn start(
        cx: &'a SessionContext<'a>,
        record: &Record,
        image: &Pinned,
        taken: impl FnOnce(Result<ContainerLease, EngineError>) -> Result<ContainerLease, EngineError>,
    ) -> Result<Self, ProtectError> {
        cx.cancel.check()?;
        // One that is there was left by a dead launcher: this one holds the session or the pause
        // lock.
        cx.engine.remove_container(&record.guard())?;
        let (name, volume) = (record.guard(), record.volume());
        let spec = guard_spec(&record.owner(), name, volume, &cx.info, image)?;
        let lease = taken(ContainerLease::create(&cx.engine, &spec))?;
        cx.engine.start_container(lease.name())?;
        Ok(Self { cx, lease })
    }

    /// Makes everything root's that is to be.
    ///
    /// # Errors
    /// The engine's, or the porter's: then nothing may start.
    pub fn protect(&self, plan: &ProtectionPlan) -> Result<(), ProtectError> {
        let root = WORKSPACE.to_owned();
        self.tell(&Verb::Protect { root }, Some(&plan.protection))
    }

    /// Gives everything back to the agent.
    ///
    /// # Errors
    /// The engine's, or the porter's.
    pub fn release(&self) -> Result<(), ProtectError> {
        let root = WORKSPACE.to_owned();
        self.tell(&Verb::Release { root }, None)
    }

    /// Removes the container.
    ///
    /// # Errors
    /// The engine's.
    pub fn end(self) -> Result<(), ProtectError> {
        Ok(self.lease.release()?)
    }

    fn tell(&self, verb: &Verb, list: Option<&Protection>) -> Result<(), ProtectError> {
        let stdin = match list {
            Some(_) => Stdin::Piped,
            None => Stdin::Closed,
        };
        let process = (self.cx.engine).exec(self.lease.name(), &porter(verb, stdin))?;
        let (code, _, stderr_tail) = send_list(process, list)?;
        match code {
            0 => Ok(()),
            code => Err(porter_error(verb.name(), code, &stderr_tail).into()),
        }
    }
}

/// Has everything tried, as the agent in its own container, that a command might.
///
/// # Errors
/// Names what was not refused, or what could not be tried (P12).
pub fn verify_protection(
    cx: &SessionContext<'_>,
    record: &Record,
    plan: &ProtectionPlan,
    bounds: &WriteScope,
) -> Result<(), ProtectError> {
    let root = WORKSPACE.to_owned();
    let spec = ExecSpec {
        workdir: Some(bounds.workdir()),
        ..porter(&Verb::VerifyProtection { root }, Stdin::Piped)
    };
    let process = cx.engine.exec(&record.agent(), &spec)?;
    let (code, report, stderr_tail) = send_list(process, Some(&plan.protection))?;
    if code != 0 {
        return Err(porter_error("sealed", code, &stderr_tail).into());
    }
    let report = String::from_utf8(report).map_err(|_| ProtectError::NoText)?;
    let mut lines: Vec<&str> = report.lines().collect();
    let end = format!("end {} 0", plan.protection.entries.len());
    match lines.pop() {
        Some(last) if last == end && lines.is_empty() => {
            let entries = plan.protection.entries.len();
            cx.events.event(Event::Protected { entries });
            Ok(())
        }
        Some(last) if last.starts_with("end ") && !lines.is_empty() => {
            let broken = lines.iter().filter_map(|line| line.strip_prefix("broken "));
            Err(ProtectError::NotInForce {
                tries: broken.take(NAMED).map(str::to_owned).collect(),
            })
        }
        _ => Err(porter_error("sealed", code, b"porter: the report is cut off").into()),
    }
}

/// Gives a porter its list and reads what it says.
fn send_list(
    mut process: Process,
    list: Option<&Protection>,
) -> Result<(i32, Vec<u8>, Vec<u8>), ProtectError> {
    let written = match (process.stdin.as_mut(), list) {
        (Some(stdin), Some(list)) => list.write_to(stdin),
        (_, None) => Ok(()),
        (None, Some(_)) => {
            return Err(PorterError::NoStdin {
                verb: "protect".to_owned(),
            }
            .into());
        }
    };
    // A porter that has ended says why.
    let said = finish(process)?;
    match written {
        Err(error) if said.0 == 0 => Err(PorterError::Stream(error).into()),
        _ => Ok(said),
    }
}
