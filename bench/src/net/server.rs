//! `Server`: what both ways lead to. It knows two requests: `byte`, and `pour COUNT`.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use anyhow::{Context as _, Result};

/// The longest request, in bytes.
const REQUEST: u64 = 64;
/// What is written at once.
const PIECE: usize = 256 << 10;

/// A server on this machine. Its threads end with the process.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) address: IpAddr,
    pub(super) port: u16,
}

impl Server {
    /// Listens on a free port of all addresses: containers come by that of the machine.
    pub(super) fn start() -> Result<Self> {
        let address = own_address().context("this machine has no address but its loopback")?;
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that breaks off says so itself.
                thread::spawn(move || serve(&stream));
            }
        });
        Ok(Self { address, port })
    }
}

fn serve(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut requests, mut answers) = (BufReader::new(stream), stream);
    loop {
        let mut request = String::new();
        if io::Read::take(&mut requests, REQUEST).read_line(&mut request)? == 0 {
            return Ok(());
        }
        match request.trim_end().split_once(' ') {
            Some(("pour", count)) => {
                let count = count.parse().map_err(io::Error::other)?;
                return pour(answers, count);
            }
            _ => answers.write_all(b".")?,
        }
    }
}

fn pour(mut to: &TcpStream, mut count: usize) -> io::Result<()> {
    let piece = vec![b'.'; PIECE];
    while count > 0 {
        let now = count.min(PIECE);
        to.write_all(&piece[..now])?;
        count -= now;
    }
    Ok(())
}

/// The address from which this machine would reach others. Nothing is sent.
fn own_address() -> io::Result<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // TEST-NET-1 of RFC 5737: it leads wherever the default route does.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
    Ok(socket.local_addr()?.ip())
}
