//! Has git pack commits of a session's volume, in a container without a network that mounts
//! the volume read-only.
//!
//! git works in a repository of its own on the container's tmpfs, which borrows the objects of
//! the copy's. So it reads nothing that the agent could configure: no `config` with its
//! programs, filters and extensions, no replace refs, grafts or remote to fetch from. Of the
//! copy's repository it reads the objects and the list of shallow commits. An agent that could
//! exploit git there has that container: no more than its own had.
//!
//! What arrives is as hostile as everything of the volume's: the caller indexes and checks it.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use lazaret_image_builder::Pinned;
use lazaret_runtime::{
    ContainerLease, ContainerName, EngineError, ExecSpec, HardenedSpec, Process, Stdin,
    Unenforceable,
};
use lazaret_transfer::ObjectId;
use lazaret_tree::{RelPathBuf, escape};

use crate::cancel::Interrupted;
use crate::commits::capped::{Capped, End};
use crate::context::{SessionContext, WORKSPACE};
use crate::engine::signal::SIGKILL;
use crate::lifecycle::verify::{VerifyError, verify_controls};
use crate::porter::conversation::StderrTail;
use crate::store::record::Record;

pub use lazaret_commits::limits::MAX_PACK_BYTES;

/// How long git may take, unless a caller says otherwise.
pub const PACK_TIMEOUT: Duration = Duration::from_mins(10);

/// How long a git that wrote everything may take to end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackRequest {
    /// The repository's directory in the workspace: `.git`, or one below `.git/modules`.
    pub repository: RelPathBuf,
    /// What is wanted, with all that it reaches. A tip that the repository lacks is left out;
    /// so is one of another object format than the first tip's.
    pub tips: Vec<ObjectId>,
    /// What the host has: it is left out, with all that it reaches. The repository may lack it.
    pub known: Vec<ObjectId>,
    /// The most bytes of the pack.
    pub max_bytes: u64,
    /// How long git may take; the consumer's time counts.
    pub timeout: Duration,
}

/// Why there is no pack. The volume is as it was.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A control of the container is not in force; git was not started.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The engine gave git no input.
    #[error("git has no stdin")]
    NoStdin,
    /// The connection to git broke.
    #[error("cannot pack the commits: the stream to the container broke")]
    Stream(#[source] io::Error),
    /// The pack is larger than it may be.
    #[error("cannot pack the commits: the pack is larger than {limit} bytes")]
    TooLarge {
        /// [`PackRequest::max_bytes`].
        limit: u64,
    },
    /// git was not done in time.
    #[error("cannot pack the commits: git took longer than {} s", limit.as_secs())]
    TimedOut {
        /// [`PackRequest::timeout`].
        limit: Duration,
    },
    /// git failed.
    #[error("cannot pack the commits: git ended with {code}: {last_line}")]
    Git {
        /// The exit code; 128 + n for a signal.
        code: i32,
        /// Its complaint, escaped.
        last_line: String,
    },
}

/// What runs in the container. Its arguments are the object format and the directory of the
/// copy's repository; its stdin is a list of revisions that ends with an empty line.
///
/// `rev-list` makes the list of objects, since `pack-objects --revs` fails on a revision that
/// the repository lacks. Objects that are missing below one, as in a partial clone, are left
/// out: `index-pack --strict` on the host needs each of them from the pack or the host. A commit
/// graph is not believed, since it may name other parents than the commits do. Nothing makes the
/// pack thin.
const SCRIPT: &str = r#"cd "$2/objects" || exit
git init --quiet --bare --template= --object-format="$1" || exit
export GIT_OBJECT_DIRECTORY="$2/objects" GIT_SHALLOW_FILE="$2/shallow"
git -c core.commitGraph=false --no-replace-objects \
  rev-list --objects --ignore-missing --missing=allow-any --stdin |
git -c pack.threads=1 -c pack.windowMemory=128m -c pack.deltaCacheSize=64m \
  -c core.bigFileThreshold=16m --no-replace-objects \
  pack-objects --stdout --delta-base-offset --quiet
