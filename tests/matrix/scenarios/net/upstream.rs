//! A server on this machine, and the configuration by which a session may reach it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::thread;
use std::time::Duration;

use crate::ctx::Ctx;

/// The name under which a session knows the server.
pub(crate) const NAME: &str = "upstream.test";

/// A server that answers every request with the same words. Its thread ends with the process.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

impl Upstream {
    /// Starts it, and opens the way to it in the scenario's own configuration.
    ///
    /// # Errors
    /// This machine has no address but its loopback.
    pub(crate) fn start(ctx: &Ctx) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the upstream: {error}");
        let address = own_address().map_err(failed)?;
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut stream = stream;
                    let mut head = [0; 4096];
                    let _limit = stream.set_read_timeout(Some(Duration::from_secs(60)));
                    // One read holds the head of such a small request.
                    if stream.read(&mut head).is_ok_and(|count| count > 0) {
                        let _gone = stream.write_all(
                            b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nreached\n",
                        );
                    }
                });
            }
        });
        let upstream = Self { address, port };
        upstream.open(ctx);
        Ok(upstream)
    }

    /// Lets the user's own configuration name the server and the machine's address.
    fn open(&self, ctx: &Ctx) {
        let text = format!(
            "private_networks = [\"{0}/32\"]\n[hosts]\n\"{NAME}\" = \"{0}\"\n\"other.test\" = \"{0}\"\n",
            self.address
        );
        fs::create_dir_all(ctx.config()).expect("the configuration is writable");
        fs::write(ctx.config().join("network.toml"), text).expect("it is writable");
    }
}

/// The address from which this machine would reach others. Nothing is sent.
fn own_address() -> std::io::Result<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
    Ok(socket.local_addr()?.ip())
}
