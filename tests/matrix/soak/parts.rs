//! The parts of a living session, and how each is killed from outside.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use super::work::Kind;
use crate::api::{self, Object};
use crate::ctx::Ctx;

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Client,
    /// The container that filters the network.
    Gateway,
    /// The process in the command's container that leads to the gateway.
    Relay,
    /// The container of a service.
    Service,
    Keeper,
    /// The command's container.
    Command,
}

impl Part {
    /// The parts of such a session whose end its keeper outlives.
    pub(super) fn mild(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Terminal | Kind::Piped => &[Self::Client, Self::Gateway, Self::Relay],
            Kind::Service => &[Self::Client, Self::Service],
        }
    }

    /// All parts of such a session.
    pub(super) fn all(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Terminal | Kind::Piped => &[
                Self::Client,
                Self::Gateway,
                Self::Relay,
                Self::Keeper,
                Self::Command,
            ],
            Kind::Service => &[Self::Client, Self::Service, Self::Keeper, Self::Command],
        }
    }
}

/// Kills the container of a session that has this role; false if none runs.
pub(super) fn kill_container(ctx: &Ctx, session: &str, role: &str) -> Result<bool, String> {
    let Some(container) = container(ctx, session, role)? else {
        return Ok(false);
    };
    match first_process(ctx, &container)? {
        Some(_) => api::kill(&ctx.engine().socket(), &container).map(|()| true),
        None => Ok(false),
    }
}

/// Kills the relay in the command's container of a session; false if there is none.
pub(super) fn kill_relay(ctx: &Ctx, session: &str) -> Result<bool, String> {
    let Some(agent) = container(ctx, session, "agent")? else {
        return Ok(false);
    };
    let Some(first) = first_process(ctx, &agent)? else {
        return Ok(false);
    };
    let namespace = |process: &Path| fs::read_link(process.join("ns/pid")).ok();
    let Some(inside) = namespace(Path::new(&format!("/proc/{first}"))) else {
        return Ok(false);
    };
    let relay = processes().find(|process| {
        let argv = fs::read(process.join("cmdline")).unwrap_or_default();
        let is_relay = argv.split(|byte| *byte == 0).nth(1) == Some(b"relay");
        is_relay && namespace(process).as_ref() == Some(&inside)
    });
    let pid = relay.and_then(|relay| relay.file_name()?.to_str()?.parse().ok());
    match pid.and_then(Pid::from_raw) {
        Some(pid) => {
            let killed = kill_process(pid, Signal::KILL);
            killed.map(|()| true).map_err(|error| error.to_string())
        }
        None => Ok(false),
    }
}

/// The processes of this machine, as directories of `/proc`.
pub(super) fn processes() -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit())
        .map(|entry| entry.path())
}

/// PID 1 of a container, as the host counts; `None` if it does not run.
fn first_process(ctx: &Ctx, container: &Object) -> Result<Option<i64>, String> {
    let Object::Container { id, .. } = container else {
        return Ok(None);
    };
    let inspected = api::get(&ctx.engine().socket(), &format!("/containers/{id}/json"))?;
    Ok(inspected["State"]["Pid"].as_i64().filter(|pid| *pid > 0))
}

fn container(ctx: &Ctx, session: &str, role: &str) -> Result<Option<Object>, String> {
    let (begin, end) = (format!("lazaret-{session}-"), format!("-{role}"));
    let is_it = |object: &Object| match object {
        Object::Container { name, .. } => name.starts_with(&begin) && name.ends_with(&end),
        Object::Volume { .. } => false,
    };
    Ok(ctx.objects()?.into_iter().find(is_it))
}
