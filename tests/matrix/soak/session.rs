//! A session of a soak: started, hit, brought back, and checked at its end.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use lazaret_tests::Random;
use lazaret_tests::git_world::World;
use rustix::process::Signal;
use serde_json::Value;

use super::client::Client;
use super::keeper::Usage;
use super::parts::{self, Part};
use super::said::Said;
use super::work::Kind;
use crate::ctx::{Ctx, expect};
use crate::watch::wait_until;

/// One `start` of this many is killed too.
const KILLED_STARTS: usize = 4;
/// Within so many milliseconds.
const STARTING: usize = 3000;

#[derive(Debug)]
pub(super) struct Session<'a> {
    ctx: &'a Ctx,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether its keeper is left alone, so that one grows old.
    is_spared: bool,
    workspace: PathBuf,
    world: Option<World>,
    client: Option<Client>,
    /// What its clients saw.
    pub(super) heard: Said,
    young: Option<Usage>,
}

impl<'a> Session<'a> {
    /// Starts it, and a client.
    pub(super) fn start(ctx: &'a Ctx, number: usize, random: &mut Random) -> Result<Self, String> {
        let kind = Kind::of(number);
        let name = format!("s{number}");
        let world = (kind == Kind::Service).then(World::new);
        let workspace = match &world {
            Some(world) => world.path("main"),
            None => ctx.workspace(&name, "f a \"a\\n\"\n"),
        };
        let dir = workspace.display().to_string();
        let start = ["start", kind.profile(), "-w", &dir, "--name", &name];
        ctx.ok(&[&start[..], &["--apply", "never"]].concat())?;
        let client = Client::start(ctx, &name, kind, random)?;
        Ok(Self {
            ctx,
            name,
            kind,
            is_spared: number.is_multiple_of(4),
            workspace,
            world,
            client: Some(client),
            heard: Said::default(),
            young: None,
        })
    }

