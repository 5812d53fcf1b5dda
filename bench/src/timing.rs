//! How long programs take, to their end or to a word of theirs.

use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use xshell::{Cmd, Shell, cmd};

/// What a started program says first: the user's own would show its prompt.
///
/// [`GREET`] does not contain it: a line that shows the command is no greeting.
pub(super) const GREETING: &str = "first byte";
/// What a shell runs to say it.
pub(super) const GREET: &str = "printf 'first %s\\n' byte";

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Greeted {
    /// From its start to the greeting.
    pub(super) after: Duration,
    /// From the greeting to its end.
    pub(super) rest: Duration,
    pub(super) status: ExitStatus,
    /// What it wrote to the stream of the greeting.
    pub(super) said: String,
    /// What it wrote to the stream on which no greeting was awaited.
    pub(super) other: String,
}

/// The stream that a greeting comes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Writes of the one before are not paid by the next.
pub(super) fn settle(sh: &Shell) -> Result<()> {
    cmd!(sh, "sync").quiet().run()?;
    Ok(())
}

/// Reads a tree into the page cache again: some systems reclaim unread pages within minutes, and
/// the first measurement would then pay for the following ones.
pub(super) fn warm(sh: &Shell, tree: &Path) -> Result<()> {
    // tar does not read what goes to /dev/null.
    let read = cmd!(sh, "tar -C {tree} -c -f - .").quiet();
    pipe(read, cmd!(sh, "wc -c").quiet())
}

/// Has the machine's memory behind what is written next: a virtual machine that gives free
/// memory back to its host ("free page reporting") pays for the first touch of each page of it
/// once more, and the first measurement would pay for the following ones.
///
/// At most 4 GiB, and half of what is free; nothing where there is no `/proc/meminfo`.
pub(super) fn touch_memory() -> Result<()> {
    const MOST_KIB: usize = 4 << 20;
    let Ok(text) = fs::read_to_string("/proc/meminfo") else {
        return Ok(());
    };
    let free = text.lines().find_map(|line| line.strip_prefix("MemFree:"));
    let free = free.and_then(|line| line.split_whitespace().next());
    let free: usize = free.context("no free memory in /proc/meminfo")?.parse()?;
    let touched = vec![1_u8; MOST_KIB.min(free / 2) << 10];
    drop(black_box(touched));
    Ok(())
}

/// Times a program that must succeed.
pub(super) fn whole(sh: &Shell, command: Cmd<'_>) -> Result<Duration> {
    settle(sh)?;
    let start = Instant::now();
    done(command)?;
    Ok(start.elapsed())
}

/// Runs a program that must succeed, and shows what it says only if it fails.
pub(super) fn done(command: Cmd<'_>) -> Result<()> {
    let words = command.to_string();
    let done = Command::from(command).stdin(Stdio::null()).output()?;
    if !done.status.success() {
        bail!("`{words}` failed: {}", tail(&done.stderr));
    }
    Ok(())
}

/// Times one program writing into another. Both must succeed.
pub(super) fn piped(sh: &Shell, source: Cmd<'_>, sink: Cmd<'_>) -> Result<Duration> {
    settle(sh)?;
    let start = Instant::now();
    pipe(source, sink)?;
    Ok(start.elapsed())
}

/// Lets one program write into another. Both must succeed.
pub(super) fn pipe(source: Cmd<'_>, sink: Cmd<'_>) -> Result<()> {
    let words = format!("{source} | {sink}");
    let mut source = Command::from(source).stdout(Stdio::piped()).spawn()?;
    let pipe = source.stdout.take().context("a stdout")?;
    let sink = Command::from(sink).stdin(pipe).output()?;
    if !source.wait()?.success() || !sink.status.success() {
        bail!("`{words}` failed: {}", tail(&sink.stderr));
    }
    Ok(())
}

/// Runs a program and notes when it greets.
///
/// # Errors
/// When it ends without a greeting.
pub(super) fn greeted(command: Cmd<'_>, stream: Stream) -> Result<Greeted> {
    let words = command.to_string();
    let start = Instant::now();
    let mut child = Command::from(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("start `{words}`"))?;
    let stdout = child.stdout.take().context("a stdout")?;
    let stderr = child.stderr.take().context("a stderr")?;
    let (awaited, other): (Box<dyn Read + Send>, Box<dyn Read + Send>) = match stream {
        Stream::Stdout => (Box::new(stdout), Box::new(stderr)),
        Stream::Stderr => (Box::new(stderr), Box::new(stdout)),
    };
    let reading = thread::spawn(move || read_all(other));
    let (after, said) = read_greeting(awaited, start)?;
    let other = reading.join().ok().context("a reader panicked")??;
    let status = child.wait()?;
    let whole = start.elapsed();
    let Some(after) = after else {
        bail!(
            "`{words}` ended ({status}) and never said `{GREETING}`: {}",
            tail(said.as_bytes())
        );
    };
    Ok(Greeted {
        after,
        rest: whole - after,
        status,
        said,
        other,
    })
}

fn read_greeting(mut from: impl Read, start: Instant) -> Result<(Option<Duration>, String)> {
    let (mut said, mut after) = (Vec::new(), None);
    let mut piece = [0; 4096];
    loop {
        let length = from.read(&mut piece)?;
        if length == 0 {
            return Ok((after, String::from_utf8_lossy(&said).into_owned()));
        }
        said.extend_from_slice(&piece[..length]);
        let greeting = GREETING.as_bytes();
        if after.is_none()
            && said
                .windows(greeting.len())
                .any(|window| window == greeting)
        {
            after = Some(start.elapsed());
        }
    }
}

fn read_all(mut from: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of what a program has said.
pub(super) fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}
