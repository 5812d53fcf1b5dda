//! `Hub`: joins the command's streams with the clients that are attached.
//!
//! Output goes to the screen's state first, and then to every client, so a client that comes later
//! gets the screen as it is. One client drives: it types, and its terminal has the size. With no
//! driver the hub answers what the command asks its terminal for, so that no program hangs.

#[cfg(test)]
mod tests;

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::answer::refused;
use super::client::{Client, Delivery};
use super::drawn::{Drawn, Streams};
use super::frame::{Channel, Frame, Kind};
use super::journal::{Happening, Journal, SessionEvent, StopCause};
use super::limits::Limits;
use super::message::{
    Accepted, Attach, AttachMode, Exit, KeeperState, KeeperStatus, RefusalCode, Refused, Reply,
    Role, Stored,
};
use super::state::{Attached, Disk, State, tell_event};
use crate::cancel::Cancel;
use crate::lifecycle::disk_limits::{DiskLimits, DiskState};
use crate::output::command_input::Typed;
use lazaret_runtime::TerminalSize;

/// The most clients at once.
const MOST_CLIENTS: usize = 16;

/// Joins streams with clients.
#[derive(Debug)]
pub(super) struct Hub {
    state: Mutex<State>,
    changed: Condvar,
    cancel: Cancel,
    prefix: char,
}

/// What a hub begins with.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) streams: Streams,
    /// What clients type goes here.
    pub(super) typed: SyncSender<Typed>,
    pub(super) journal: Journal,
    pub(super) limits: Limits,
    /// Ends the command.
    pub(super) cancel: Cancel,
    /// See [`Accepted::prefix`].
    pub(super) prefix: char,
}

impl Hub {
    pub(super) fn new(begun: Begun) -> Self {
        let now = Instant::now();
        Self {
            state: Mutex::new(State {
                drawn: Drawn::of(begun.streams),
                clients: Vec::new(),
                listeners: Vec::new(),
                watchers: Vec::new(),
                next_id: 1,
                typed: begun.typed,
                journal: begun.journal,
                session: KeeperState::Running,
                stop: None,
                execs: 0,
                turn: false,
                limits: begun.limits,
                disk: Disk::default(),
                quiet_since: now,
                began: now,
            }),
            changed: Condvar::new(),
            cancel: begun.cancel,
            prefix: begun.prefix,
        }
    }

    /// Takes what the command printed, without secrets.
    pub(super) fn output(&self, channel: Channel, chunk: &[u8]) {
        let mut state = self.lock();
        state.quiet_since = Instant::now();
        let frames = state.draw(channel, chunk);
        let followers = state.show(&frames);
        drop(state);
        // Without the lock: only the command waits for them.
        for client in followers {
            frames.iter().for_each(|frame| client.deliver(frame));
        }
    }

    /// Attaches a client: its queue begins with the answer and with what there is to see.
    pub(super) fn attach(&self, attach: &Attach) -> Result<Arc<Client>, Refused> {
        let mut state = self.lock();
        state.accepts()?;
        has_room(state.clients.len(), MOST_CLIENTS)?;
        let is_driven = state.clients.iter().any(|attached| attached.drives);
        let drives = match (attach.mode, is_driven) {
            (AttachMode::Drive, true) => {
                let text = "another client drives this session".to_owned();
                return Err(refused(RefusalCode::Driven, text));
            }
            (AttachMode::Take | AttachMode::Drive, _) => state.drawn.takes_input(),
            (AttachMode::Follow, false) => state.drawn.takes_input() && !state.drawn.has_terminal(),
            (AttachMode::Follow | AttachMode::Watch, _) => false,
        };
        let delivery = match attach.mode {
            AttachMode::Follow => Delivery::Lossless,
            _ => Delivery::Lossy,
        };
        let client = Arc::new(Client::new(state.new_id(), delivery));
        if drives {
            state.unseat();
        }
        let accepted = Accepted {
            driver: drives,
            terminal: state.drawn.has_terminal(),
            prefix: Some(self.prefix),
            ..Accepted::default()
        };
        if let Ok(reply) = Frame::json(Kind::Reply, &Reply::Ok(accepted)) {
            client.tell(&reply);
        }
        let attached = Attached {
            client: Arc::clone(&client),
            drives,
            size: attach.size.map(TerminalSize::from),
            report: attach.report,
        };
        state.resync(&attached);
        state.clients.push(attached);
        if let Some(size) = attach.size.filter(|_| drives) {
            state.resize(size.into());
        }
        state.happened(Happening::Attached { driver: drives });
        self.changed.notify_all();
        Ok(client)
    }

