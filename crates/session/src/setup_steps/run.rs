//! Runs the setup steps that are due.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use lazaret_egress::Patterns;
use lazaret_image_builder::Pinned;
use lazaret_protocol::Placement;
use lazaret_runtime::{
    EngineError, ExecSpec, HardenedSpec, Process, Spawner, Stdin, WhenAbandoned,
};
use lazaret_tree::PathError;

use super::disk::StepDiskWatch;
use super::done::{DoneStep, DoneSteps};
use super::{Repeat, SetupStep, SetupStepError, StepPlace};
use crate::cancel::{Cancel, Interrupted};
use crate::context::SessionContext;
use crate::engine::attempt::{Attempt, Streams, run_to_end};
use crate::event::Event;
use crate::lifecycle::disk_limits::{DiskExcess, DiskLimits};
use crate::lifecycle::latch::Latch;
use crate::lifecycle::supervise::Output as _;
use crate::output::relay::CommandOutputSink;
use crate::porter::credentials::CredentialLender;
use crate::services::{RunningService, StartedServices};
use crate::spec::RunSpec;
use crate::store::SessionDir;
use crate::store::file::{private_dir, remove_dir};
use crate::store::record::Record;
use crate::store::run_log::{LogFile, last_lines, setup_dir};

/// How many lines of a log say why a step failed.
const LAST_LINES: usize = 20;

/// Where setup steps run, and what is known of them.
#[derive(Debug)]
pub(crate) struct StepRunner<'a> {
    pub(crate) cx: &'a SessionContext<'a>,
    pub(crate) spec: &'a RunSpec<'a>,
    pub(crate) dir: &'a SessionDir,
    pub(crate) record: &'a Record,
    /// What the session may hold; `None` if that is not watched.
    pub(crate) disk_limits: Option<DiskLimits>,
    /// The command's container.
    pub(crate) agent: &'a HardenedSpec,
    pub(crate) spawner: &'a Spawner,
    pub(crate) placement: Placement,
    /// What may not be in a log.
    pub(crate) patterns: Option<&'a Patterns>,
    /// What is lent to the command, which a step may renew.
    pub(crate) lender: Option<&'a CredentialLender>,
    pub(crate) services: &'a StartedServices,
    pub(crate) copy: CopyAge,
}

/// Whether the copy of the workspace is that of the last start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyAge {
    /// It is.
    Kept,
    /// It was made anew.
    New,
}

/// A step that is to run.
struct DueStep<'a> {
    /// From 1.
    number: usize,
    step: &'a SetupStep,
    site: Site<'a>,
    note: DoneStep,
}

/// What ends a step before its time.
#[derive(Clone, Copy)]
struct StepEnd<'a> {
    stop: &'a Cancel,
    /// Why, unless the user wants an end.
    excess: &'a Latch<DiskExcess>,
}

impl StepEnd<'_> {
    fn cause(self, due: &DueStep<'_>) -> SetupStepError {
        match self.excess.get() {
            Some(excess) => SetupStepError::DiskFull {
                number: due.number,
                argv: due.step.argv.clone(),
                excess,
            },
            None => Interrupted.into(),
        }
    }
}

/// Where one step runs.
enum Site<'a> {
    Command(&'a StepRunner<'a>),
    Service(RunningService<'a>),
}

