//! What copying in and starting cost, beside Docker's own commands in the same run.
//!
//! Every round does each thing once, so a slow minute slows them all; ratios are taken
//! round by round. Nothing is deleted before the end and no name is used twice: on ext4
//! every create pays for what was deleted in the minutes before.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use xshell::{Cmd, Shell, cmd};

use crate::dist;
use crate::project;
use crate::section::Section;

use super::corpus;
use super::figures::Figures;

const HOST: &str = "host: tar | tar";
const DOCKER_TAR: &str = "tar | docker cp -a -";
const DOCKER_CP: &str = "docker cp";
const LAZARET_COPY: &str = "lazaret: copy-in";
const DOCKER_RUN: &str = "docker run --rm";
const LAZARET_RUN: &str = "lazaret run";

/// The program that stands for the user's: what counts is when its first byte arrives.
const GREETING: &str = "first byte";

/// Measures `rounds` times with a tree of `files` files.
pub(super) fn run(sh: &Shell, rounds: usize, files: usize) -> Result<Value> {
    let bench = {
        let _section = Section::new(sh, "prepare");
        Bench::prepare(sh, files)?
    };
    let mut figures = Figures::default();
    let outcome = {
        let _section = Section::new(sh, "measure");
        bench.measure(sh, rounds, &mut figures)
    };
    {
        let _section = Section::new(sh, "clean up");
        bench.clean_up(sh)?;
    }
    outcome?;
    println!("{figures}");
    Ok(json!({
        "docker": bench.docker_version,
        "corpus": { "files": bench.corpus.files, "bytes": bench.corpus.bytes },
        "figures": figures.json(),
    }))
}

#[derive(Debug)]
struct Bench {
    /// As users get it: optimised.
    lazaret: PathBuf,
    image: String,
    docker_version: String,
    corpus: corpus::Corpus,
    /// A workspace with next to nothing in it.
    tiny: PathBuf,
    /// Everything that this run makes; its own state too.
    scratch: PathBuf,
    /// Part of every name, so that no two runs meet.
    run: String,
}

impl Bench {
    fn prepare(sh: &Shell, files: usize) -> Result<Self> {
        let docker_version = cmd!(sh, "docker version --format")
            .arg("{{.Server.Version}}")
            .quiet()
            .read()
            .context("the references need Docker and its command line")?;
        let triple = project::host_triple(sh)?;
        let lazaret = dist::build(sh, &triple)?;
        let folder = project::target_dir(sh).join("bench");
        let run = format!("bench{}", std::process::id());
        let scratch = folder.join(&run);
        let tiny = scratch.join("tiny");
        sh.create_dir(&tiny)?;
        sh.write_file(tiny.join("README.md"), "# Tiny\n")?;
        let corpus = corpus::Corpus::make(&folder.join(format!("corpus-{files}")), files)?;
        let mut bench = Self {
            lazaret,
            image: String::new(),
            docker_version,
            corpus,
            tiny,
            scratch,
            run,
        };
        bench
            .lazaret(sh, &["image", "build", "base", "porter"])
            .run()?;
        let images = bench
            .lazaret(sh, &["image", "ls", "--json"])
            .quiet()
            .read()?;
        bench.image = reference(&serde_json::from_str(&images)?, "base")?;
        Ok(bench)
    }

