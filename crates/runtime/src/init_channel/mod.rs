//! `InitChannel`: has PID 1 of a container, a porter, start processes.
//!
//! Its stdout is the end of a pair of sockets that is meant for us: over it, it takes the
//! streams of a process, starts that, and says how it ended. ([`init`](lazaret_protocol::init)
//! has the protocol.) Nothing of that passes the engine, whose exec takes as long as several of our own
//! steps, and whose relays move 8 or 32 KiB at a time.
//!
//! Only Linux tells of other processes so, and only root's or those of the own user namespace;
//! everywhere else there is none, and the engine starts what is to be started.

#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod streams;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::channel;
    use super::connection::{Connection, StartError};
    use crate::{ExecSpec, Process};

    /// The first process of a container, which has a channel.
    #[derive(Debug)]
    pub struct InitChannel(OwnedFd);

    impl InitChannel {
        /// Returns the channel to the process `pid` if that is one of the container `id`.
        ///
        /// # Errors
        /// When it is not, or is none of this machine's (an engine in a virtual machine counts
        /// that one's), or this process may not look into it.
        pub fn of_container(pid: i32, id: &str) -> io::Result<Self> {
            /// A container's id is a SHA-256, in hex.
            const ID: usize = 64;
            let process = Self::of(pid)?;
            // Engines mount files of the container's own, such as /etc/hosts, from a
            // directory that has its id.
            let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo"))?;
            match id.len() == ID && mounts.contains(id) {
                true => Ok(process),
                false => Err(io::Error::other("another process has this number")),
            }
        }

        /// Returns the channel to the process `pid`.
        ///
        /// # Errors
        /// When there is none.
        pub fn of(pid: i32) -> io::Result<Self> {
            let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
            Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
        }

        /// Takes the channel over. Once its first process was asked for, no other can.
        ///
        /// # Errors
        /// When it is taken, or this process may not take it.
        pub fn connect(&self) -> io::Result<ConnectedChannel> {
            let socket = channel::find(&self.0)?;
            Ok(ConnectedChannel(Arc::new(Connection::new(socket))))
        }
    }

    /// A channel that this process has. It may be used by several threads.
    ///
    /// Dropping it and every process that it started is a hang-up: PID 1 then ends every process
    /// of its container, and the container.
    #[derive(Debug)]
    pub struct ConnectedChannel(Arc<Connection>);

    impl ConnectedChannel {
        /// Has PID 1 start a process without a terminal.
        ///
        /// # Errors
        /// When it does not. Nothing is started then.
        pub fn start(&self, spec: &ExecSpec) -> Result<Process, StartError> {
            channel::start(&self.0, spec)
        }
    }
}

#[cfg(target_os = "linux")]
pub use connection::StartError;
#[cfg(target_os = "linux")]
pub use linux::{ConnectedChannel, InitChannel};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io;

    use lazaret_protocol::init::Refusal;

    use crate::{ExecSpec, Process};

    /// The channel to the first process of a container: none of this machine's.
    #[derive(Debug)]
    pub enum InitChannel {}

    /// A channel that this process has: none.
    #[derive(Debug)]
    pub enum ConnectedChannel {}

    /// Why PID 1 did not start a process.
    #[derive(Debug, thiserror::Error)]
    pub enum StartError {
        /// It refused.
        #[error(transparent)]
        Refused(#[from] Refusal),
        /// It is gone.
        #[error(transparent)]
        Io(#[from] io::Error),
    }

    impl InitChannel {
        /// # Errors
        /// Always: containers run in a virtual machine here.
        pub fn of_container(_pid: i32, _id: &str) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// # Errors
        /// Never: there is none.
        pub fn connect(&self) -> io::Result<ConnectedChannel> {
            match *self {}
        }
    }

    impl ConnectedChannel {
        /// # Errors
        /// Never: there is none.
        pub fn start(&self, _spec: &ExecSpec) -> Result<Process, StartError> {
            match *self {}
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{ConnectedChannel, InitChannel, StartError};
