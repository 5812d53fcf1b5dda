//! What a client hears once.

use std::io;
use std::os::unix::net::UnixStream;

use super::frame::{Frame, Kind};
use super::message::{RefusalCode, Refused, Reply};

pub(super) fn refuse(stream: &UnixStream, no: Refused) -> io::Result<()> {
    reply(stream, Reply::Error(no))
}

pub(super) fn reply(stream: &UnixStream, reply: Reply) -> io::Result<()> {
    Frame::json(Kind::Reply, &reply)?.write_to(&mut &*stream)
}

pub(super) fn refused(code: RefusalCode, message: String) -> Refused {
    Refused { code, message }
}
