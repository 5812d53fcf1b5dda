//! Measures how long commits take to be packed, taken in, examined and landed, beside a plain
//! `git fetch` of the same from a local directory, in turn.
//!
//! `cargo run --release --example land -- DIR COMMITS ROUNDS`; DIR must not exist.
//! The last line is JSON.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_commits::ObjectId;
use lazaret_commits::examine::{Rules, examine};
use lazaret_commits::git::Git;
use lazaret_commits::land::{LandRequest, Landing};
use lazaret_commits::land_name::{LandNames, Source};
use lazaret_commits::linked::LinkedRepository;
use lazaret_commits::quarantine::Quarantine;
use lazaret_transfer::{Repository, WorkspaceDir};
use lazaret_validator::Policy;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Files that the repository has before.
const FILES: usize = 2_000;
/// Files that a commit changes.
const CHANGED: usize = 3;
/// How often the memory of running processes is read.
const TICK: Duration = Duration::from_millis(25);

/// What one way took.
struct Taken {
    time: Duration,
    /// The most memory that any process of it had.
    peak_kib: u64,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("no directory")?);
    let commits: usize = arguments.next().ok_or("no number of commits")?.parse()?;
    let rounds: usize = arguments.next().ok_or("no number of rounds")?.parse()?;
    fs::create_dir(&dir)?;
    let dir = dir.canonicalize()?;
    let (user, agent) = (dir.join("user"), dir.join("agent"));
    git(&dir, &["init", "-q", "-b", "main", "user"])?;
    import(&user, &history("main", None, 1))?;
    git(&dir, &["clone", "-q", "--bare", "user", "agent"])?;
    let base = git(&agent, &["rev-parse", "main"])?;
    import(&agent, &history("work", Some(&base), commits))?;
    let (mut ratios, mut landed_kib, mut fetched_kib) = (Vec::new(), 0, 0);
    // Round 0 warms up and is not counted.
    for round in 0..=rounds {
        let copy = |name: &str| -> Outcome<PathBuf> {
            let to = dir.join(format!("{name}-{round}"));
            git(
                &dir,
                &["clone", "-q", "--no-hardlinks", "user", &text(&to)?],
            )?;
            Ok(to)
        };
        let (one, other) = (copy("land")?, copy("fetch")?);
        rustix::fs::sync();
        let landed = watched(|| land(&dir, &one, &agent))?;
        rustix::fs::sync();
        let fetched = watched(|| {
            let refs = "work:refs/heads/lazaret/s/work";
            git(&other, &["fetch", "-q", &text(&agent)?, refs]).map(drop)
        })?;
        let ids = [&one, &other].map(|repo| git(repo, &["rev-parse", "lazaret/s/work"]));
        let [Ok(landed_id), Ok(fetched_id)] = ids else {
            return Err("a branch did not arrive".into());
        };
        if landed_id != fetched_id {
            return Err("what was landed is not what was fetched".into());
        }
        let ratio = landed.time.as_secs_f64() / fetched.time.as_secs_f64();
        println!(
            "round {round}: land {} ms, {} MiB; git fetch {} ms, {} MiB; ratio {ratio:.2}",
            landed.time.as_millis(),
            landed.peak_kib >> 10,
            fetched.time.as_millis(),
            fetched.peak_kib >> 10
        );
        if round > 0 {
            ratios.push(ratio);
            landed_kib = landed_kib.max(landed.peak_kib);
            fetched_kib = fetched_kib.max(fetched.peak_kib);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or_default();
    println!(
        "{{\"land_to_git_fetch\": {median:.2}, \"land_peak_kib\": {landed_kib}, \
         \"git_fetch_peak_kib\": {fetched_kib}}}"
    );
    fs::remove_dir_all(&dir)?;
    Ok(())
}

/// Packs as the packer does, takes in, examines and lands the branch `work`.
fn land(dir: &Path, user: &Path, agent: &Path) -> Outcome<()> {
    let go_on = || false;
    let mut steps = Steps(Instant::now());
    let path = OsStr::new("/usr/local/bin:/usr/bin:/bin");
    let program = Git::find(path, user).ok_or("no git")?;
    let workspace = WorkspaceDir::open_ambient(user)?;
    let repository = Repository::find(&workspace).map_err(|problem| problem.to_string())?;
    let repository = repository.ok_or("no repository")?;
    let linked = LinkedRepository::create(program.clone(), &dir.join("linked.git"), &repository)?;
    let known = linked.known(&[], &go_on)?;
    let tip = git(agent, &["rev-parse", "work"])?;
    let tip = ObjectId::from_hex(tip.as_bytes()).ok_or("no id")?;
    let mut asked = format!("{tip}\n");
    for id in known {
        writeln!(asked, "^{id}")?;
    }
    let list = ["rev-list", "--objects", "--ignore-missing", "--stdin"];
    let pack = ["pack-objects", "--stdout", "--delta-base-offset", "--quiet"];
    let packing = duct::cmd("git", list)
        .stdin_bytes(asked)
        .pipe(duct::cmd("git", pack))
        .dir(agent)
        .reader()?;
    let mut quarantine = Quarantine::create(program, &dir.join("commits.git"), &repository)?;
    quarantine.take_in(&mut &packing, &go_on)?;
    steps.end("pack and index");
    let rules = Rules {
        policy: Policy::shipped(),
        allow: Vec::new(),
        copied: None,
    };
    let examination = examine(&quarantine, &[tip], &rules, &go_on)?;
    let examined = examination.tips.first().ok_or("no tip")?;
    let examined = examined.as_ref().map_err(ToString::to_string)?;
    if examination.blocks(examined).next().is_some() {
        return Err("something is blocked".into());
    }
    steps.end("examine");
    let mut landing = Landing::open(&linked, &repository, &quarantine, &go_on)?;
    let wanted = LandRequest {
        name: LandNames::of("s").give(&Source::Branch(b"work".to_vec())),
        id: tip,
    };
    let landed = landing.land(&[wanted])?.into_iter().next();
    landed.ok_or("nothing was landed")??;
    steps.end("land");
    Ok(())
}

/// Says how long each step took.
struct Steps(Instant);

impl Steps {
    fn end(&mut self, name: &str) {
        println!("  {name}: {} ms", self.0.elapsed().as_millis());
        self.0 = Instant::now();
    }
}

/// Times something, and looks at the memory of this process and those that it starts.
fn watched(work: impl FnOnce() -> Outcome<()>) -> Outcome<Taken> {
    let (is_done, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                peak.fetch_max(largest_child_kib(), Ordering::Relaxed);
                thread::sleep(TICK);
            }
        });
        let start = Instant::now();
        let done = work();
        let time = start.elapsed();
        is_done.store(true, Ordering::Relaxed);
        done.map(|()| time)
    })
    .map(|time| Taken {
        time,
        peak_kib: peak.into_inner().max(peak_kib("self").unwrap_or_default()),
    })
}