    fn lazaret<'a>(&self, sh: &'a Shell, arguments: &[&str]) -> Cmd<'a> {
        sh.cmd(&self.lazaret)
            .args(arguments)
            .env("LAZARET_ENGINE", "docker")
            .env("XDG_STATE_HOME", self.scratch.join("state"))
    }

    fn measure(&self, sh: &Shell, rounds: usize, figures: &mut Figures) -> Result<()> {
        // Round 0 warms caches up and is not counted.
        for round in 0..=rounds {
            let took = [
                (HOST, self.host_copy(sh, round)?),
                (DOCKER_TAR, self.docker_tar(sh, round)?),
                (DOCKER_CP, self.docker_cp(sh, round)?),
                (LAZARET_COPY, self.lazaret_copy(sh, round)?),
                (DOCKER_RUN, self.docker_run(sh)?),
                (LAZARET_RUN, self.lazaret_run(sh, round)?),
            ];
            let words = took.map(|(name, took)| format!("{name} {} ms", took.as_millis()));
            println!("round {round}: {}", words.join(", "));
            if round > 0 {
                for (name, took) in took {
                    figures.add(name, took);
                }
            }
        }
        for reference in [HOST, DOCKER_TAR, DOCKER_CP] {
            figures.compare(LAZARET_COPY, reference);
        }
        figures.compare(LAZARET_RUN, DOCKER_RUN);
        Ok(())
    }

    /// The floor: the same files, no engine.
    fn host_copy(&self, sh: &Shell, round: usize) -> Result<Duration> {
        let target = self.scratch.join(format!("host-{round}"));
        sh.create_dir(&target)?;
        let unpack = sh.cmd("tar").arg("-C").arg(&target).args(["-x", "-f", "-"]);
        self.tar_into(sh, unpack)
    }

    fn docker_tar(&self, sh: &Shell, round: usize) -> Result<Duration> {
        let container = self.container(sh, &format!("{}-tar-{round}", self.run))?;
        self.tar_into(sh, cmd!(sh, "docker cp -a - {container}:/workspace"))
    }

    fn docker_cp(&self, sh: &Shell, round: usize) -> Result<Duration> {
        let container = self.container(sh, &format!("{}-cp-{round}", self.run))?;
        let source = format!("{}/.", self.corpus.path.display());
        settle(sh)?;
        let start = Instant::now();
        cmd!(sh, "docker cp {source} {container}:/workspace")
            .quiet()
            .ignore_stderr()
            .run()?;
        Ok(start.elapsed())
    }

    /// What lazaret itself says its copy took: from the walk to the receipt.
    fn lazaret_copy(&self, sh: &Shell, round: usize) -> Result<Duration> {
        let (workspace, name) = (self.corpus.path.clone(), format!("{}-{round}", self.run));
        settle(sh)?;
        let output = self
            .lazaret(
                sh,
                &[
                    "run", "base", "--keep", "--apply", "auto", "--json", "--name", &name,
                ],
            )
            .arg("--workspace")
            .arg(workspace)
            .args(["--", "true"])
            .quiet()
            .ignore_stderr()
            .read()?;
        let output: Value = serde_json::from_str(&output).context("the output of lazaret run")?;
        let took = output["phases"]["copy_in_ms"]
            .as_f64()
            .context("no phases.copy_in_ms")?;
        Ok(Duration::from_secs_f64(took / 1000.0))
    }

    fn docker_run(&self, sh: &Shell) -> Result<Duration> {
        let image = &self.image;
        settle(sh)?;
        first_byte(cmd!(
            sh,
            "docker run --rm --entrypoint echo {image} {GREETING}"
        ))
    }

    /// The whole of it, copying a tiny workspace in included.
    fn lazaret_run(&self, sh: &Shell, round: usize) -> Result<Duration> {
        let name = format!("{}-start-{round}", self.run);
        settle(sh)?;
        first_byte(
            self.lazaret(
                sh,
                &["run", "base", "--keep", "--apply", "auto", "--name", &name],
            )
            .arg("--workspace")
            .arg(&self.tiny)
            .args(["--", "echo", GREETING]),
        )
    }

    /// A container that is never started, with a fresh volume at `/workspace`. Its user is
    /// root, because `docker cp -a` looks the user up on the host.
    fn container(&self, sh: &Shell, name: &str) -> Result<String> {
        let (mount, image) = (format!("{name}:/workspace"), &self.image);
        cmd!(
            sh,
            "docker create --name {name} --user root --volume {mount} --label io.lazaret.bench=1 {image}"
        )
        .quiet()
        .ignore_stdout()
        .run()?;
        Ok(name.to_owned())
    }

    /// `tar` of the corpus into a program's stdin.
    fn tar_into(&self, sh: &Shell, sink: Cmd<'_>) -> Result<Duration> {
        let corpus = &self.corpus.path;
        settle(sh)?;
        let start = Instant::now();
        let mut tar = Command::from(cmd!(sh, "tar -C {corpus} -c -f - ."))
            .stdout(Stdio::piped())
            .spawn()?;
        let pipe = tar.stdout.take().context("tar's stdout")?;
        let status = Command::from(sink).stdin(pipe).status()?;
        if !tar.wait()?.success() || !status.success() {
            bail!("a reference copy failed");
        }
        Ok(start.elapsed())
    }

    fn clean_up(&self, sh: &Shell) -> Result<()> {
        let prefix = format!("name=^/?{}-", self.run);
        let containers = cmd!(
            sh,
            "docker ps --all --quiet --filter label=io.lazaret.bench=1 --filter {prefix}"
        )
        .quiet()
        .read()?;
        for container in containers.lines() {
            cmd!(sh, "docker rm --force {container}")
                .quiet()
                .ignore_stdout()
                .run()?;
        }
        let volumes = cmd!(sh, "docker volume ls --quiet").quiet().read()?;
        for kind in ["tar", "cp"] {
            let own = format!("{}-{kind}-", self.run);
            for volume in volumes.lines().filter(|volume| volume.starts_with(&own)) {
                cmd!(sh, "docker volume rm {volume}")
                    .quiet()
                    .ignore_stdout()
                    .run()?;
            }
        }
        let sessions = self.lazaret(sh, &["ls", "--json"]).quiet().read()?;
        let sessions: Value = serde_json::from_str(&sessions)?;
        for session in sessions.as_array().into_iter().flatten() {
            if let Some(name) = session["session"].as_str().or(session["name"].as_str()) {
                self.lazaret(sh, &["rm", "--force", name])
                    .quiet()
                    .ignore_stdout()
                    .ignore_stderr()
                    .run()?;
            }
        }
        sh.remove_path(&self.scratch)?;
        Ok(())
    }
}

/// Writes of the one before are not paid by the next.
fn settle(sh: &Shell) -> Result<()> {
    cmd!(sh, "sync").quiet().run()?;
    Ok(())
}

/// Time from the start of a program to the first byte on its stdout.
fn first_byte(command: Cmd<'_>) -> Result<Duration> {
    let start = Instant::now();
    let mut child = Command::from(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut stdout = child.stdout.take().context("the program's stdout")?;
    let mut byte = [0];
    let read = stdout.read(&mut byte)?;
    let took = start.elapsed();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest)?;
    let status = child.wait()?;
    if read == 0
        || !status.success()
        || !format!("{}{rest}", char::from(byte[0])).contains(GREETING)
    {
        bail!("the program did not say `{GREETING}`: {status}");
    }
    Ok(took)
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
