//! `Server`: who comes in at the keeper's socket, and what becomes of it.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::answer::{refuse, refused, reply};
use super::client::{Client, Next};
use super::exec;
use super::frame::{Channel, Frame, Kind};
use super::hub::Hub;
use super::journal::{Happening, StopCause, events_since};
use super::live::LiveContainer;
use super::message::{
    Accepted, Attach, Hello, KeeperStatus, MAGIC, PROTOCOL, RefusalCode, Reply, Request, Size, Stop,
};
use super::pause;
use super::place;
use super::policy;
use super::standing::Standing;
use crate::output::command_input::Typed;
use crate::store::SessionDir;

/// The most connections at once.
const MOST: usize = 64;

/// How long a client may take to say what it wants.
const REQUEST: Duration = Duration::from_secs(5);

/// The longest time between two looks at the limits.
const LOOK: Duration = Duration::from_secs(60);

/// Serves the clients of one session.
#[derive(Debug)]
pub(super) struct Server {
    hub: Arc<Hub>,
    dir: SessionDir,
    live: LiveContainer,
    standing: Standing,
    connections: AtomicUsize,
}

impl Server {
    pub(super) fn new(hub: Arc<Hub>, dir: &SessionDir, live: LiveContainer) -> Arc<Self> {
        Arc::new(Self {
            hub,
            dir: dir.clone(),
            live,
            standing: Standing::default(),
            connections: AtomicUsize::new(0),
        })
    }