    /// Gives the driver's seat to a client that is attached.
    pub(super) fn take(&self, client: &Client) {
        let mut state = self.lock();
        state.unseat();
        for attached in &mut state.clients {
            attached.drives = attached.client.id == client.id;
        }
        // One that drove may have another size from now on, and one that was drawn for not.
        state.redraw();
        client.is_to_be_drawn();
    }

    /// Lets a client go.
    pub(super) fn detach(&self, client: &Client) {
        client.gone();
        let mut state = self.lock();
        let before = state.clients.len();
        state
            .clients
            .retain(|attached| attached.client.id != client.id);
        if state.clients.len() < before {
            state.happened(Happening::Detached);
        }
        self.changed.notify_all();
    }

    /// Passes on what a client typed. Returns false if it may not type. What is typed when the
    /// session is over goes nowhere, and its client stays to hear how that ended.
    pub(super) fn type_in(&self, client: &Client, typed: Typed) -> bool {
        let mut state = self.lock();
        match (state.drives(client), &typed) {
            (Some(true), _) => {}
            (Some(false), Typed::Resize(size)) => {
                state.is_resized(client, *size);
                return true;
            }
            (Some(false), _) => return false,
            (None, _) => return true,
        }
        state.quiet_since = Instant::now();
        let sender = match typed {
            Typed::Resize(size) => {
                state.is_resized(client, size);
                state.resize(size);
                return true;
            }
            _ => state.typed.clone(),
        };
        drop(state);
        // Without the lock: only the client waits for a command that does not read.
        drop(sender.send(typed));
        true
    }

    /// Ends the session, or what follows its command, as a signal to a command line does. Returns
    /// false if the client may not: it only looks on.
    pub(super) fn signal(&self, client: &Client) -> bool {
        let state = self.lock();
        if client.delivery != Delivery::Lossless && state.drives(client) == Some(false) {
            return false;
        }
        let is_ending = state.session == KeeperState::Ending;
        drop(state);
        match is_ending {
            true => self.cancel.raise(),
            false => self.stop(StopCause::Asked),
        }
        true
    }

    /// Brings a client up to date that did not read for long.
    pub(super) fn resync(&self, client: &Client) {
        let state = self.lock();
        let mut all = state.clients.iter();
        match all.find(|attached| attached.client.id == client.id) {
            Some(attached) => state.resync(attached),
            // The session has just ended for it.
            None => client.resync(std::iter::empty()),
        }
    }

    /// Shows a client each event after `since`, and those that follow.
    pub(super) fn listen(&self, since: &[SessionEvent]) -> Result<Arc<Client>, Refused> {
        let mut state = self.lock();
        // Also while the session ends: its end is what most wait for.
        has_room(state.listeners.len(), MOST_CLIENTS)?;
        let client = Arc::new(Client::new(state.new_id(), Delivery::Lossy));
        if let Ok(reply) = Frame::json(Kind::Reply, &Reply::Ok(Accepted::default())) {
            client.tell(&reply);
        }
        since.iter().for_each(|event| tell_event(&client, event));
        state.listeners.push(Arc::clone(&client));
        Ok(client)
    }

    /// Returns what happens from here on, to the end of the session.
    pub(super) fn watch(&self) -> Receiver<SessionEvent> {
        let (tell, told) = mpsc::channel();
        self.lock().watchers.push(tell);
        told
    }

    /// Ends what was begun with [`Hub::listen`].
    pub(super) fn unlisten(&self, client: &Client) {
        client.gone();
        self.lock()
            .listeners
            .retain(|listener| listener.id != client.id);
    }

