//! An engine on a TCP port: bytes go to and fro between it and the engine's socket, counted.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Forwards until the process ends: a scenario has a handful of connections.
#[derive(Debug)]
pub(crate) struct Forwarder {
    port: u16,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    to_engine: AtomicU64,
    from_engine: AtomicU64,
}

impl Forwarder {
    /// Listens on a free port of the loopback and forwards to the engine at `socket`.
    ///
    /// # Errors
    /// There is no port to be had.
    pub(crate) fn start(socket: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let counts = Arc::new(Counts::default());
        let (socket, counting) = (socket.to_owned(), Arc::clone(&counts));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (socket, counts) = (socket.clone(), Arc::clone(&counting));
                // A connection that breaks is the client's to notice.
                thread::spawn(move || drop(connect(client, &socket, &counts)));
            }
        });
        Ok(Self { port, counts })
    }

    /// What `LAZARET_ENGINE` takes.
    pub(crate) fn endpoint(&self) -> String {
        format!("tcp://127.0.0.1:{}", self.port)
    }

    /// Bytes to the engine and from it, since the last time.
    pub(crate) fn take(&self) -> (u64, u64) {
        let Counts {
            to_engine,
            from_engine,
        } = &*self.counts;
        (
            to_engine.swap(0, Ordering::SeqCst),
            from_engine.swap(0, Ordering::SeqCst),
        )
    }
}

fn connect(client: TcpStream, socket: &PathBuf, counts: &Counts) -> io::Result<()> {
    let engine = UnixStream::connect(socket)?;
    client.set_nodelay(true)?;
    let (from_client, to_engine) = (client.try_clone()?, engine.try_clone()?);
    thread::scope(|scope| {
        scope.spawn(|| {
            copy(from_client, &to_engine, &counts.to_engine);
            drop(to_engine.shutdown(Shutdown::Write));
        });
        copy(engine, &client, &counts.from_engine);
        drop(client.shutdown(Shutdown::Write));
    });
    Ok(())
}

/// Copies to the end of either side.
fn copy(mut from: impl Read, mut to: impl Write, count: &AtomicU64) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        count.fetch_add(length as u64, Ordering::SeqCst);
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}
