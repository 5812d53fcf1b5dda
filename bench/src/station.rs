//! One engine, ready to be measured: our image is there, and everything has a name of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use xshell::{Cmd, Shell, cmd};

use super::corpus::{Corpus, TREE};
use super::engine::Cli;
use super::timing::{self, GREET, Greeted, Stream};

/// `lazaret run` whose changes wait for a review.
const KEPT: i32 = 120;
/// Marks what a bench has made, whatever becomes of it.
const LABEL: &str = "io.lazaret.bench=1";

#[derive(Debug)]
pub(super) struct EngineUnderTest<'a> {
    sh: &'a Shell,
    pub(super) cli: Cli,
    /// As users get it: optimised.
    lazaret: PathBuf,
    image: String,
    pub(super) version: String,
    /// Everything that this run makes; lazaret's own state too.
    scratch: PathBuf,
    /// Part of every name, so that no two runs meet.
    run: String,
}

/// How lazaret reaches an engine that is not on this machine.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) engine: String,
    /// The search path, which leads to the `ssh` to take.
    pub(super) path: String,
}

/// What one `lazaret run` took.
#[derive(Debug)]
pub(super) struct RunTiming {
    pub(super) first_byte: Duration,
    phases: BTreeMap<String, u64>,
}

impl RunTiming {
    /// What lazaret itself says of a phase.
    pub(super) fn phase(&self, name: &str) -> Result<f64> {
        let millis = self.phases.get(name);
        let millis = millis.with_context(|| format!("`run --json` names no phase {name}"))?;
        Ok(*millis as f64)
    }
}

impl<'a> EngineUnderTest<'a> {
    pub(super) fn prepare(
        sh: &'a Shell,
        cli: Cli,
        lazaret: &Path,
        scratch: &Path,
        run: &str,
    ) -> Result<Self> {
        let scratch = scratch.join(cli.name.as_str());
        fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
        if let Some((uid, gid)) = cli.owner {
            std::os::unix::fs::chown(&scratch, Some(uid), Some(gid))?;
        }
        let version = cli
            .cmd(sh)
            .args(["version", "--format", "{{.Server.Version}}"])
            .ignore_stderr()
            .read();
        // Podman without a server has only its own.
        let version = match version {
            Ok(version) if !version.contains("no value") && !version.is_empty() => version,
            _ => cli
                .cmd(sh)
                .args(["version", "--format", "{{.Client.Version}}"])
                .read()?,
        };
        let mut station = Self {
            sh,
            cli,
            lazaret: lazaret.to_owned(),
            image: String::new(),
            version,
            scratch,
            run: run.to_owned(),
        };
        station.build("porter")?;
        station.image = station.build("base")?;
        Ok(station)
    }

    /// Builds an image of lazaret's and returns how the engine names it.
    pub(super) fn build(&self, image: &str) -> Result<String> {
        let build = self.lazaret(&["image", "build", image]);
        build.ignore_stdout().run()?;
        let images = self.lazaret(&["image", "ls", "--json"]).read()?;
        reference(&serde_json::from_str(&images)?, image)
    }

    /// Says what to do where the engine's user can't read the corpora.
    pub(super) fn check_access(&self, path: &Path) -> Result<()> {
        let readable = self
            .cli
            .any(self.sh, "test")
            .arg("-r")
            .arg(path.join(TREE))
            .run();
        readable.with_context(|| {
            format!(
                "the user of {} can't read {}: put the target directory where it can \
                 (CARGO_TARGET_DIR), or leave the engine out by --engine",
                self.cli.name,
                path.display()
            )
        })
    }

    /// The program that is measured.
    pub(super) fn program(&self) -> &Path {
        &self.lazaret
    }

