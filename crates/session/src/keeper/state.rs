//! `State`: what a hub knows of its session and its clients, under one lock.

use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender};
use std::time::{Duration, Instant};

use lazaret_protocol::usage::Amount;
use lazaret_runtime::TerminalSize;

use super::answer::refused;
use super::client::{Client, Delivery};
use super::drawn::{Drawn, Printed};
use super::frame::{Channel, Frame, Kind};
use super::journal::{Happening, Journal, SessionEvent, StopCause};
use super::limits::Limits;
use super::message::{KeeperState, RefusalCode, Refused, Role};
use crate::lifecycle::disk_limits::DiskExcess;
use crate::output::command_input::Typed;

/// What a hub knows.
#[derive(Debug)]
pub(super) struct State {
    pub(super) drawn: Drawn,
    pub(super) clients: Vec<Attached>,
    pub(super) listeners: Vec<Arc<Client>>,
    /// In this process.
    pub(super) watchers: Vec<Sender<SessionEvent>>,
    pub(super) next_id: u64,
    pub(super) typed: SyncSender<Typed>,
    pub(super) journal: Journal,
    pub(super) session: KeeperState,
    pub(super) stop: Option<StopCause>,
    pub(super) execs: usize,
    /// Whether one of them is a turn.
    pub(super) turn: bool,
    pub(super) limits: Limits,
    pub(super) disk: Disk,
    pub(super) quiet_since: Instant,
    pub(super) began: Instant,
}

/// What is known of the session's volume.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// What it held when it was counted last.
    pub(super) used: Option<Amount>,
    /// Why the command is paused, if it is.
    pub(super) excess: Option<DiskExcess>,
}

/// A client that is attached to the command.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) client: Arc<Client>,
    pub(super) drives: bool,
    /// Of its terminal, if it has one.
    pub(super) size: Option<TerminalSize>,
    /// See [`Attach::report`](super::message::Attach::report).
    pub(super) report: bool,
}

impl Attached {
    /// Returns the size of its terminal if that is another one than the command's, so that what the
    /// command writes would not fit: it looks on, and is drawn for.
    fn crop(&self, drawn: &Drawn) -> Option<TerminalSize> {
        let looks_on = !self.drives && self.client.delivery == Delivery::Lossy;
        let size = self.size.filter(|_| looks_on)?;
        (drawn.size()? != size).then_some(size)
    }
}

impl State {
    /// Gives output to those who look on. Returns those who follow.
    pub(super) fn show(&self, frames: &[Frame]) -> Vec<Arc<Client>> {
        let mut followers = Vec::new();
        for attached in &self.clients {
            let client = &attached.client;
            match (client.delivery, attached.crop(&self.drawn)) {
                (Delivery::Lossless, _) => followers.push(Arc::clone(client)),
                (Delivery::Lossy, Some(_)) => client.is_to_be_drawn(),
                (Delivery::Lossy, None) => frames.iter().for_each(|frame| client.offer(frame)),
            }
        }
        followers
    }

    /// Brings a client up to date.
    pub(super) fn resync(&self, attached: &Attached) {
        let frames = self.drawn.frames(attached.crop(&self.drawn));
        attached.client.resync(frames.into_iter());
    }

    /// Has everything drawn anew for those who look on.
    pub(super) fn redraw(&self) {
        let lookers = self.clients.iter().filter(|attached| !attached.drives);
        for Attached { client, .. } in lookers {
            if client.delivery == Delivery::Lossy {
                client.is_to_be_drawn();
            }
        }
    }

    /// Refuses what comes too late.
    pub(super) fn accepts(&self) -> Result<(), Refused> {
        match self.session {
            KeeperState::Running | KeeperState::Idle | KeeperState::Paused => Ok(()),
            KeeperState::Ending => {
                let text = "the session is ending".to_owned();
                Err(refused(RefusalCode::Ending, text))
            }
        }
    }

    /// Refuses what a paused command could not do.
    pub(super) fn is_not_paused(&self) -> Result<(), Refused> {
        match self.disk.excess {
            None => Ok(()),
            Some(_) => {
                let text = "the session holds more than its limits allow, and is paused".to_owned();
                Err(refused(RefusalCode::Paused, text))
            }
        }
    }

    /// Returns where the session is.
    pub(super) fn keeper_state(&self) -> KeeperState {
        match (self.session, self.disk.excess) {
            (KeeperState::Running | KeeperState::Idle, Some(_)) => KeeperState::Paused,
            (state, _) => state,
        }
    }

    /// Whether a user is at work with it.
    pub(super) fn is_used(&self) -> bool {
        let mut clients = self.clients.iter();
        self.execs > 0
            || clients
                .any(|attached| attached.drives || attached.client.delivery == Delivery::Lossless)
    }

    /// Notes that a process beside the command is used. A look of lazaret's own is no work: one
    /// that comes again and again would keep a session up that `limits.idle` ends.
    pub(super) fn note_use(&mut self, role: Role) {
        if role != Role::Porter {
            self.quiet_since = Instant::now();
        }
    }

    /// Whether a client drives; `None` once the session is over for it.
    pub(super) fn drives(&self, client: &Client) -> Option<bool> {
        let mut all = self.clients.iter();
        let attached = all.find(|attached| attached.client.id == client.id)?;
        Some(attached.drives)
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn unseat(&mut self) {
        for attached in &mut self.clients {
            attached.drives = false;
        }
    }

    pub(super) fn quiet_for(&self) -> Duration {
        self.quiet_since.elapsed()
    }

    pub(super) fn resize(&mut self, size: TerminalSize) {
        if self.drawn.has_terminal() {
            self.drawn.resize(size);
            self.redraw();
            drop(self.typed.try_send(Typed::Resize(size)));
        }
    }

    /// Notes the size of a client's terminal.
    pub(super) fn is_resized(&mut self, client: &Client, size: TerminalSize) {
        let mut all = self.clients.iter_mut();
        if let Some(attached) = all.find(|attached| attached.client.id == client.id) {
            attached.size = Some(size);
            // One that drives has the command draw.
            if !attached.drives {
                client.is_to_be_drawn();
            }
        }
    }

    pub(super) fn happened(&mut self, what: Happening) {
        let event = self.journal.add(what);
        let clients = self.clients.iter().map(|attached| &attached.client);
        for client in clients.chain(&self.listeners) {
            tell_event(client, &event);
        }
        self.watchers
            .retain(|watcher| watcher.send(event.clone()).is_ok());
    }

    /// Draws what was printed. Returns what clients are to get.
    pub(super) fn draw(&mut self, channel: Channel, chunk: &[u8]) -> Vec<Frame> {
        let Printed {
            frames,
            replies,
            notice,
        } = self.drawn.draw(channel, chunk);
        let is_driven = self.clients.iter().any(|attached| attached.drives);
        if !is_driven && !replies.is_empty() {
            drop(self.typed.try_send(Typed::Keys(replies)));
        }
        if let Some(notice) = notice {
            self.happened(Happening::NeedsInput { text: notice.text });
        }
        frames
    }
}

pub(super) fn tell_event(client: &Client, event: &SessionEvent) {
    if let Ok(frame) = Frame::json(Kind::Event, event) {
        client.tell(&frame);
    }
}
