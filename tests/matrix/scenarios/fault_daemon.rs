//! An engine that dies under a session, or runs out of room: a private one.

use rustix::process::Signal;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::{Ended, Line, Running};
use crate::private_engine::{PrivateEngine, ROOMY};
use crate::watch::{phase, sparse, stamp};

scenarios! {
    "fault/daemon-killed-while-copying-in" => while_copying_in;
    "fault/daemon-killed-while-running" => while_running;
    "fault/daemon-killed-while-collecting" => while_collecting;
    "fault/full-disk-in-the-engine" => full_disk;
}

/// A session on the private engine, with all that its scenario needs of it.
struct Session<'a> {
    ctx: &'a Ctx,
    engine: PrivateEngine,
    workspace: std::path::PathBuf,
    before: Vec<String>,
}

impl<'a> Session<'a> {
    fn new(ctx: &'a Ctx, size: u64) -> Result<Self, String> {
        let workspace = ctx.workspace("project", "f a \"a\\n\"");
        sparse(&workspace.join("big"), size)?;
        let before = stamp(&workspace);
        ctx.profile(
            "roomy",
            "image = \"base\"\n[gate]\nmax_file_bytes = \"2g\"\n",
        );
        let engine = PrivateEngine::start(ctx, ROOMY)?;
        Ok(Self {
            ctx,
            engine,
            workspace,
            before,
        })
    }

    fn start(&self, script: &str) -> Result<Running, String> {
        self.ctx
            .script("run roomy -w project --name s --apply auto", script)
            .env("LAZARET_ENGINE", &self.engine.endpoint())
            .start()
    }

    /// A verb on the private engine.
    fn lazaret_there(&self, line: &(impl Line + ?Sized)) -> Result<Ended, String> {
        let endpoint = self.engine.endpoint();
        self.ctx.call(line).env("LAZARET_ENGINE", &endpoint).run()
    }

    /// A verb that takes the engine from the session's record.
    fn lazaret(&self, line: &(impl Line + ?Sized)) -> Result<Ended, String> {
        self.ctx.call(line).env("LAZARET_ENGINE", "").run()
    }

    /// Lazaret says that it failed, changes nothing, and still knows the session.
    fn failed(&self, lazaret: Running) -> Result<(), String> {
        let output = lazaret.wait()?.expect_code(125)?.expect_text("error: ")?;
        expect("no panic", || !output.stderr.contains("panicked"))?;
        self.untouched()?;
        let listed = self.lazaret(&["ls", "--json"])?.expect_code(0)?.json()?;
        expect_eq("the session", &listed[0]["session"], "s")?;
        expect_eq("its state", &listed[0]["state"], "broken")?;
        // Nothing can be done without its engine, and nothing gets lost by trying.
        self.lazaret(&["recover", "s"])?
            .expect_code(125)?
            .expect_text("engine")?;
        self.lazaret(&["rm", "--force", "s"])?.expect_code(125)?;
        expect_eq(
            "its phase is still known",
            &phase(self.ctx).is_some(),
            &true,
        )
    }

    fn untouched(&self) -> Result<(), String> {
        expect_eq("the workspace", &stamp(&self.workspace), &self.before)
    }

    /// What the command did is there after all, and goes when the user says so.
    fn recovered(mut self) -> Result<(), String> {
        self.engine.restart()?;
        self.lazaret(&["recover", "s"])?
            .expect_code(0)?
            .expect_text("collected")?;
        self.lazaret(&["diff", "s", "a"])?
            .expect_code(0)?
            .expect_text("+work")?;
        self.untouched()?;
        self.lazaret(&["rm", "--force", "s"])?.expect_code(0)?;
        self.nothing_is_left()
    }

    fn nothing_is_left(&self) -> Result<(), String> {
        // Sessions that are settled stay listed until then; what it removes on the engine
        // besides would have been left behind.
        let pruned = self
            .lazaret_there(&["prune", "--yes", "--older-than", "0s", "--json"])?
            .expect_code(0)?
            .json()?;
        for what in ["containers", "volumes"] {
            expect_eq(what, &pruned[what].as_array().map(Vec::len), &Some(0))?;
        }
        let listed = self.lazaret(&["ls", "--json"])?.expect_code(0)?.json()?;
        expect_eq("sessions", &listed.as_array().map(Vec::len), &Some(0))?;
        let left = self.engine.objects(self.ctx)?;
        expect(&format!("nothing on the engine, of {left:?}"), || {
            left.is_empty()
        })
    }
}

/// The command never starts, and what was made is removed as soon as the engine is back.
fn while_copying_in(ctx: &Ctx) -> Result<(), String> {
    let mut session = Session::new(ctx, 1 << 30)?;
    let lazaret = session.start("echo started > started")?;
    lazaret.until_copying_in(ctx)?;
    session.engine.kill()?;
    session.failed(lazaret)?;
    session.engine.restart()?;
    session
        .lazaret(&["recover"])?
        .expect_code(0)?
        .expect_text("had not started")?;
    session.untouched()?;
    session.nothing_is_left()
}

fn while_running(ctx: &Ctx) -> Result<(), String> {
    let mut session = Session::new(ctx, 1000)?;
    let lazaret = session.start("echo work >> a; echo up and running; sleep 600")?;
    lazaret.until_said("up and running")?;
    session.engine.kill()?;
    session.failed(lazaret)?;
    session.recovered()
}

fn while_collecting(ctx: &Ctx) -> Result<(), String> {
    let mut session = Session::new(ctx, 1000)?;
    let lazaret = session.start("echo work >> a; head -c 500000000 /dev/zero > big")?;
    lazaret.until_collecting(ctx)?;
    session.engine.kill()?;
    session.failed(lazaret)?;
    session.recovered()
}

/// There is less room than the workspace needs: lazaret says so and leaves nothing.
fn full_disk(ctx: &Ctx) -> Result<(), String> {
    const ROOM: u64 = 100 << 20;
    let session = Session::new(ctx, 2 * ROOM)?;
    // The first start of all may need room for more than the workspace: rootless Podman
    // makes a copy of the image for the user's ids.
    ctx.workspace("other", "f a \"a\"");
    session
        .lazaret_there(&[
            "run", "base", "-w", "other", "--apply", "auto", "--", "true",
        ])?
        .expect_code(0)?;
    session.engine.leave_room(ROOM)?;
    let lazaret = session.start("echo started > started")?;
    lazaret
        .wait()?
        .expect_code(125)?
        // Podman's attach may break before the porter's own words ("No space left on
        // device") are out; that the copy failed, and nothing else, is what must be said.
        .expect_text("porter receive")?;
    session.untouched()?;
    session.nothing_is_left()?;
    // With room again, it works: nothing was spoilt.
    session.engine.leave_room(6 * ROOM)?;
    let lazaret = session.start("echo work >> a; rm big; echo up and running; sleep 600")?;
    lazaret.until_said("up and running")?;
    lazaret.signal(Signal::INT)?;
    lazaret.wait()?.expect_code(130)?;
    session.lazaret(&["rm", "--force", "s"])?.expect_code(0)?;
    session.nothing_is_left()
}
