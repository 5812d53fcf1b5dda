//! Measures the packer beside a walk that only reads, in turn, or its peak memory.
//!
//! `cargo run --release --example pack -- time DIR ROUNDS`
//! `cargo run --release --example pack -- peak DIR`
//!
//! The last line is JSON.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::error::Error;
use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use lazaret_transfer::{GitMode, Progress, SelectionSpec, WorkspaceDir, pack};
use rustix::fs::{Dir, FileType, Mode, OFlags};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What the packer reads at once, too.
const CHUNK: usize = 64 << 10;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().ok_or("`time` or `peak`?")?;
    let dir = arguments.next().ok_or("no directory")?;
    let dir = Path::new(&dir);
    match what.as_str() {
        "time" => time(dir, arguments.next().ok_or("no number of rounds")?.parse()?),
        "peak" => peak(dir),
        other => Err(format!("`{other}` is neither `time` nor `peak`").into()),
    }
}

fn time(dir: &Path, rounds: usize) -> Outcome<()> {
    let (mut walks, mut packs) = (Vec::new(), Vec::new());
    // Round 0 warms up and is not counted.
    for round in 0..=rounds {
        let start = Instant::now();
        let read = read_all(dir)?;
        let walked = start.elapsed();
        let start = Instant::now();
        let packed = pack_all(dir)?;
        let took = start.elapsed();
        println!(
            "round {round}: read {read} bytes in {:.1} ms, packed {packed} in {:.1} ms",
            millis(walked),
            millis(took)
        );
        if round > 0 {
            walks.push(millis(walked));
            packs.push(millis(took));
        }
    }
    println!("{{\"walk_ms\": {walks:?}, \"pack_ms\": {packs:?}}}");
    Ok(())
}

fn peak(dir: &Path) -> Outcome<()> {
    let before = peak_kib()?;
    pack_all(dir)?;
    println!(
        "{{\"peak_kib\": {}, \"before_kib\": {before}}}",
        peak_kib()?
    );
    Ok(())
}

fn pack_all(dir: &Path) -> Outcome<u64> {
    let selection = SelectionSpec {
        git: GitMode::Full,
        exclude: Vec::new(),
    };
    let workspace = WorkspaceDir::open_ambient(dir)?;
    let (mut out, mut tell) = (std::io::sink(), |_: Progress| {});
    let packed = pack(&workspace, &selection.compile()?, &mut out, &mut tell)?;
    Ok(packed.bytes)
}

/// Reads every file, and does nothing with it.
fn read_all(dir: &Path) -> Outcome<u64> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(dir, flags, Mode::empty())?;
    read_below(root, &mut vec![0; CHUNK])
}

fn read_below(dir: OwnedFd, buffer: &mut [u8]) -> Outcome<u64> {
    let mut dir = Dir::new(dir)?;
    let mut names: Vec<(CString, FileType)> = Vec::new();
    while let Some(entry) = dir.read() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.push((name.to_owned(), entry.file_type()));
        }
    }
    let mut bytes = 0;
    for (name, kind) in names {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match kind {
            FileType::Directory => {
                let inside = rustix::fs::openat(dir.fd()?, name, flags, Mode::empty())?;
                bytes += read_below(inside, buffer)?;
            }
            FileType::RegularFile => {
                let file = rustix::fs::openat(dir.fd()?, name, flags, Mode::empty())?;
                bytes += read_file(&file, buffer)?;
            }
            _ => {}
        }
    }
    Ok(bytes)
}

/// Asks for the size first, as a sender has to, so no further read has to find the end.
fn read_file(file: impl AsFd, buffer: &mut [u8]) -> Outcome<u64> {
    let mut left = u64::try_from(rustix::fs::fstat(&file)?.st_size)?;
    let mut bytes = 0;
    while left > 0 {
        let length = rustix::io::read(&file, &mut *buffer)? as u64;
        if length == 0 {
            break;
        }
        bytes += length;
        left = left.saturating_sub(length);
    }
    Ok(bytes)
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

/// What this process has held at most.
fn peak_kib() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = line.and_then(|line| line.split_whitespace().next());
    Ok(peak.ok_or("no peak memory")?.parse()?)
}