    /// Serves clients for as long as the process lives.
    pub(super) fn serve(self: Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // No descriptor is left: one will be.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if self.connections.fetch_add(1, Ordering::SeqCst) >= MOST {
                self.connections.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let server = Arc::clone(&self);
            thread::spawn(move || {
                // A client that breaks off, or makes no sense, needs no answer.
                let _over = server.client(&stream);
                let _closed = stream.shutdown(Shutdown::Both);
                server.connections.fetch_sub(1, Ordering::SeqCst);
            });
        }
    }

    /// Stops the session when it has reached a limit.
    pub(super) fn watch_limits(&self) {
        loop {
            if let Some(cause) = self.hub.reached_limit() {
                self.hub.stop(cause);
                return;
            }
            if self.hub.await_limit(LOOK) {
                return;
            }
        }
    }

    fn client(&self, stream: &UnixStream) -> io::Result<()> {
        if !place::is_allowed(stream) {
            return Ok(());
        }
        let hello = Hello {
            magic: MAGIC.to_owned(),
            oldest: PROTOCOL,
            newest: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            session: self.dir.id().to_string(),
        };
        Frame::json(Kind::Hello, &hello)?.write_to(&mut &*stream)?;
        stream.set_read_timeout(Some(REQUEST))?;
        let Some(frame) = Frame::read_from(&mut &*stream)? else {
            return Ok(());
        };
        stream.set_read_timeout(None)?;
        let request = match (frame.kind, frame.parse()) {
            (Kind::Request, Ok(request)) => request,
            (_, parsed) => {
                let why = parsed.err().map_or_else(String::new, |why| why.to_string());
                let text = format!("no request that this keeper knows: {why}");
                return refuse(stream, refused(RefusalCode::Invalid, text));
            }
        };
        match request {
            Request::Attach(attach) => self.attach(stream, &attach),
            Request::Exec(exec) => exec::serve(stream, &self.hub, &self.live, &self.standing, exec),
            Request::Events { since } => self.events(stream, since),
            Request::Status => self.accept(stream),
            Request::Stop(Stop { kill }) => {
                self.hub.stop(StopCause::Asked);
                if kill && let Err(error) = self.live.kill() {
                    let text = error.to_string();
                    return refuse(stream, refused(RefusalCode::Engine, text));
                }
                self.accept(stream)
            }
            Request::Restart { service } if self.live.services.restart(&service) => {
                self.accept(stream)
            }
            Request::Restart { service } => {
                let text = format!("the session has no service {service:?}");
                refuse(stream, refused(RefusalCode::Invalid, text))
            }
            Request::NeedsInput { text } => {
                self.hub.happened(Happening::NeedsInput { text });
                self.accept(stream)
            }
            Request::Pause => pause::serve(stream, &self.live.pauses),
            Request::Policy => policy::show(stream, &self.dir, &self.live),
            Request::EditPolicy(edit) => policy::edit(stream, &self.dir, &self.live, &edit),
            Request::Limits(changed) => {
                self.hub.set_limits(|limits| {
                    let seconds = |limit: u64| Some(Duration::from_secs(limit));
                    limits.idle = changed.idle_s.map_or(limits.idle, seconds);
                    limits.life = changed.life_s.map_or(limits.life, seconds);
                    limits.disk.bytes = changed.disk.unwrap_or(limits.disk.bytes);
                    limits.disk.inodes = changed.inodes.unwrap_or(limits.disk.inodes);
                });
                self.accept(stream)
            }
        }
    }

    fn accept(&self, stream: &UnixStream) -> io::Result<()> {
        let accepted = Accepted {
            status: Some(KeeperStatus {
                services: self.live.services.status(),
                ..self.hub.status()
            }),
            ..Accepted::default()
        };
        reply(stream, Reply::Ok(accepted))
    }

    fn attach(&self, stream: &UnixStream, attach: &Attach) -> io::Result<()> {
        let client = match self.hub.attach(attach) {
            Ok(client) => client,
            Err(no) => return refuse(stream, no),
        };
        self.carry(stream, &client, || {
            self.hear(stream, &client);
            // Before the connection ends: who has left may come back at once.
            self.hub.detach(&client);
        });
        Ok(())
    }

    fn events(&self, stream: &UnixStream, since: u64) -> io::Result<()> {
        let past = events_since(&self.dir, since).map_err(io::Error::other)?;
        let client = match self.hub.listen(&past) {
            Ok(client) => client,
            Err(no) => return refuse(stream, no),
        };
        // It has nothing more to say: its end is all that there is to hear.
        self.carry(stream, &client, || drop(Frame::read_from(&mut &*stream)));
        self.hub.unlisten(&client);
        Ok(())
    }

    /// Writes what waits for a client, until `heard` returns.
    fn carry(&self, stream: &UnixStream, client: &Arc<Client>, heard: impl FnOnce()) {
        thread::scope(|scope| {
            scope.spawn(|| {
                let _over = self.write(stream, client);
                client.gone();
                let _closed = stream.shutdown(Shutdown::Both);
            });
            heard();
            client.gone();
            // What is being written to a client that does not read ends so.
            let _closed = stream.shutdown(Shutdown::Both);
        });
    }

    fn write(&self, stream: &UnixStream, client: &Client) -> io::Result<()> {
        use std::io::Write as _;
        loop {
            match client.next() {
                Next::Bytes(bytes) => (&mut &*stream).write_all(&bytes)?,
                Next::Resync => self.hub.resync(client),
                Next::End => return Ok(()),
            }
        }
    }

    /// Takes what an attached client types, until it leaves.
    fn hear(&self, stream: &UnixStream, client: &Client) {
        while let Ok(Some(frame)) = Frame::read_from(&mut &*stream) {
            let typed = match (frame.kind, frame.channel) {
                (Kind::Data, Channel::Stdin) => Typed::Keys(frame.payload),
                (Kind::Eof, Channel::Stdin) => Typed::Gone,
                (Kind::Resize, _) => match frame.parse::<Size>() {
                    Ok(size) => Typed::Resize(size.into()),
                    Err(_) => return,
                },
                (Kind::Take, _) => {
                    self.hub.take(client);
                    continue;
                }
                (Kind::Signal, _) if self.hub.signal(client) => continue,
                _ => return,
            };
            if !self.hub.type_in(client, typed) {
                return;
            }
        }
    }
}
