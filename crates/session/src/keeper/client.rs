//! `Client`: what waits to be written to one client.
//!
//! The command never waits for a client that looks on: what such a client does not read in time is
//! thrown away, and it gets the whole screen once it reads again. One whose terminal has another
//! size gets nothing else: its part of the screen, at most ten times a second. Only a client that follows holds
//! the command up, as a pipe does.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::frame::Frame;

/// The most bytes of output that wait for a client.
const MOST: usize = 1 << 20;

/// The most bytes of anything: a client that does not read for so long is given up.
const GIVE_UP: usize = 4 << 20;

/// How long the last words may take to reach a client that looks on.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long a screen stays that was drawn for a client: more than ten a second are not seen.
const REDRAW: Duration = Duration::from_millis(100);

/// What becomes of output that a client does not read in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is thrown away.
    Lossy,
    /// The command waits.
    Lossless,
}

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: u64,
    pub(super) delivery: Delivery,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Output was thrown away, and nothing was sent in its place yet.
    is_behind: bool,
    /// When something was sent in the place of output.
    resynced: Option<Instant>,
    /// Nothing is added any more.
    is_closed: bool,
    /// Nothing is written any more.
    is_gone: bool,
}

/// What is to be written next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What makes up for what was thrown away.
    Resync,
    /// Nothing more.
    End,
}

impl Client {
    pub(super) fn new(id: u64, delivery: Delivery) -> Self {
        Self {
            id,
            delivery,
            queue: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Adds output, or throws it away with all that waits. Never waits.
    pub(super) fn offer(&self, frame: &Frame) {
        let mut queue = self.lock();
        if queue.is_closed || queue.is_behind {
            return;
        }
        let bytes = frame.to_bytes();
        if queue.bytes + bytes.len() > MOST {
            queue.frames.clear();
            queue.bytes = 0;
            queue.is_behind = true;
        } else {
            queue.add(bytes);
        }
        self.changed.notify_all();
    }

    /// Says that all is to be drawn anew in place of what is written since.
    pub(super) fn is_to_be_drawn(&self) {
        let mut queue = self.lock();
        if !queue.is_closed {
            queue.is_behind = true;
        }
        self.changed.notify_all();
    }

    /// Whether output was thrown away, and nothing was sent in its place yet.
    pub(super) fn is_behind(&self) -> bool {
        self.lock().is_behind
    }

    /// Adds output, as soon as there is room or the client is gone.
    pub(super) fn deliver(&self, frame: &Frame) {
        let bytes = frame.to_bytes();
        let mut queue = self.lock();
        while !queue.is_closed && !queue.is_gone && queue.bytes > MOST {
            queue = wait(self.changed.wait(queue));
        }
        if !queue.is_closed && !queue.is_gone {
            queue.add(bytes);
        }
        self.changed.notify_all();
    }

    /// Adds what is small, and may not be lost. A client with too much of it is given up.
    pub(super) fn tell(&self, frame: &Frame) {
        let mut queue = self.lock();
        if !queue.is_closed {
            queue.add(frame.to_bytes());
        }
        if queue.bytes > GIVE_UP {
            queue.give_up();
        }
        self.changed.notify_all();
    }

    /// Adds what makes up for what was thrown away; from here on the client is up to date.
    pub(super) fn resync(&self, frames: impl Iterator<Item = Frame>) {
        let mut queue = self.lock();
        queue.is_behind = false;
        queue.resynced = Some(Instant::now());
        for frame in frames {
            queue.add(frame.to_bytes());
        }
        self.changed.notify_all();
    }

    /// Takes what is to be written next, as soon as there is something.
    pub(super) fn next(&self) -> Next {
        let mut queue = self.lock();
        loop {
            if queue.is_gone {
                return Next::End;
            }
            if let Some(bytes) = queue.frames.pop_front() {
                queue.bytes -= bytes.len();
                self.changed.notify_all();
                return Next::Bytes(bytes);
            }
            queue = match (queue.is_behind, queue.is_closed) {
                (_, true) => return Next::End,
                (false, false) => wait(self.changed.wait(queue)),
                (true, false) => match queue.until_redrawn() {
                    Duration::ZERO => return Next::Resync,
                    left => {
                        let waited = self.changed.wait_timeout(queue, left);
                        waited.unwrap_or_else(PoisonError::into_inner).0
                    }
                },
            };
        }
    }

    /// Takes no more; what waits is still written.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Says that nothing can be written any more.
    pub(super) fn gone(&self) {
        self.lock().give_up();
        self.changed.notify_all();
    }

    /// Waits until all is written or the client is gone; for one that looks on, not for long.
    pub(super) fn drain(&self) {
        let queue = self.lock();
        match self.delivery {
            Delivery::Lossless => {
                drop(self.changed.wait_while(queue, |queue| !queue.is_gone));
            }
            Delivery::Lossy => {
                let is_there = |queue: &mut Queue| !queue.is_gone;
                drop((self.changed).wait_timeout_while(queue, LAST_WORDS, is_there));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'a>(
    waited: Result<MutexGuard<'a, Queue>, PoisonError<MutexGuard<'a, Queue>>>,
) -> MutexGuard<'a, Queue> {
    waited.unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    fn add(&mut self, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.frames.push_back(bytes);
    }

    /// Returns how long nothing is to be drawn anew.
    fn until_redrawn(&self) -> Duration {
        let since = self.resynced.map(|at| at.elapsed());
        since.map_or(Duration::ZERO, |since| REDRAW.saturating_sub(since))
    }

    fn give_up(&mut self) {
        self.is_gone = true;
        self.is_closed = true;
        self.frames.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::frame::Channel;
    use super::*;

    fn output(byte: u8) -> Frame {
        Frame::data(Channel::Stdout, &[byte; 60_000])
            .next()
            .expect("one frame")
    }

    #[test]
    fn a_client_that_does_not_read_holds_nothing_up() {
        let client = Client::new(1, Delivery::Lossy);
        for _ in 0..1000 {
            client.offer(&output(1));
        }
        assert!(client.lock().bytes <= MOST);
        assert_eq!(client.next(), Next::Resync);
        client.resync([output(2)].into_iter());
        client.offer(&output(3));
        assert_eq!(client.next(), Next::Bytes(output(2).to_bytes()));
        assert_eq!(client.next(), Next::Bytes(output(3).to_bytes()));
        client.close();
        assert_eq!(client.next(), Next::End);
    }

    #[test]
    fn a_client_that_follows_gets_all() {
        let client = Client::new(1, Delivery::Lossless);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..100 {
                    client.deliver(&output(number));
                }
                client.close();
            });
            for number in 0..100 {
                assert_eq!(client.next(), Next::Bytes(output(number).to_bytes()));
            }
            assert_eq!(client.next(), Next::End);
        });
    }

    #[test]
    fn a_client_that_never_reads_is_given_up() {
        let client = Client::new(1, Delivery::Lossy);
        for _ in 0..1000 {
            client.tell(&output(1));
        }
        assert_eq!(client.next(), Next::End);
        assert_eq!(client.lock().bytes, 0);
    }

    #[test]
    fn a_client_that_is_gone_holds_nothing_up() {
        let client = Client::new(1, Delivery::Lossless);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..100 {
                    client.deliver(&output(number));
                }
            });
            client.gone();
        });
        assert_eq!(client.next(), Next::End);
    }
}