"#;

/// How the lines begin that say why there is no pack: git's, the script's and the porter's.
const SPEAKERS: [&str; 3] = ["fatal: ", "pack: ", "porter: "];

/// What git finds in its environment.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("GIT_DIR", "/tmp/repository"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
];

/// Packs commits, and has `consume` read the pack while git writes it. What `consume` returns
/// counts only if all of this succeeds: a pack that was cut off is never taken for a whole one.
/// `consume` need not read to the end. `image` is the one that has git, `base`.
///
/// # Errors
/// Why there is no pack; or `consume`'s own error, where that stopped reading because of it.
pub fn pack<T, E: From<PackError>>(
    cx: &SessionContext<'_>,
    record: &Record,
    image: &Pinned,
    request: &PackRequest,
    consume: impl FnOnce(&mut dyn Read) -> Result<T, E>,
) -> Result<T, E> {
    let spec = cx.packer_spec(record, image).map_err(PackError::from)?;
    let name = &spec.spec().name;
    // An earlier try may have left one behind.
    cx.engine.remove_container(name).map_err(PackError::from)?;
    let lease = ContainerLease::create(&cx.engine, &spec).map_err(PackError::from)?;
    let guard = cx.kill_on_cancel(name);
    let packed = match start(cx, &spec, request) {
        Ok(git) => git.read(cx, request, consume),
        Err(error) => Err(error.into()),
    };
    drop(guard);
    // Not in the background: the next pack needs the name.
    drop(lease);
    // After a signal, the interrupt is the cause to report.
    cx.cancel.check().map_err(PackError::from)?;
    packed
}

/// A git that packs.
struct Packing<'a> {
    container: &'a ContainerName,
    started: Instant,
    process: Process,
}

/// Starts the container, proves its controls, and starts git.
fn start<'a>(
    cx: &SessionContext<'_>,
    spec: &'a HardenedSpec,
    request: &PackRequest,
) -> Result<Packing<'a>, PackError> {
    let container = &spec.spec().name;
    cx.engine.start_container(container)?;
    verify_controls(&*cx.engine, spec, cx.events)?;
    // Before the process: the deadline inside is never earlier.
    let started = Instant::now();
    let process = cx.spawn_first(&cx.spawner(container), &exec(spec, request))?;
    Ok(Packing {
        container,
        started,
        process,
    })
}

impl Packing<'_> {
    fn read<T, E: From<PackError>>(
        self,
        cx: &SessionContext<'_>,
        request: &PackRequest,
        consume: impl FnOnce(&mut dyn Read) -> Result<T, E>,
    ) -> Result<T, E> {
        let Process {
            stdin,
            stdout,
            stderr,
            control,
        } = self.process;
        let stderr_tail = StderrTail::of(stderr);
        // git reads all of it before it writes anything.
        let asked = ask(stdin.ok_or(PackError::NoStdin)?, request);
        let mut pack = Capped::new(stdout, request.max_bytes);
        let consumed = consume(&mut pack);
        if consumed.is_ok() {
            // How that ends is known below.
            drop(io::copy(&mut pack, &mut io::sink()));
        }
        let end = pack.into_end();
        let kill = || drop(cx.engine.signal_container(self.container, SIGKILL));
        if !matches!(end, Some(End::Whole)) {
            kill();
        }
        let said = stderr_tail.within(LAST_WORDS).unwrap_or_else(|_| {
            kill();
            stderr_tail.within(LAST_WORDS).unwrap_or_default()
        });
        let code = control.wait();
        let failure = match (end, code) {
            // The consumer has given up, and knows why.
            (None, _) => return consumed,
            (Some(End::TooLarge), _) => {
                let limit = request.max_bytes;
                return Err(PackError::TooLarge { limit }.into());
            }
            (Some(End::Whole), Ok(0)) => match asked {
                Ok(()) => return consumed,
                // git may have read less than was asked for.
                Err(error) => PackError::Stream(error),
            },
            (Some(End::Whole), Ok(code)) => PackError::Git {
                code,
                last_line: last_line(&said),
            },
            (Some(End::Whole), Err(error)) => error.into(),
            (Some(End::Broken(error)), _) => PackError::Stream(error),
        };
        Err(match self.started.elapsed() >= request.timeout {
            true => PackError::TimedOut {
                limit: request.timeout,
            },
            false => failure,
        }
        .into())
    }
}

