//! A server on this machine, and the configuration by which a session may reach it.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::ctx::Ctx;

/// The name under which a session knows the server.
pub(crate) const NAME: &str = "upstream.test";

/// A server that answers every request with the same words, and one for `/away` with the way
/// to another name. Its port is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    served: Vec<SocketAddr>,
}

impl Upstream {
    /// Starts it, and opens the way to it in the scenario's own configuration.
    ///
    /// # Errors
    /// This machine has no address but its loopback.
    pub(crate) fn start(ctx: &Ctx) -> Result<Self, String> {
        let failed = |error: io::Error| format!("the upstream: {error}");
        let address = own_address().map_err(failed)?;
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let mut upstream = Self {
            address,
            port,
            requests: Arc::default(),
            over: Arc::default(),
            served: Vec::new(),
        };
        upstream.serve(listener)?;
        upstream.open(ctx, "");
        Ok(upstream)
    }

    /// Serves at another port as well.
    ///
    /// # Errors
    /// The listener has no address.
    pub(super) fn serve(&mut self, listener: TcpListener) -> Result<(), String> {
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        self.served.push(address);
        let (requests, port, over) = (
            Arc::clone(&self.requests),
            self.port,
            Arc::clone(&self.over),
        );
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let requests = Arc::clone(&requests);
                thread::spawn(move || answer(stream, port, &requests));
            }
        });
        Ok(())
    }

    /// How many requests came so far.
    pub(super) fn heard(&self) -> usize {
        self.requests().len()
    }

    /// What came so far.
    pub(super) fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets the user's own configuration name the server and the machine's address. `hosts`
    /// are further lines of its `[hosts]`.
    pub(super) fn open(&self, ctx: &Ctx, hosts: &str) {
        let text = format!(
            "private_networks = [\"{0}/32\"]\n[hosts]\n\"{NAME}\" = \"{0}\"\n\"other.test\" = \"{0}\"\n{hosts}",
            self.address
        );
        fs::create_dir_all(ctx.config()).expect("the configuration is writable");
        fs::write(ctx.config().join("network.toml"), text).expect("it is writable");
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        for address in &mut self.served {
            if address.ip().is_unspecified() {
                address.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            // Each thread ends with the next connection, which is this one.
            drop(TcpStream::connect_timeout(address, Duration::from_secs(5)));
        }
    }
}

fn answer(mut stream: TcpStream, port: u16, requests: &Mutex<Vec<String>>) {
    let mut head = [0; 4096];
    let _limit = stream.set_read_timeout(Some(Duration::from_secs(60)));
    // One read holds the head of such a small request.
    let Ok(count @ 1..) = stream.read(&mut head) else {
        return;
    };
    let request = String::from_utf8_lossy(&head[..count]).into_owned();
    let answer = match request.contains(" /away ") {
        true => format!(
            "HTTP/1.1 302 Found\r\nLocation: http://unlisted.test:{port}/\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        false => {
            "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nreached\n".into()
        }
    };
    let mut kept = requests.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push(request);
    drop(kept);
    let _gone = stream.write_all(answer.as_bytes());
}

/// The address from which this machine would reach others. Nothing is sent.
fn own_address() -> io::Result<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
    Ok(socket.local_addr()?.ip())
}
