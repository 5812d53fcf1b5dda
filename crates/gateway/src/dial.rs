//! Connects two streams to a port inside: how a published port reaches its program.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpStream};
use std::thread;

/// Connects to a port of the loopback, 127.0.0.1 first and then ::1, and carries `input`
/// there and what comes back to `output`, until the program has ended its side.
///
/// An end of the input is passed on; the answer is still waited for.
///
/// # Errors
///
/// There is no listener, or a direction broke.
pub fn dial(
    port: u16,
    mut input: impl Read + Send + 'static,
    mut output: impl Write,
) -> io::Result<()> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .or_else(|_| TcpStream::connect((Ipv6Addr::LOCALHOST, port)))?;
    stream.set_nodelay(true)?;
    let mut sending = stream.try_clone()?;
    thread::Builder::new().spawn(move || {
        // The end that broke it knows.
        let _copied = io::copy(&mut input, &mut sending);
        let _told = sending.shutdown(Shutdown::Write);
    })?;
    let mut receiving = stream;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match receiving.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                output.write_all(&buffer[..count])?;
                // A stream of lines or events is read as it comes.
                output.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