/// Tells git what to pack. Its input ends with an empty line, since the end of a stream does not
/// arrive reliably.
fn ask(mut stdin: Box<dyn Write + Send>, request: &PackRequest) -> io::Result<()> {
    stdin.write_all(revisions(request).as_bytes())?;
    stdin.flush()
}

/// Returns the process that packs. PID 1 ends it when its time is up.
fn exec(spec: &HardenedSpec, request: &PackRequest) -> ExecSpec {
    let format = (request.tips.first()).map_or("sha1", ObjectId::object_format);
    let repository = format!("{WORKSPACE}/{}", request.repository.as_str());
    let command = [
        "/bin/bash",
        "-o",
        "pipefail",
        "-c",
        SCRIPT,
        "pack",
        format,
        &repository,
    ];
    let argv = spec.timed_argv(&command.map(str::to_owned), Some(request.timeout));
    let variable = |(name, value): (&str, &str)| match name.parse() {
        Ok(name) => (name, value.to_owned()),
        Err(error) => unreachable!("the names of git's variables are valid: {error}"),
    };
    ExecSpec {
        env: ENVIRONMENT.map(variable).into(),
        ..ExecSpec::new(argv, Stdin::Piped)
    }
}

/// Returns the input of `rev-list`, with the empty line that ends it.
fn revisions(request: &PackRequest) -> String {
    let tips = request.tips.iter().map(|tip| format!("{tip}\n"));
    let known = request.known.iter().map(|known| format!("^{known}\n"));
    tips.chain(known).chain(["\n".to_owned()]).collect()
}

/// Returns the line that says why git failed, escaped.
fn last_line(said: &[u8]) -> String {
    let words = String::from_utf8_lossy(said);
    let mut lines = words.trim().lines().rev();
    let last = lines.clone().next().unwrap_or_default();
    // An engine may add words of its own, about streams that broke because git ended.
    let is_ours = |line: &&str| SPEAKERS.iter().any(|speaker| line.starts_with(speaker));
    match lines.find(is_ours).unwrap_or(last) {
        "" => "it said nothing".to_owned(),
        line => escape(line.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char, length: usize) -> ObjectId {
        let text: String = std::iter::repeat_n(digit, length).collect();
        ObjectId::from_hex(text.as_bytes()).expect("an id")
    }

    fn request() -> PackRequest {
        PackRequest {
            repository: ".git".parse().expect("a path"),
            tips: vec![id('a', 40), id('b', 40)],
            known: vec![id('c', 40)],
            max_bytes: MAX_PACK_BYTES,
            timeout: PACK_TIMEOUT,
        }
    }

    #[test]
    fn git_reads_the_tips_then_what_is_known_then_an_empty_line() {
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        assert_eq!(revisions(&request()), format!("{a}\n{b}\n^{c}\n\n"));
        let nothing = PackRequest {
            tips: Vec::new(),
            known: Vec::new(),
            ..request()
        };
        assert_eq!(revisions(&nothing), "\n");
    }

    #[test]
    fn the_complaint_is_gits_own_and_escaped() {
        let said = b"error: a\nfatal: bad \x1b[2J line\nread unixpacket: connection reset\n";
        assert_eq!(last_line(said), "fatal: bad \\u{1b}[2J line");
        let said = b"pack: line 1: cd: no\nError: read unixpacket: connection reset\n";
        assert_eq!(last_line(said), "pack: line 1: cd: no");
        assert_eq!(last_line(b"Killed\n"), "Killed");
        assert_eq!(last_line(b"\n"), "it said nothing");
    }
}
