//! What the command may reach: shown to a client, and changed for it.
//!
//! A policy may be too long for one frame, so it follows the answer as the bytes of a stream.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use lazaret_egress::Policy;

use super::answer::{refuse, refused, reply};
use super::connection::{Connection, KeeperError};
use super::frame::{Channel, Frame, Kind};
use super::live::LiveContainer;
use super::message::{Accepted, RefusalCode, Refused, Reply};
use crate::network::{Edited, LivePolicy, PolicyEdit};
use crate::store::SessionDir;

/// The most bytes of a policy.
const MOST: usize = 16 << 20;

/// Answers with the policy in force.
pub(super) fn show(stream: &UnixStream, dir: &SessionDir, live: &LiveContainer) -> io::Result<()> {
    match policy_of(dir, live) {
        Ok(policy) => send(stream, Edited::Unchanged, &policy.in_force()),
        Err(no) => refuse(stream, no),
    }
}

/// Changes the policy, and answers once the gateway has it.
pub(super) fn edit(
    stream: &UnixStream,
    dir: &SessionDir,
    live: &LiveContainer,
    edit: &PolicyEdit,
) -> io::Result<()> {
    let policy = match policy_of(dir, live) {
        Ok(policy) => policy,
        Err(no) => return refuse(stream, no),
    };
    match policy.edit(edit) {
        Ok((edited, policy)) => send(stream, edited, &policy),
        Err(error) => {
            let text = format!(
                "the gateway of session {} took no change, since the command has ended or the \
                 gateway is gone: {error}",
                dir.id()
            );
            refuse(stream, refused(RefusalCode::GatewayLost, text))
        }
    }
}

fn policy_of<'a>(
    dir: &SessionDir,
    live: &'a LiveContainer,
) -> Result<&'a Arc<LivePolicy>, Refused> {
    live.policy.as_ref().ok_or_else(|| {
        let text = format!("session {} has no network", dir.id());
        refused(RefusalCode::NoNetwork, text)
    })
}

fn send(stream: &UnixStream, edited: Edited, policy: &Policy) -> io::Result<()> {
    let accepted = Accepted {
        changed: edited == Edited::Changed,
        ..Accepted::default()
    };
    reply(stream, Reply::Ok(accepted))?;
    let bytes = serde_json::to_vec(policy)?;
    for frame in Frame::data(Channel::Stdout, &bytes) {
        frame.write_to(&mut &*stream)?;
    }
    Frame::eof(Channel::Stdout).write_to(&mut &*stream)
}

/// Reads the policy that follows the answer.
///
/// # Errors
/// The connection breaks off, or what comes is no policy.
pub fn receive(connection: &Connection) -> Result<Policy, KeeperError> {
    let mut bytes = Vec::new();
    loop {
        let frame = connection.read()?;
        let frame = frame.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        match (frame.kind, frame.channel) {
            (Kind::Data, Channel::Stdout) if bytes.len() < MOST => bytes.extend(frame.payload),
            (Kind::Eof, Channel::Stdout) => break,
            _ => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
    }
    Ok(serde_json::from_slice(&bytes).map_err(io::Error::from)?)
}
