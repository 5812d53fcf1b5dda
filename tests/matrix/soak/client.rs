//! A client of a session: it looks on, or runs a command beside.

use lazaret_tests::Random;
use rustix::process::Signal;

use super::said::Said;
use super::work::{self, Kind};
use crate::ctx::Ctx;
use crate::lazaret::Running;
use crate::terminal::Person;

#[derive(Debug)]
pub(super) struct Client {
    running: Running,
    /// Whose terminal it has.
    person: Option<Person>,
}

impl Client {
    /// Starts a client of a session of this kind.
    pub(super) fn start(
        ctx: &Ctx,
        session: &str,
        kind: Kind,
        random: &mut Random,
    ) -> Result<Self, String> {
        if kind == Kind::Terminal {
            let person = Person::sit_down(80, 24)?;
            let attach = ctx.call(&["attach", session, "--take"]);
            let attach = attach.env("TERM", "xterm-256color");
            return Ok(Self {
                running: attach.on_terminal(person.terminal()?).start()?,
                person: Some(person),
            });
        }
        let beside = work::beside();
        let call: &[&str] = match random.below(3) {
            0 => &["attach", session],
            1 => &["logs", session, "--follow"],
            _ => &["exec", session, "--", "bash", "-c", &beside],
        };
        Ok(Self {
            running: ctx.spawn(call)?,
            person: None,
        })
    }

    /// Ends it by SIGKILL, if it has not ended by itself, and reads what it saw.
    pub(super) fn kill(self, said: &mut Said) -> Result<(), String> {
        if self.running.is_running() {
            // It may end meanwhile.
            let _ended = self.running.signal(Signal::KILL);
        }
        let ended = self.running.wait()?;
        said.seen(&ended.stdout);
        if let Some(person) = self.person {
            said.seen(&person.seen());
        }
        Ok(())
    }
}