    /// Writes down what happened, and tells every client.
    pub(super) fn happened(&self, what: Happening) {
        self.lock().happened(what);
    }

    /// Shows clients what lazaret itself says.
    pub(super) fn message(&self, text: &[u8]) {
        let frames: Vec<Frame> = Frame::parts(Kind::Message, text).collect();
        let state = self.lock();
        let mut followers = Vec::new();
        for Attached { client, .. } in &state.clients {
            match client.delivery {
                Delivery::Lossy => frames.iter().for_each(|frame| client.tell(frame)),
                Delivery::Lossless => followers.push(Arc::clone(client)),
            }
        }
        drop(state);
        for client in followers {
            frames.iter().for_each(|frame| client.deliver(frame));
        }
    }

    /// Counts a process beside the command.
    pub(super) fn exec_begins(&self, role: Role) -> Result<(), Refused> {
        /// The most of them at once; PID 1 has as many places.
        const MOST: usize = 31;
        let mut state = self.lock();
        state.accepts()?;
        state.is_not_paused()?;
        has_room(state.execs, MOST)?;
        state.execs += 1;
        state.note_use(role);
        Ok(())
    }

    /// Begins a turn, if none runs.
    pub(super) fn turn_begins(&self) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.turn {
            let text = "another turn runs in the session, or an editor has it".to_owned();
            return Err(refused(RefusalCode::Turn, text));
        }
        state.turn = true;
        Ok(())
    }

    /// Lets the next turn begin.
    pub(super) fn turn_ended(&self) {
        self.lock().turn = false;
    }

    /// Counts one less.
    pub(super) fn exec_ended(&self, role: Role) {
        let mut state = self.lock();
        state.execs = state.execs.saturating_sub(1);
        state.note_use(role);
    }

    /// Returns where the session is.
    pub(super) fn status(&self) -> KeeperStatus {
        let state = self.lock();
        KeeperStatus {
            state: state.keeper_state(),
            pid: std::process::id(),
            attached: state.clients.len(),
            driven: state.clients.iter().any(|attached| attached.drives),
            execs: state.execs,
            quiet_s: state.quiet_for().as_secs(),
            idle_s: state.limits.idle.map(|idle| idle.as_secs()),
            life_s: state.limits.life.map(|life| life.as_secs()),
            disk: Stored {
                used: state.disk.used.map(|used| used.bytes),
                limit: state.limits.disk.bytes,
            },
            inodes: Stored {
                used: state.disk.used.map(|used| used.inodes),
                limit: state.limits.disk.inodes,
            },
            services: Vec::new(),
        }
    }

    /// Changes the limits.
    pub(super) fn set_limits(&self, change: impl FnOnce(&mut Limits)) {
        change(&mut self.lock().limits);
        self.changed.notify_all();
    }

    /// Returns what the volume may hold now.
    pub(super) fn disk_limits(&self) -> DiskLimits {
        self.lock().limits.disk
    }

    /// Takes down what is known of the volume, and what becomes of the command.
    pub(super) fn disk(&self, state: DiskState) {
        let mut hub = self.lock();
        match state {
            DiskState::Counted(used) => hub.disk.used = Some(used),
            DiskState::Full(excess) => {
                hub.disk.excess = Some(excess);
                hub.happened(Happening::Disk {
                    bytes: excess.used.bytes,
                    inodes: excess.used.inodes,
                    by: excess.by,
                });
            }
            DiskState::Released => {
                hub.disk.excess = None;
                hub.happened(Happening::DiskReleased);
                // They say over the screen that it is paused.
                let all = hub.clients.iter();
                all.filter(|attached| attached.client.delivery == Delivery::Lossy)
                    .for_each(|attached| hub.resync(attached));
            }
            DiskState::StaysFull => {
                drop(hub);
                self.stop(StopCause::Disk);
            }
        }
    }

    /// Stops the session; a command that runs is ended. Only the first call counts.
    pub(super) fn stop(&self, why: StopCause) {
        let mut state = self.lock();
        if state.stop.is_some() {
            return;
        }
        state.stop = Some(why);
        // With the lock: a command that has ended meanwhile must not leave this for what follows.
        if state.session == KeeperState::Running {
            self.cancel.raise();
        }
        state.session = KeeperState::Ending;
        state.happened(Happening::Stopping { why });
        self.changed.notify_all();
    }

    /// Says that the command has ended. Its container stays or not.
    pub(super) fn command_ended(&self, happening: Happening) {
        let mut state = self.lock();
        let stays = matches!(happening, Happening::RunEnded { stays: true, .. });
        if state.stop.is_none() {
            state.session = match stays {
                true => KeeperState::Idle,
                false => KeeperState::Ending,
            };
        }
        state.happened(happening);
        self.changed.notify_all();
    }

    /// Waits until a client is attached, or the session is to be stopped, or for `limit`.
    pub(super) fn await_client(&self, limit: Duration) {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, limit, |state| {
            state.clients.is_empty() && state.stop.is_none()
        });
        drop(waited);
    }

    /// Waits for a moment, or until the session is to be stopped. Returns whether it is.
    pub(super) fn await_stop(&self, moment: Duration) -> bool {
        let state = self.lock();
        let waited = (self.changed).wait_timeout_while(state, moment, |state| state.stop.is_none());
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.stop.is_some()
    }

    /// Waits until a limit may have been reached, or is another one, or the session is to be
    /// stopped. Returns whether it is.
    pub(super) fn await_limit(&self, most: Duration) -> bool {
        let moment = self.until_limit().min(most);
        let state = self.lock();
        let limits = state.limits;
        let waited = self.changed.wait_timeout_while(state, moment, |state| {
            state.stop.is_none() && state.limits == limits
        });
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.stop.is_some()
    }

    /// Returns the limit that the session has reached, if any.
    pub(super) fn reached_limit(&self) -> Option<StopCause> {
        let state = self.lock();
        let reached = |limit: Option<Duration>, time| limit.is_some_and(|limit| time >= limit);
        if reached(state.limits.life, state.began.elapsed()) {
            return Some(StopCause::Life);
        }
        (!state.is_used() && reached(state.limits.idle, state.quiet_for()))
            .then_some(StopCause::Idle)
    }

    /// Returns how long no limit can be reached.
    fn until_limit(&self) -> Duration {
        let state = self.lock();
        let left = |limit: Option<Duration>, time: Duration| {
            limit.map_or(Duration::MAX, |limit| limit.saturating_sub(time))
        };
        let life = left(state.limits.life, state.began.elapsed());
        let idle = match state.is_used() {
            true => Duration::MAX,
            false => left(state.limits.idle, state.quiet_for()),
        };
        life.min(idle).max(Duration::from_millis(100))
    }

    /// Says how the session ended, and waits until every client has heard it. Those that want the
    /// report get it, however long they take to read it.
    pub(super) fn finish(&self, exit: Exit, report: &[u8]) {
        let (attached, listeners) = {
            let mut state = self.lock();
            let exit_code = exit.code;
            state.happened(Happening::Ended { exit_code });
            let behind = state.clients.iter();
            behind
                .filter(|attached| attached.client.is_behind())
                .for_each(|attached| state.resync(attached));
            state.watchers.clear();
            let attached = std::mem::take(&mut state.clients);
            (attached, std::mem::take(&mut state.listeners))
        };
        for Attached { client, .. } in attached.iter().filter(|attached| attached.report) {
            Frame::parts(Kind::Report, report).for_each(|frame| client.deliver(&frame));
        }
        let attached = attached.into_iter().map(|attached| attached.client);
        let clients: Vec<Arc<Client>> = attached.chain(listeners).collect();
        let last = Frame::json(Kind::Exit, &exit);
        for client in &clients {
            if let Ok(last) = &last {
                client.tell(last);
            }
            client.close();
        }
        clients.iter().for_each(|client| client.drain());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses one more if there are as many as there may be.
fn has_room(there: usize, most: usize) -> Result<(), Refused> {
    if there < most {
        return Ok(());
    }
    let text = "the session has as many clients as it can take".to_owned();
    Err(refused(RefusalCode::Busy, text))
}
