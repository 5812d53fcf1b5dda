//! `RejoinSocket`: where a seat is brought another connection.
//!
//! It is an abstract socket for datagrams, so nothing inside can remove or replace it, and a
//! process that sends anything else holds nothing up: there is no connection to wait for, and the
//! queue is emptied whenever the seat wakes. The containers of services share the network
//! namespace, and so the names of such sockets, but not the pid namespace.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_protocol::seat::{RejoinRequest, Ticket};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};

use crate::processes::{first_is_porter, parent};
use crate::syscall;

/// A connection that a host wants to go on with.
#[derive(Debug)]
pub(super) struct Rejoined {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    /// Held as long as the connection is used.
    pub(super) lease: OwnedFd,
    /// So many bytes of the seat's frames have arrived at the host.
    pub(super) received: u64,
}

/// The socket of one seat.
#[derive(Debug)]
pub(super) struct RejoinSocket {
    ticket: Ticket,
    socket: OwnedFd,
}

impl RejoinSocket {
    /// # Errors
    /// The name is taken, or the system's.
    pub(super) fn open(ticket: Ticket) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        rustix::net::sockopt::set_socket_passcred(&socket, true)?;
        bind(&socket, &address(&ticket)?)?;
        Ok(Self { ticket, socket })
    }

    /// Returns what is readable once something has come.
    pub(super) fn input(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes everything that has come, and returns the last connection that is the host's.
    pub(super) fn take(&self) -> Option<Rejoined> {
        let mut last = None;
        // One byte more, so that a longer message is not taken for a request.
        let mut bytes = [0; RejoinRequest::BYTES + 1];
        while let Ok(message) = syscall::receive(self.socket.as_fd(), &mut bytes) {
            let request = bytes.get(..message.length);
            let request = request.and_then(RejoinRequest::from_bytes);
            let sender = message.sender.unwrap_or(0);
            if let Some(request) = request
                && request.ticket.has_secret_of(&self.ticket)
                && is_started_from_outside(sender)
                && let Ok([stdin, stdout, lease]) = <[_; 3]>::try_from(message.descriptors)
            {
                last = Some(Rejoined {
                    stdin,
                    stdout,
                    lease,
                    received: request.received,
                });
            }
        }
        last
    }
}

/// # Errors
/// Never, for a name of this length.
pub(super) fn address(ticket: &Ticket) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(&ticket.socket_name())?)
}

/// Whether the engine started this process of the container, and no other process of it: the
/// kernel shows no parent then. One whose parent has ended is PID 1's child.
fn is_started_from_outside(pid: i32) -> bool {
    match first_is_porter() {
        Ok(true) => parent(pid) == Some(0),
        // No container of lazaret.
        _ => pid > 0 && fs::exists(format!("/proc/{pid}")).unwrap_or(false),
    }
}
