//! A short drive of the targets on stable Rust.
//!
//! ```text
//! lazaret-fuzz [TARGET...] [--seconds N] [--seed N] [--artifacts DIR]
//! lazaret-fuzz TARGET FILE...      runs the target on each file
//! lazaret-fuzz --list
//! lazaret-fuzz --seeds DIR         writes what each target starts from, a folder for each
//! ```

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development tool talks to its terminal"
)]

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use lazaret_fuzz::driver::{Drive, Driven, drive};
use lazaret_fuzz::{Target, targets};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs what the command line says; false when a property is broken.
fn run() -> io::Result<bool> {
    let mut options = Drive {
        time: Duration::from_secs(5),
        seed: 2026,
        artifacts: PathBuf::from("target/fuzz/artifacts"),
    };
    let (mut chosen, mut files) = (Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| wrong("a value is missing"));
        let number = |text: String| text.parse().map_err(|_| wrong("not a number"));
        match argument.as_str() {
            "--list" => {
                targets::ALL
                    .iter()
                    .for_each(|target| println!("{}", target.name));
                return Ok(true);
            }
            "--seeds" => {
                write_seeds(Path::new(&value()?))?;
                return Ok(true);
            }
            "--seconds" => options.time = Duration::from_secs(number(value()?)?),
            "--seed" => options.seed = number(value()?)?,
            "--artifacts" => options.artifacts = value()?.into(),
            name => match Target::named(name) {
                Some(target) => chosen.push(target),
                None if Path::new(name).is_file() => files.push(PathBuf::from(name)),
                None => return Err(wrong("neither a target nor a file")),
            },
        }
    }
    if chosen.is_empty() {
        chosen.extend(targets::ALL);
    }
    if let ([target], false) = (chosen.as_slice(), files.is_empty()) {
        for file in files {
            (target.run)(&std::fs::read(file)?);
        }
        return Ok(true);
    }
    drive_all(&chosen, &options)
}

/// Drives targets, as many at a time as there are cores; false when a property is broken.
fn drive_all(chosen: &[&Target], options: &Drive) -> io::Result<bool> {
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<bool> {
        let mut whole = true;
        while let Some(target) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            whole &= is_whole(target, &drive(target, options)?);
        }
        Ok(whole)
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_fold(true, |whole, thread| {
            let panicked = |_| io::Error::other("a panic, see above");
            Ok(thread.join().map_err(panicked)?? && whole)
        })
    })
}

/// Prints what came of a drive.
fn is_whole(target: &Target, driven: &Driven) -> bool {
    println!(
        "{:12} {:4} kept, {:8} runs",
        target.name, driven.corpus, driven.runs
    );
    if let Some(path) = &driven.broken {
        println!(
            "{:12} BROKEN: cargo run -p lazaret-fuzz -- {} {}",
            target.name,
            target.name,
            path.display()
        );
    }
    driven.broken.is_none()
}

fn write_seeds(dir: &Path) -> io::Result<()> {
    for target in targets::ALL {
        let dir = dir.join(target.name);
        std::fs::create_dir_all(&dir)?;
        for (index, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(dir.join(format!("seed-{index}")), seed)?;
        }
    }
    Ok(())
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
