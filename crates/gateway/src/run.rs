//! Runs a gateway from its configuration to its end.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lazaret_egress::{
    CERTIFICATES, ConfigUpdate, Event, GatewayConfig, Net, Policy, Port, SessionLimits,
};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::broker::{Broker, BrokerError};
use crate::context::Context;
use crate::event_log::{self, EventLog};
use crate::heartbeat::{InputError, LauncherInput};
use crate::listen::{self, ListenError, Listeners, Service};
use crate::pump::Pump;
use crate::resolve::Resolver;

/// Where a gateway is.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Where its sockets go.
    pub directory: PathBuf,
    /// The resolvers to ask.
    pub resolvers: Vec<SocketAddr>,
    /// Networks that are closed because of where it is.
    pub closed: Vec<Net>,
    /// The port that TLS by its server name goes to: 443.
    pub tls: Port,
    /// The port that HTTP by its `Host` goes to: 80.
    pub http: Port,
    /// How long it runs without a line from its launcher; see [`lazaret_egress::HEARTBEAT_TIMEOUT`].
    pub silence: Duration,
}

/// Why a gateway did not start, or ended before its input.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The input ended before a configuration.
    #[error("no configuration came")]
    NoConfig,
    /// A line is none, or the heartbeat is lost.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A socket could not be made.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A route of the broker can't be served.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// Something that every process has was not to be had.
    #[error("can't {step}: {source}")]
    Start {
        /// For what.
        step: &'static str,
        /// Why not.
        source: io::Error,
    },
}

/// Descriptors beside those of connections.
const RESERVE: u64 = 64;
/// More would wait for each other: two processors are what a gateway has.
const PUMPS: usize = 2;

/// Runs a gateway until its input ends or its heartbeat is lost; then it closes everything
/// (NET-23).
///
/// Returns after [`Event::Ready`] was written and the input has ended. Events go to
/// `output` in the order in which things happen.
///
/// # Errors
///
/// Why it did not start, that a later line was no update, or that none came for
/// [`Setup::silence`], not even an empty one. Nothing is open then, and nothing was waited
/// for: a blocked output does not delay the end.
pub fn run(
    input: impl BufRead + Send + 'static,
    output: Box<dyn Write + Send>,
    setup: &Setup,
) -> Result<(), GatewayError> {
    let start = |step| move |source: io::Error| GatewayError::Start { step, source };
    let input = LauncherInput::follow(input, setup.silence).map_err(start("read the input"))?;
    let GatewayConfig {
        policy,
        routes,
        trust,
        inside,
        caps,
    } = input.next("configuration")?.ok_or(GatewayError::NoConfig)?;
    let policy = with_closed(policy, setup);
    let caps = within_descriptors(caps);

    let resolver = Resolver::new(setup.resolvers.clone());
    let context = Context::new(policy, caps, trust, EventLog::new(output), resolver);
    let budget = Arc::clone(&context.budget);
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
    let listeners = Listeners {
        context: Arc::new(context),
        pump: Arc::new(Pump::start(PUMPS, budget).map_err(start("start the pump"))?),
        tls: setup.tls,
        http: setup.http,
        bell: Arc::new(bell.map_err(|errno| start("make a bell")(errno.into()))?),
    };
    let _closing = Closing(&listeners);

    let routes = routes.into_iter().map(|route| {
        let index = route.index;
        let broker = Broker::new(route, &listeners.context.trust)?;
        Ok(Service::Broker(index, Arc::new(broker)))
    });
    let routes = routes.collect::<Result<Vec<_>, BrokerError>>()?;
    let services = [Service::Proxy, Service::Sni, Service::Host];
    let mut sockets = Vec::new();
    let mut bound = Vec::new();
    for service in services.into_iter().chain(routes) {
        sockets.push(service.socket());
        bound.push((listen::bind(&setup.directory, &service)?, service));
    }
    for (listener, service) in bound {
        let shared = listeners.clone();
        thread::Builder::new()
            .name(service.socket())
            .spawn(move || listen::run(&listener, &service, &shared))
            .map_err(start("start a listener"))?;
    }
    if !inside.is_empty() {
        put_certificates(&setup.directory, &inside).map_err(start("put certificates there"))?;
    }
    let ready = Event::Ready {
        at: event_log::now(),
        sockets,
    };
    listeners
        .context
        .event_log
        .append(&ready)
        .map_err(start("report that it is ready"))?;
    while let Some(ConfigUpdate::Policy(policy)) = input.next("update")? {
        listeners.context.change_policy(with_closed(policy, setup));
        listeners.pump.judge_again(&listeners.context.policy());
    }
    Ok(())
}

/// Puts certificates where the workload can read them: it sees the directory, and can't
/// write to it.
fn put_certificates(directory: &Path, pem: &str) -> io::Result<()> {
    let path = directory.join(CERTIFICATES);
    // Of a gateway before this one.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o644);
    options.open(path)?.write_all(pem.as_bytes())
}

/// Closes everything, however the gateway ends.
struct Closing<'a>(&'a Listeners);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        ring(&self.0.bell);
        self.0.context.stop();
        self.0.pump.stop();
    }
}

/// Rings for everybody that looks at it, and goes on ringing.
fn ring(bell: &OwnedFd) {
    // A full counter rings as well.
    let _rung = rustix::io::write(bell, &1u64.to_ne_bytes());
}

fn with_closed(mut policy: Policy, setup: &Setup) -> Policy {
    policy.closed.extend(&setup.closed);
    policy
}

/// Takes as many descriptors as the container allows, and no more connections than fit.
fn within_descriptors(mut caps: SessionLimits) -> SessionLimits {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 20);
    // What it has already is enough for fewer connections.
    let _raised = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    // Two for each, and a third while a thread serves it.
    let fit = most.saturating_sub(RESERVE) / 3;
    caps.connections = caps
        .connections
        .min(u32::try_from(fit).unwrap_or(u32::MAX))
        .max(1);
    caps
}