    /// What of it may be killed.
    pub(super) fn parts(&self) -> &'static [Part] {
        match self.is_spared {
            true => Part::mild(self.kind),
            false => Part::all(self.kind),
        }
    }

    /// Kills a part, and brings back what that ended; false if there is no such part now.
    pub(super) fn lose(&mut self, part: Part, random: &mut Random) -> Result<bool, String> {
        match part {
            Part::Client => self.kill_client()?,
            Part::Gateway => return parts::kill_container(self.ctx, &self.name, "gateway"),
            Part::Relay => return parts::kill_relay(self.ctx, &self.name),
            Part::Service => {
                let was_there = parts::kill_container(self.ctx, &self.name, "s_db")?;
                self.awaits_service()?;
                return Ok(was_there);
            }
            Part::Keeper => {
                self.ctx.kill_keeper(&self.name)?;
                self.comes_back(random)?;
            }
            Part::Command => {
                if !parts::kill_container(self.ctx, &self.name, "agent")? {
                    return Ok(false);
                }
                wait_until(
                    &format!("{} is at rest", self.name),
                    || Ok(!self.is_live()?),
                )?;
                self.comes_back(random)?;
            }
        }
        self.client = Some(Client::start(self.ctx, &self.name, self.kind, random)?);
        Ok(true)
    }

    /// Ends its client, if it has one.
    pub(super) fn kill_client(&mut self) -> Result<(), String> {
        match self.client.take() {
            Some(client) => client.kill(&mut self.heard),
            None => Ok(()),
        }
    }

    /// Waits until its command has said more.
    pub(super) fn goes_on(&self) -> Result<(), String> {
        let before = self.logged()?;
        wait_until(&format!("{} goes on", self.name), || {
            Ok(self.logged()? > before)
        })
    }

    /// Recovers it or has it go on at once. Sometimes a `start` is killed before.
    fn comes_back(&mut self, random: &mut Random) -> Result<(), String> {
        self.kill_client()?;
        if random.below(KILLED_STARTS) == 0 {
            self.recovers()?;
            let starting = self.ctx.spawn(&["start", &self.name])?;
            std::thread::sleep(Duration::from_millis(random.below(STARTING) as u64));
            // It may have ended.
            let _ended = starting.signal(Signal::KILL);
            starting.ends()?;
            wait_until(&format!("{} runs or is at rest", self.name), || {
                let shown = self.show()?;
                Ok(shown["live"] != Value::Bool(true) || shown["state"] == "running")
            })?;
            if self.is_live()? {
                return Ok(());
            }
        }
        self.recovers()?;
        self.ctx.ok(&["start", &self.name]).map(drop)
    }

    fn recovers(&self) -> Result<(), String> {
        self.ctx.ok(&["recover", &self.name]).map(drop)
    }

    /// Waits until PostgreSQL answers, and restarts it if it died too often.
    fn awaits_service(&self) -> Result<(), String> {
        wait_until(&format!("the service of {} is back", self.name), || {
            let line = ["--json", "services", &self.name];
            let services = self.ctx.run_json(&line)?;
            let state = &services["services"][0]["state"];
            if state == "down" {
                self.ctx.ok(&["services", &self.name, "--restart", "db"])?;
            }
            Ok(state == "ready")
        })
    }

    fn show(&self) -> Result<Value, String> {
        self.ctx.run_json(&["--json", "show", &self.name])
    }

    fn is_live(&self) -> Result<bool, String> {
        Ok(self.show()?["live"] == Value::Bool(true))
    }

    /// How many starts there were, and how many bytes the log of the last one has.
    fn logged(&self) -> Result<(usize, u64), String> {
        let runs = self
            .ctx
            .state()
            .join("sessions")
            .join(&self.name)
            .join("runs");
        let failed = |error: std::io::Error| format!("{}: {error}", runs.display());
        let last = fs::read_dir(&runs).map_err(failed)?.count();
        let segments = fs::read_dir(runs.join(last.to_string())).map_err(failed)?;
        let sizes = segments
            .flatten()
            .filter_map(|segment| segment.metadata().ok());
        Ok((last, sizes.map(|segment| segment.len()).sum()))
    }

    /// Looks at a spared keeper that no client holds: first when it is young, then when it is
    /// old.
    ///
    /// # Errors
    /// It has grown in between.
    pub(super) fn looks_at_keeper(&mut self, random: &mut Random) -> Result<(), String> {
        if !self.is_spared {
            return Ok(());
        }
        self.kill_client()?;
        self.goes_on()?;
        let usage = Usage::of(self.ctx, &self.name)?;
        match self.young {
            Some(young) => young.is_flat(&usage)?,
            None => self.young = Some(usage),
        }
        self.client = Some(Client::start(self.ctx, &self.name, self.kind, random)?);
        Ok(())
    }

    /// Checks what lives, then stops the session, and checks what it holds.
    pub(super) fn ends(mut self) -> Result<Said, String> {
        self.kill_client()?;
        if self.kind == Kind::Service {
            self.has_rows()?;
        }
        self.ctx.ok(&["stop", &self.name])?;
        let mut logged = self.logs()?;
        logged.holds(&self.heard)?;
        // A command beside is in no log.
        for (name, digest) in self.heard.files {
            logged.files.entry(name).or_insert(digest);
        }
        if let Some(world) = &self.world {
            self.ctx
                .ok(&["commits", "land", &self.name, "--lost", "--yes"])?;
            let landed = world.git("main", &["rev-list", "--all"]);
            let landed: Vec<&str> = landed.lines().collect();
            for commit in &logged.commits {
                expect(&format!("commit {commit} is there"), || {
                    landed.contains(&&**commit)
                })?;
            }
        }
        self.ctx.ok(&["apply", &self.name, "--yes"])?;
        for (name, digest) in &logged.files {
            let path = self.workspace.join(name);
            let found = duct::cmd!("sha256sum", path).read();
            let found = found.map_err(|error| format!("{name}: {error}"))?;
            expect(&format!("{name} is as it was: {found}"), || {
                found.starts_with(digest)
            })?;
        }
        self.ctx.ok(&["rm", &self.name])?;
        Ok(logged)
    }

    /// Everything that its starts printed.
    fn logs(&self) -> Result<Said, String> {
        let mut said = Said::default();
        for start in 1..=self.logged()?.0 {
            let start = start.to_string();
            let log = self.ctx.ok(&["logs", &self.name, "--run", &start])?;
            said.logged(&log.stdout)?;
        }
        Ok(said)
    }

    /// Each row that was acknowledged is there, and each row once.
    fn has_rows(&self) -> Result<(), String> {
        self.awaits_service()?;
        let said = self.logs()?;
        let select = ["psql", "-h", "localhost", "-qAtc", "select id from t"];
        let select = [&["exec", &self.name, "--"][..], &select].concat();
        let found = self.ctx.ok(&select)?.stdout;
        let mut found: Vec<&str> = found.lines().collect();
        found.sort_unstable();
        let rows = found.len();
        found.dedup();
        expect("each row is there once", || rows == found.len())?;
        for row in &said.rows {
            expect(&format!("row {row} is there"), || {
                found.binary_search(&&**row).is_ok()
            })?;
        }
        Ok(())
    }
}
