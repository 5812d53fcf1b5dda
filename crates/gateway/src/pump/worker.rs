//! `Worker`: one thread of the pump.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lazaret_egress::{Denied, Policy};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

use super::budget::Budget;
use super::spec::TunnelSpec;
use super::tunnel::{Going, Tunnel, of_data};

/// What is read at once, in bytes.
const SCRATCH: usize = 256 * 1024;
/// Events fetched at once.
const EVENTS: usize = 64;
/// How often idle tunnels are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// What epoll calls the bell; tunnels count from 1.
const BELL: u64 = 0;

/// What a worker is told.
pub(super) enum Command {
    /// Carry this as well.
    Add(TunnelSpec),
    /// Close what this does not allow.
    Judge(Arc<Policy>),
    /// Close everything and end.
    Stop,
}

/// One thread of the pump.
pub(super) struct Worker {
    epoll: OwnedFd,
    bell: OwnedFd,
    /// `None` when it has stopped: what it is told then is dropped, and closed by that.
    commands: Mutex<Option<Vec<Command>>>,
    budget: Arc<Budget>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

/// The tunnels of a worker.
struct Load {
    tunnels: HashMap<u64, Tunnel>,
    last_key: u64,
}

impl Worker {
    pub(super) fn new(budget: Arc<Budget>) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Self {
            epoll,
            bell,
            commands: Mutex::new(Some(Vec::new())),
            budget,
        })
    }

    pub(super) fn tell(&self, command: Command) {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        match commands.as_mut() {
            Some(commands) => commands.push(command),
            None => return,
        }
        drop(commands);
        // A full counter rings as well.
        let _rung = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    pub(super) fn run(&self) {
        let mut load = Load {
            tunnels: HashMap::new(),
            last_key: 0,
        };
        let mut scratch = vec![0; SCRATCH];
        let mut events = Vec::with_capacity(EVENTS);
        let mut swept = Instant::now();
        loop {
            let timeout = (!load.tunnels.is_empty()).then(|| Timespec {
                tv_sec: SWEEP.as_secs().try_into().unwrap_or(1),
                tv_nsec: 0,
            });
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                timeout.as_ref(),
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                // Only a fault of this code could bring it; closing everything is safe.
                Err(_) => return self.stop(),
            }
            for event in &events {
                // The fields of the kernel's packed structure can't be borrowed.
                let (data, flags) = (event.data, event.flags);
                if data.u64() == BELL {
                    continue;
                }
                let (key, end) = of_data(data);
                let Some(tunnel) = load.tunnels.get_mut(&key) else {
                    continue;
                };
                let going = tunnel.act(end, flags, &mut scratch, &self.epoll, key, &self.budget);
                load.settle(key, going);
            }
            if self.obey(&mut load) == Going::Over {
                return self.stop();
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                load.sweep(self.budget.idle);
            }
        }
    }

    fn stop(&self) {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        *commands = None;
    }

    /// Does what was asked for; [`Going::Over`] when it was to stop.
    fn obey(&self, load: &mut Load) -> Going {
        let mut counter = [0; 8];
        let _silenced = rustix::io::read(&self.bell, &mut counter);
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = commands.replace(Vec::new());
        drop(commands);
        for command in taken.into_iter().flatten() {
            match command {
                Command::Add(spec) => {
                    load.last_key += 1;
                    let key = load.last_key;
                    let (mut tunnel, first) = Tunnel::new(spec);
                    let going = tunnel.begin(&first, &self.epoll, key, &self.budget);
                    load.tunnels.insert(key, tunnel);
                    load.settle(key, going);
                }
                Command::Judge(policy) => load.judge(&policy),
                Command::Stop => return Going::Over,
            }
        }
        Going::On
    }
}

impl Load {
    fn settle(&mut self, key: u64, going: Result<Going, Denied>) {
        let reason = match going {
            Ok(Going::On) => return,
            Ok(Going::Over) => None,
            Err(denied) => Some(denied),
        };
        if let Some(tunnel) = self.tunnels.remove(&key) {
            tunnel.close(reason);
        }
    }

    fn sweep(&mut self, idle: Duration) {
        let now = Instant::now();
        let tunnels = self
            .tunnels
            .extract_if(|_, tunnel| tunnel.is_idle(now, idle));
        for (_, tunnel) in tunnels.collect::<Vec<_>>() {
            tunnel.close(Some(Denied::Idle));
        }
        let tunnels = self
            .tunnels
            .extract_if(|_, tunnel| tunnel.has_lingered(now));
        for (_, tunnel) in tunnels.collect::<Vec<_>>() {
            tunnel.close(None);
        }
    }

    fn judge(&mut self, policy: &Policy) {
        let judged = self
            .tunnels
            .iter()
            .filter_map(|(key, tunnel)| Some((*key, tunnel.judge(policy).err()?)));
        for (key, denied) in judged.collect::<Vec<_>>() {
            self.settle(key, Err(denied));
        }
    }
}