impl StepRunner<'_> {
    /// Runs each step that is due, in order.
    ///
    /// # Errors
    /// The first that fails, with the end of its log; those before it are not repeated.
    pub(crate) fn run(&self) -> Result<(), SetupStepError> {
        // Also without a step: what an earlier start noted must not outlast what it made.
        let mut done = DoneSteps::open(&self.dir.file("setup"), |place| self.is_new(place))?;
        let mut due = Vec::new();
        for (number, step) in (1..).zip(&self.spec.setup) {
            let site = self.site(number, step)?;
            let note = DoneStep::of(step, site.image().reference().to_string());
            if step.repeat == Repeat::Always || !done.has(&note) {
                due.push(DueStep {
                    number,
                    step,
                    site,
                    note,
                });
            }
        }
        if due.is_empty() {
            return Ok(());
        }
        let stop = Cancel::new();
        let (over, excess) = (Latch::default(), Latch::default());
        let counted = self.spec.counted_volumes(&self.record.owner());
        let passed_on = stop.clone();
        let _guard = self.cx.cancel.guard(move |_| passed_on.raise());
        (self.cx).phase("setup", |_| {
            thread::scope(|beside| {
                let _over = over.set_on_drop(());
                if let Some(limits) = self.disk_limits {
                    let watch = StepDiskWatch {
                        cx: self.cx,
                        porter: &self.spec.porter,
                        record: self.record,
                        counted: &counted,
                        limits,
                        over: &over,
                        excess: &excess,
                        stop: &stop,
                    };
                    beside.spawn(|| watch.until_over());
                }
                let end = StepEnd {
                    stop: &stop,
                    excess: &excess,
                };
                due.into_iter().try_for_each(|due| {
                    self.step(&due, end)?;
                    Ok(done.add(due.note)?)
                })
            })
        })
    }

    /// Whether what earlier steps made in a place is gone.
    fn is_new(&self, place: &str) -> bool {
        match place == StepPlace::Command.as_str() {
            // Such a step may work on the copy and on any database.
            true => self.copy == CopyAge::New || self.services.has_new_volume(),
            false => self.services.begins_anew(place),
        }
    }

    fn site(&self, number: usize, step: &SetupStep) -> Result<Site<'_>, SetupStepError> {
        match &step.place {
            StepPlace::Command => Ok(Site::Command(self)),
            StepPlace::Service(name) => match self.services.find(name) {
                Some(service) => Ok(Site::Service(service)),
                None => Err(SetupStepError::NoService {
                    number,
                    service: name.clone(),
                }),
            },
        }
    }

    fn step(&self, due: &DueStep<'_>, end: StepEnd<'_>) -> Result<(), SetupStepError> {
        let DueStep {
            number, step, site, ..
        } = due;
        let number = *number;
        end.stop.check().map_err(|_| end.cause(due))?;
        let log_dir = setup_dir(self.dir, number);
        remove_dir(&log_dir)?;
        private_dir(&log_dir)?;
        let sink = Arc::new(self.sink(LogFile::create(&log_dir)?));
        if let Some(lender) = self.lender {
            lender.watch_over(&sink);
        }
        let streams = Streams {
            stdout: {
                let sink = Arc::clone(&sink);
                Box::new(move |chunk| sink.stdout(chunk))
            },
            stderr: {
                let sink = Arc::clone(&sink);
                Box::new(move |chunk| sink.stderr(chunk))
            },
        };
        let began = Instant::now();
        let process = site.spawn(step)?;
        let attempt = run_to_end(process, streams, step.within, end.stop);
        sink.finish();
        let log = || -> Result<_, PathError> { last_lines(&log_dir, LAST_LINES) };
        let argv = step.argv.clone();
        match attempt {
            Attempt::Exited(0) => {
                self.cx.events.event(Event::SetupStepDone {
                    argv: &step.argv,
                    took: began.elapsed(),
                });
                Ok(())
            }
            Attempt::Exited(code) => Err(SetupStepError::Failed {
                number,
                argv,
                code,
                log: log()?,
            }),
            Attempt::TookTooLong => Err(SetupStepError::TookTooLong {
                number,
                argv,
                within: step.within,
                log: log()?,
            }),
            Attempt::Cancelled => Err(end.cause(due)),
        }
    }

    /// Joins a log with nothing else: what a step prints is shown if it fails.
    fn sink(&self, log: LogFile) -> CommandOutputSink {
        let nowhere = || Box::new(std::io::sink());
        CommandOutputSink::new(log, nowhere(), nowhere(), self.patterns.cloned())
    }
}

impl Site<'_> {
    fn image(&self) -> &Pinned {
        match self {
            Self::Command(runner) => &runner.spec.image,
            Self::Service(service) => service.image(),
        }
    }

    fn spawn(&self, step: &SetupStep) -> Result<Process, EngineError> {
        match self {
            Self::Command(runner) => {
                let (agent, placement) = (runner.agent, runner.placement);
                runner.spawner.spawn(&ExecSpec {
                    env: runner.spec.command.env.clone(),
                    workdir: Some(runner.spec.scope.workdir()),
                    when_abandoned: WhenAbandoned::End,
                    ..ExecSpec::new(agent.exec_argv(placement, &step.argv, None), Stdin::Closed)
                })
            }
            Self::Service(service) => service.spawn(&step.argv),
        }
    }
}