/// Returns the most memory that any git had until now.
fn largest_child_kib() -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = processes.filter_map(|process| process.file_name().into_string().ok());
    let gits = names.filter(|name| {
        let command = fs::read_to_string(format!("/proc/{name}/comm"));
        command.is_ok_and(|command| command.starts_with("git"))
    });
    gits.filter_map(|name| peak_kib(&name))
        .max()
        .unwrap_or_default()
}

/// Reads the most memory that a process ever had (proc_pid_status(5), VmHWM).
fn peak_kib(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A history as git-fast-import(1) reads it.
fn history(branch: &str, base: Option<&str>, commits: usize) -> String {
    let mut stream = String::new();
    for commit in 0..commits {
        let changed = match base {
            None => FILES,
            Some(_) => CHANGED,
        };
        let _ = write!(
            stream,
            "commit refs/heads/{branch}\ncommitter A <a@example.invalid> {} +0000\n\
             data 9\nchange it\n",
            1_700_000_000 + commit
        );
        if let (Some(base), 0) = (base, commit) {
            let _ = writeln!(stream, "from {base}");
        }
        for file in 0..changed {
            let number = (commit * CHANGED + file) % FILES;
            let text = format!("// file {number} of commit {commit}\n").repeat(40);
            let _ = write!(
                stream,
                "M 100644 inline module-{}/file-{number}.rs\ndata {}\n{text}\n",
                number / 50,
                text.len()
            );
        }
    }
    stream
}

fn import(repository: &Path, stream: &str) -> Outcome<()> {
    duct::cmd!("git", "fast-import", "--quiet")
        .dir(repository)
        .stdin_bytes(stream)
        .run()?;
    Ok(())
}

fn git(dir: &Path, arguments: &[&str]) -> Outcome<String> {
    Ok(duct::cmd("git", arguments).dir(dir).read()?)
}

fn text(path: &Path) -> Outcome<String> {
    Ok(path.to_str().ok_or("a path that is not UTF-8")?.to_owned())
}