    /// A call of lazaret with a state of its own.
    pub(super) fn lazaret(&self, arguments: &[&str]) -> Cmd<'a> {
        self.sh
            .cmd(&self.lazaret)
            .args(arguments)
            .env("LAZARET_ENGINE", self.cli.name.as_str())
            .env("XDG_STATE_HOME", self.state())
            .quiet()
    }

    /// Not in `scratch`, which may belong to another user.
    fn state(&self) -> PathBuf {
        self.scratch.with_extension("state")
    }

    /// A name that nothing has had, for a container and its volume.
    pub(super) fn name(&self, what: &str, round: usize) -> String {
        format!("{}-{}-{what}-{round}", self.run, self.cli.name)
    }

    /// A container that was never started, with a fresh volume at `/workspace`. Its user is
    /// root, because `docker cp -a` looks the user up on the host.
    pub(super) fn create(&self, name: &str) -> Result<()> {
        let mount = format!("{name}:/workspace");
        self.cli
            .cmd(self.sh)
            .args([
                "create", "--name", name, "--user", "root", "--volume", &mount,
            ])
            .args(["--network", "none", "--label", LABEL, "--entrypoint", "sh"])
            .args([&self.image, "-c", GREET])
            .ignore_stdout()
            .run()?;
        Ok(())
    }

    /// `tar` of the corpus into a created container.
    pub(super) fn tar_into(&self, corpus: &Corpus, name: &str) -> Result<()> {
        timing::pipe(tar(self.sh, corpus), self.cp_from_stdin(name))
    }

    /// The same, timed.
    pub(super) fn time_tar_into(&self, corpus: &Corpus, name: &str) -> Result<Duration> {
        timing::piped(self.sh, tar(self.sh, corpus), self.cp_from_stdin(name))
    }

    fn cp_from_stdin(&self, name: &str) -> Cmd<'a> {
        let archive = match self.cli.name.program() {
            // Podman keeps owners without being asked.
            "podman" => vec!["cp", "-"],
            _ => vec!["cp", "-a", "-"],
        };
        self.cli
            .cmd(self.sh)
            .args(archive)
            .arg(format!("{name}:/workspace"))
    }

    pub(super) fn time_cp_in(&self, corpus: &Corpus, name: &str) -> Result<Duration> {
        let source = format!("{}/.", corpus.path.display());
        let target = format!("{name}:/workspace");
        timing::whole(
            self.sh,
            self.cli.cmd(self.sh).args(["cp", &source, &target]),
        )
    }

    /// Copies everything of a container's volume to a new directory.
    pub(super) fn time_cp_out(&self, name: &str) -> Result<Duration> {
        let target = self.scratch.join(format!("{name}-out"));
        self.cli.any(self.sh, "mkdir").arg(&target).run()?;
        let copy = self
            .cli
            .cmd(self.sh)
            .arg("cp")
            .arg(format!("{name}:/workspace/."))
            .arg(target);
        timing::whole(self.sh, copy)
    }

    /// The first byte of a container that was created and filled.
    pub(super) fn start(&self, name: &str) -> Result<Duration> {
        let start = self.cli.cmd(self.sh).args(["start", "-a", name]);
        Ok(timing::greeted(start, Stream::Stdout)?.after)
    }

    pub(super) fn plain_run(&self) -> Result<Duration> {
        timing::settle(self.sh)?;
        let run =
            self.cli
                .cmd(self.sh)
                .args(["run", "--rm", "--network", "none", "--entrypoint", "sh"]);
        let run = run.args([&self.image, "-c", GREET]);
        Ok(timing::greeted(run, Stream::Stdout)?.after)
    }

    /// A program in a plain container, on the network that the engine gives by default.
    pub(super) fn plain(&self, command: &[&str]) -> Cmd<'a> {
        self.plain_of(command, &[])
    }

    /// The same, which reads what is sent to it.
    pub(super) fn plain_with_stdin(&self, command: &[&str]) -> Cmd<'a> {
        self.plain_of(command, &["--interactive"])
    }

    fn plain_of(&self, command: &[&str], flags: &[&str]) -> Cmd<'a> {
        let (program, arguments) = command.split_first().unwrap_or((&"true", &[]));
        let run = self.cli.cmd(self.sh).args(["run", "--rm"]).args(flags);
        run.args(["--label", LABEL, "--entrypoint", program])
            .arg(&self.image)
            .args(arguments)
    }

    /// Runs a script by `lazaret run`, whose changes are kept for later. The script greets.
    pub(super) fn run(
        &self,
        corpus: &Corpus,
        name: &str,
        script: &str,
        arguments: &[String],
    ) -> Result<RunTiming> {
        let run = self.kept_run(corpus, name, script).args(arguments);
        self.timed(run, corpus)
    }

    /// The same with a script that only greets, on the engine at an address.
    pub(super) fn run_at(
        &self,
        address: &Address,
        corpus: &Corpus,
        name: &str,
    ) -> Result<RunTiming> {
        let run = self.kept_run(corpus, name, GREET);
        let run = run.env("LAZARET_ENGINE", &address.engine);
        self.timed(run.env("PATH", &address.path), corpus)
    }

    fn kept_run(&self, corpus: &Corpus, name: &str, script: &str) -> Cmd<'a> {
        self.lazaret(&[
            "run", "base", "--keep", "--apply", "never", "--json", "--name", name,
        ])
        .arg("--workspace")
        .arg(&corpus.path)
        .args(["--", "sh", "-c", script, "sh"])
    }

    fn timed(&self, run: Cmd<'_>, corpus: &Corpus) -> Result<RunTiming> {
        timing::warm(self.sh, &corpus.path)?;
        timing::settle(self.sh)?;
        // With --json the command's own output goes to stderr.
        let Greeted {
            after,
            status,
            other,
            ..
        } = timing::greeted(run, Stream::Stderr)?;
        if !matches!(status.code(), Some(0 | KEPT)) {
            bail!(
                "lazaret run ended with {status} on {}: {other}",
                self.cli.name
            );
        }
        let report: Value = serde_json::from_str(&other).context("the output of lazaret run")?;
        let phases = report["phases"].clone();
        Ok(RunTiming {
            first_byte: after,
            phases: serde_json::from_value(phases).context("the phases of lazaret run")?,
        })
    }

    /// Times a run on a kept copy that only says what of the host's would go in: the whole of
    /// it happens on the host.
    pub(super) fn time_dry_run(&self, corpus: &Corpus, name: &str) -> Result<Duration> {
        timing::warm(self.sh, &corpus.path)?;
        let dry = self
            .lazaret(&["run", "base", "--dry-run", "--json", "--name", name])
            .arg("--workspace")
            .arg(&corpus.path)
            .args(["--", "true"]);
        timing::whole(self.sh, dry)
    }

    /// A verb of `lazaret pool`.
    pub(super) fn pool(&self, arguments: &[&str]) -> Result<()> {
        let pool = self.lazaret(&["pool"]).args(arguments);
        pool.ignore_stdout().ignore_stderr().run()?;
        Ok(())
    }

    /// Removes containers, volumes and sessions of this run, and of no other.
    pub(super) fn clean_up(&self) -> Result<()> {
        let own = |listed: String, prefix: &str| -> Vec<String> {
            let names = listed.lines().filter(|name| name.starts_with(prefix));
            names.map(str::to_owned).collect()
        };
        let prefix = format!("{}-", self.run);
        let containers = ["ps", "--all", "--format", "{{.Names}}"];
        let containers = own(self.cli.cmd(self.sh).args(containers).read()?, &prefix);
        for name in containers {
            self.cli
                .cmd(self.sh)
                .args(["rm", "--force", &name])
                .ignore_stdout()
                .run()?;
        }
        let volumes = ["volume", "ls", "--format", "{{.Name}}"];
        let volumes = own(self.cli.cmd(self.sh).args(volumes).read()?, &prefix);
        for name in volumes {
            self.cli
                .cmd(self.sh)
                .args(["volume", "rm", &name])
                .ignore_stdout()
                .run()?;
        }
        if !self.state().exists() {
            return Ok(());
        }
        let sessions = self.lazaret(&["ls", "--json"]).read()?;
        let sessions: Value = serde_json::from_str(&sessions)?;
        for session in sessions.as_array().into_iter().flatten() {
            if let Some(name) = session["session"].as_str() {
                // One that a row left up is in use; one that is not up says so.
                let stop = self.lazaret(&["stop", name]).ignore_status();
                stop.ignore_stdout().ignore_stderr().run()?;
                let remove = self.lazaret(&["rm", "--force", name]);
                remove.ignore_stdout().ignore_stderr().run()?;
            }
        }
        Ok(())
    }
}

/// `tar` of a whole corpus to stdout.
pub(super) fn tar<'a>(sh: &'a Shell, corpus: &Corpus) -> Cmd<'a> {
    let path = &corpus.path;
    cmd!(sh, "tar -C {path} -c -f - .").quiet()
}

fn reference(images: &Value, name: &str) -> Result<String> {
    let found = images
        .as_array()
        .into_iter()
        .flatten()
        .find(|image| image["name"] == name);
    let reference = found.and_then(|image| image["reference"].as_str());
    Ok(reference
        .with_context(|| format!("no image `{name}`"))?
        .to_owned())
}
