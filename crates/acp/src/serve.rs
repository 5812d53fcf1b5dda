//! `serve`: reads and writes around the translation.

use std::fmt;
use std::io::{BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use lazaret_json::{Line, next_line};

use crate::host::Host;
use crate::message::{MOST_LINE, said};
use crate::paths::Paths;
use crate::proxy::{Action, Prompt, Proxy};
use crate::turn_end::TurnEnd;

/// The most lines that wait for an agent to read them.
const MOST_LINES: usize = 4;

/// Between whom is translated.
pub struct Streams {
    /// What the editor writes.
    pub from_editor: Box<dyn Read + Send>,
    /// What the editor reads.
    pub to_editor: Box<dyn Write + Send>,
    /// What the agent writes.
    pub from_agent: Box<dyn Read + Send>,
    /// What the agent reads; dropped when the editor says no more.
    pub to_agent: Box<dyn Write + Send>,
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

/// Translates until the agent writes no more. `ended` is what the editor is told then, where it
/// still waits for an answer.
///
/// The editor is read on a thread that is not waited for. If a side does not read, the other one is
/// not read: no more than a few lines are held.
pub fn serve(host: Arc<dyn Host>, paths: Paths, streams: Streams, ended: impl FnOnce() -> String) {
    let (to_agent, lines) = mpsc::sync_channel(MOST_LINES);
    let shared = Arc::new(Shared {
        proxy: Mutex::new(Proxy::new(Arc::clone(&host), paths)),
        host,
        to_editor: Mutex::new(streams.to_editor),
        to_agent,
    });
    let (write, read) = (streams.to_agent, streams.from_editor);
    thread::spawn(move || write_lines(write, &lines));
    let editor = Arc::clone(&shared);
    thread::spawn(move || {
        each_line(read, |line| {
            let actions = editor.proxy().from_editor(line);
            editor.act(actions);
        });
        // The agent reads to the end what was written before.
        drop(editor.to_agent.send(None));
        editor.host.hang_up();
    });
    each_line(streams.from_agent, |line| {
        let actions = shared.proxy().from_agent(line);
        shared.act(actions);
    });
    let actions = shared.proxy().refuse_all(&ended());
    shared.act(actions);
}

/// What both directions share.
struct Shared {
    proxy: Mutex<Proxy>,
    host: Arc<dyn Host>,
    to_editor: Mutex<Box<dyn Write + Send>>,
    /// `None` is the end.
    to_agent: SyncSender<Option<Vec<u8>>>,
}

impl Shared {
    fn proxy(&self) -> MutexGuard<'_, Proxy> {
        self.proxy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn act(&self, actions: Vec<Action>) {
        for action in actions {
            match action {
                // An agent that has ended reads nothing; its end is seen elsewhere.
                Action::ToAgent(line) => drop(self.to_agent.send(Some(line))),
                // One that floods, and does not read what it is told, is not waited for.
                Action::ReplyToAgent(line) => drop(self.to_agent.try_send(Some(line))),
                Action::ToEditor(line) => self.to_editor(line),
                Action::Prompt(prompt) => self.prompt(prompt),
                Action::TurnEnded(turn) => self.turn_ended(turn),
                Action::NeedsInput(text) => self.host.needs_input(&text),
                Action::Note(text) => self.host.note(&text),
            }
        }
    }

    fn prompt(&self, prompt: Prompt) {
        let synced = self.host.sync();
        for notice in prompt.notices {
            self.to_editor(said(&prompt.session, &format!("{notice}\n\n")));
        }
        match synced {
            Ok(notice) => {
                if let Some(notice) = notice {
                    self.to_editor(said(&prompt.session, &format!("{notice}\n\n")));
                }
                drop(self.to_agent.send(Some(prompt.line)));
            }
            Err(why) => {
                let line = self.proxy().refuse(&prompt.id, &why);
                line.into_iter().for_each(|line| self.to_editor(line));
            }
        }
    }

    fn turn_ended(&self, turn: TurnEnd) {
        if let Some(text) = self.host.turn_ended(&turn) {
            self.to_editor(said(&turn.session, &format!("\n\n{text}")));
        }
        self.to_editor(turn.line);
    }

    fn to_editor(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let mut out = self
            .to_editor
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if out.write_all(&line).and_then(|()| out.flush()).is_err() {
            self.host.hang_up();
        }
    }
}

/// Reads to the end; `None` is a line that has too many bytes.
fn each_line(input: Box<dyn Read + Send>, mut act: impl FnMut(Option<&[u8]>)) {
    let mut input = BufReader::with_capacity(64 << 10, input);
    loop {
        match next_line(&mut input, MOST_LINE) {
            Ok(Some(Line::Blank)) => {}
            Ok(Some(Line::Whole(line))) => act(Some(&line)),
            Ok(Some(Line::TooLong)) => act(None),
            Ok(None) | Err(_) => return,
        }
    }
}

fn write_lines(mut output: Box<dyn Write + Send>, lines: &Receiver<Option<Vec<u8>>>) {
    while let Ok(Some(mut line)) = lines.recv() {
        line.push(b'\n');
        if output
            .write_all(&line)
            .and_then(|()| output.flush())
            .is_err()
        {
            return;
        }
    }
}
