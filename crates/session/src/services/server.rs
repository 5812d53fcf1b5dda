//! `Server`: the container and the process of a service, from its start to its end.

use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::{Placement, exit};
use lazaret_runtime::{
    ContainerLease, EngineError, ExecSpec, Process, ProcessControl, Spawner, Stdin, WhenAbandoned,
};

use super::error::ServiceError;
use super::unit::Unit;
use crate::cancel::CancelLevel;
use crate::context::SessionContext;
use crate::engine::attempt::copy;
use crate::lifecycle::verify::prove;

/// From the stop signal to SIGKILL.
const GRACE: Duration = Duration::from_secs(15);

/// How long a log may take to be complete after its service has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How soon to look again whether the user insists on an end.
const LOOK: Duration = Duration::from_millis(100);

/// A service's process in its container. Dropping it removes the container.
pub(super) struct Server {
    control: Arc<dyn ProcessControl>,
    spawner: Spawner,
    placement: Placement,
    /// After the spawner, whose hang-up asks everything in it to end.
    container: ContainerLease,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("container", &self.container)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Makes the container, proves every control of it, and starts the process. `beside` is where
    /// the controls of the command's container were proven.
    ///
    /// # Errors
    /// The engine's, or a control that is not in force (P12): nothing of the service ran then.
    pub(super) fn start(
        cx: &SessionContext<'_>,
        unit: &Arc<Unit>,
        beside: Placement,
    ) -> Result<Self, ServiceError> {
        cx.cancel.check()?;
        let name = &unit.spec.spec().name;
        // One that is there ran before, or was left by a launcher that died.
        cx.engine.remove_container(name)?;
        let container = ContainerLease::create(&cx.engine, &unit.spec)?;
        let _killed = cx.kill_on_cancel(name);
        cx.engine.start_container(name)?;
        let spawner = cx.spawner(name);
        let probe = ExecSpec::new(unit.spec.probe_argv(), Stdin::Closed);
        let placement = prove(cx.spawn_first(&spawner, &probe)?, &unit.spec, cx.events)?;
        if !placement.shares_network(&beside) {
            let name = unit.service.name.clone();
            return Err(ServiceError::OtherNetwork { name });
        }
        let number = unit.begin_process();
        let Process {
            stdout,
            stderr,
            control,
            ..
        } = spawner.spawn(&exec(unit, placement, &unit.service.argv))?;
        let (open, closed) = mpsc::channel::<()>();
        for stream in [stdout, stderr] {
            let (unit, open) = (Arc::clone(unit), open.clone());
            thread::spawn(move || {
                copy(stream, Box::new(move |chunk| unit.log.append(chunk)));
                drop(open);
            });
        }
        drop(open);
        let control: Arc<dyn ProcessControl> = control.into();
        {
            let (unit, control) = (Arc::clone(unit), Arc::clone(&control));
            thread::spawn(move || {
                // One that can't be followed any more is as good as dead.
                let code = control.wait().unwrap_or(i32::from(exit::FAILED));
                // What it said last is in the log by then, unless what it left behind still writes.
                let _closed = closed.recv_timeout(LAST_WORDS);
                unit.process_ended(number, code);
            });
        }
        Ok(Self {
            control,
            spawner,
            placement,
            container,
        })
    }

    /// Starts another process in the container.
    ///
    /// # Errors
    /// The engine's.
    pub(super) fn spawn(&self, unit: &Unit, argv: &[String]) -> Result<Process, EngineError> {
        self.spawner.spawn(&exec(unit, self.placement, argv))
    }

    /// Ends it in good order: its stop signal, 15 s, then its container is removed with what is
    /// left in it.
    pub(super) fn stop(self, cx: &SessionContext<'_>, unit: &Unit) {
        let kill_at = Instant::now() + GRACE;
        // One that has ended hears nothing.
        drop((self.control).signal(unit.service.stop_signal.number()));
        while unit.await_end(LOOK).is_none()
            && Instant::now() < kill_at
            && cx.cancel.level() != Some(CancelLevel::Insisted)
        {}
        // A failure is among the unremoved.
        drop(self.container.release());
    }
}

/// A process of the service, held as the command is.
fn exec(unit: &Unit, placement: Placement, argv: &[String]) -> ExecSpec {
    ExecSpec {
        env: unit.service.env.clone(),
        when_abandoned: WhenAbandoned::End,
        ..ExecSpec::new(unit.spec.exec_argv(placement, argv, None), Stdin::Closed)
    }
}
