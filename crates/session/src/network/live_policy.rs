//! Rules that change while the command runs.
//!
//! The session's directory holds the policy in force with a serial number. `lazaret policy`
//! writes another one with the next number; the launcher hands it to the gateway, and says by
//! the number how far it has come. A reader sees one or the other: both files are replaced
//! by a rename.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use lazaret_egress::Policy;
use lazaret_tree::{AtPath as _, PathError};
use serde::{Deserialize, Serialize};

use crate::event::{Event, EventSink};
use crate::lifecycle::latch::{CommandEnded, Latch};
use crate::network::gateway::Gateway;
use crate::store::SessionDir;

/// The file with the policy that is wanted.
pub const POLICY: &str = "policy.json";
/// The file with the number of the policy that is in force.
const APPLIED: &str = "policy.applied";

/// Between two looks.
const TICK: Duration = Duration::from_millis(100);

/// The most bytes of a policy.
const MOST: u64 = 16 << 20;

/// A policy with its number.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LivePolicy {
    /// Its number, from 0 at the start of each command.
    pub serial: u64,
    /// It.
    pub policy: Policy,
}

impl LivePolicy {
    /// Reads the one that is wanted; `None` where the session has no network.
    pub fn read(dir: &SessionDir) -> Option<Self> {
        let path = dir.file(POLICY);
        if fs::metadata(&path).ok()?.len() > MOST {
            return None;
        }
        serde_json::from_slice(&fs::read(&path).ok()?).ok()
    }

    /// Asks for it.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, dir: &SessionDir) -> Result<(), PathError> {
        let path = dir.file(POLICY);
        let bytes = serde_json::to_vec(self)
            .map_err(io::Error::from)
            .at(&path)?;
        replace(&path, &bytes)
    }

    /// Returns the number of the policy that the gateway has.
    pub fn applied(dir: &SessionDir) -> Option<u64> {
        fs::read_to_string(dir.file(APPLIED))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    fn note_applied(&self, dir: &SessionDir) -> Result<(), PathError> {
        replace(&dir.file(APPLIED), self.serial.to_string().as_bytes())
    }
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(folder).at(path)?;
    file.write_all(bytes).at(path)?;
    file.persist(path).map_err(|error| error.error).at(path)?;
    Ok(())
}

/// Looks after a gateway while the command runs.
#[derive(Debug)]
pub struct PolicyWatcher<'a> {
    /// The gateway.
    pub gateway: &'a Gateway,
    /// The session's directory.
    pub dir: &'a SessionDir,
    /// Told what happens.
    pub events: &'a dyn EventSink,
    /// Set when the command has ended.
    pub over: &'a Latch<CommandEnded>,
}

impl PolicyWatcher<'_> {
    /// Writes down the policy that the gateway started with.
    ///
    /// # Errors
    /// The disk's.
    pub fn begin(&self, policy: &Policy) -> Result<(), PathError> {
        let first = LivePolicy {
            serial: 0,
            policy: policy.clone(),
        };
        first.note_applied(self.dir)?;
        first.write(self.dir)
    }

    /// Hands changes on until the command has ended, and says when the gateway is gone.
    pub fn watch(self) {
        let mut serial = 0;
        let mut is_gone = false;
        loop {
            if !is_gone && self.gateway.has_ended() {
                is_gone = true;
                self.events.event(Event::GatewayLost);
            }
            if let Some(wanted) = LivePolicy::read(self.dir)
                && wanted.serial > serial
                && self.gateway.change(wanted.policy.clone()).is_ok()
            {
                serial = wanted.serial;
                // Who asked for it waits for this, and gives up in the end.
                let _unseen = wanted.note_applied(self.dir);
            }
            if self.over.wait_for(TICK).is_some() {
                return;
            }
        }
    }
}
