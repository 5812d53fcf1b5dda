//! Bootstraps with a script in the place of mmdebstrap.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::cache::layer_cache;

const STAND_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mmdebstrap");

/// A program in mmdebstrap's place, and a cache for what it makes.
struct Stage {
    dir: tempfile::TempDir,
    suite: Suite,
    include: Vec<PackageName>,
}

/// Ends like an installation that went well. `$system` is the tar to write.
const GOOD: &str = r"
mkdir -p root/etc root/var/lib/dpkg
echo root:x:0:0:root:/root:/bin/sh > root/etc/passwd
echo root:x:0: > root/etc/group
printf 'Package: git\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n' > root/var/lib/dpkg/status
tar -C root -cf $system .
";

/// A layer in the cache.
#[derive(Debug)]
struct Built {
    path: PathBuf,
    locked: LockedLayer,
}

impl Stage {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            suite: "bookworm".parse().unwrap(),
            include: vec!["git".parse().unwrap()],
        }
    }

    /// Runs a build with the shell script `body` as mmdebstrap; what it says and how it ends.
    fn build(
        &self,
        body: &str,
        max_age: Option<Duration>,
    ) -> (Vec<BuildEvent>, Result<Built, String>) {
        let cache = self.dir.path().join("cache");
        fs::write(
            self.dir.path().join("script"),
            format!("rm -rf root\n{body}"),
        )
        .unwrap();
        let bootstrap = DebianBase {
            image: "base",
            suite: &self.suite,
            include: &self.include,
            architecture: "amd64",
            key: DebianBase::key(&self.suite, &self.include, "amd64"),
            cache: &cache,
            program: STAND_IN,
        };
        let mut events = Vec::new();
        let result = layer_cache::ensure(&bootstrap, max_age, &mut |event| {
            // A child that another test is just forking may hold the guard for a moment.
            if !matches!(event, BuildEvent::WaitingForOther { .. }) {
                events.push(event);
            }
        });
        let result = result.map(|found| Built {
            path: bootstrap.entry().layer(&found.value.layer),
            locked: found.value,
        });
        let result = result.map_err(|error| {
            let text = error.to_string().replace(STAND_IN, "mmdebstrap");
            match text.split_once(" --mode") {
                Some((start, rest)) => {
                    format!("{start} …`{}", rest.split_once('`').unwrap().1)
                }
                None => text,
            }
        });
        (events, result)
    }

    fn leftovers(&self) -> Vec<String> {
        let cache = fs::read_dir(self.dir.path().join("cache")).unwrap();
        cache
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains(".new-"))
            .collect()
    }
}

#[test]
fn a_system_is_made_once() {
    let stage = Stage::new();
    let (events, made) = stage.build(GOOD, None);
    let made = made.unwrap();
    assert!(
        matches!(
            events.as_slice(),
            [BuildEvent::Bootstrapping { .. }, BuildEvent::Tidying { .. }]
        ),
        "{events:?}"
    );
    assert_eq!(made.locked.packages["git"], "1");
    let (events, again) = stage.build("exit 1", None);
    assert_eq!((events, again.unwrap().path), (Vec::new(), made.path));
    assert_eq!(stage.leftovers(), [""; 0]);
}

#[test]
fn a_failure_shows_the_last_lines_and_leaves_nothing() {
    let stage = Stage::new();
    let (_, result) = stage.build(
        "echo half > $system; seq 20; printf 'E: no \\033[1mspace\\n' >&2; exit 3",
        None,
    );
    insta::assert_snapshot!(result.unwrap_err(), @r"
        bootstrap Debian: `mmdebstrap …` ended with exit status: 3; its last lines:
        7
        8
        9
        10
        11
        12
        13
        14
        15
        16
        17
        18
        19
        20
        E: no \u{1b}[1mspace
        ");
    assert_eq!(stage.leftovers(), [""; 0]);
    assert!(
        stage.build("exit 1", None).1.is_err(),
        "a failed build must not be found in the cache"
    );
}

#[test]
fn a_system_that_lacks_what_was_asked_for_is_not_used() {
    let stage = Stage::new();
    let (_, result) = stage.build(&GOOD.replace("Package: git", "Package: make"), None);
    insta::assert_snapshot!(result.unwrap_err(), @"bootstrap Debian: the system has no package git");
    let (_, result) = stage.build(&GOOD.replace("root/etc/group", "root/etc/groups"), None);
    insta::assert_snapshot!(result.unwrap_err(), @"bootstrap Debian: the system has no etc/group");
    let (_, result) = stage.build("head -c 700 /dev/zero | tr '\\0' x > $system", None);
    assert!(result.is_err());
}

#[test]
fn an_old_system_is_replaced_or_else_kept() {
    let stage = Stage::new();
    let old = stage.build(GOOD, None).1.unwrap();
    let now = Some(Duration::ZERO);
    let (_, new) = stage.build(&GOOD.replace("Version: 1", "Version: 2"), now);
    let new = new.unwrap();
    assert_eq!(new.locked.packages["git"], "2");
    assert!(!old.path.exists());

    let (events, kept) = stage.build("exit 1", now);
    assert_eq!(kept.unwrap().path, new.path);
    assert!(
        matches!(events.last(), Some(BuildEvent::KeptOld { .. })),
        "{events:?}"
    );
    // And then leaves it alone for a while.
    assert_eq!(stage.build("exit 1", now).0, []);
}

#[test]
fn what_lazaret_was_left_open_does_not_reach_the_program() {
    use rustix::io::{FdFlags, fcntl_setfd};
    let left: Vec<File> = (0..16)
        .map(|_| {
            let file = File::open("/dev/null").unwrap();
            fcntl_setfd(&file, FdFlags::empty()).unwrap();
            file
        })
        .collect();
    let look = "for fd in 3 4 5 6 7 8 9; do\n\
                if [ -e /proc/$$/fd/$fd ]; then echo \"$fd is open\"; exit 4; fi\ndone\n";
    Stage::new()
        .build(&format!("{look}{GOOD}"), None)
        .1
        .unwrap();
    drop(left);
}

#[test]
fn a_missing_program_says_what_to_install() {
    let stage = Stage::new();
    let bootstrap = DebianBase {
        image: "base",
        suite: &stage.suite,
        include: &[],
        architecture: "amd64",
        key: DebianBase::key(&stage.suite, &[], "amd64"),
        cache: stage.dir.path(),
        program: "/nowhere/mmdebstrap",
    };
    let error = layer_cache::ensure(&bootstrap, None, &mut |_| {}).unwrap_err();
    insta::assert_snapshot!(error, @"bootstrap Debian: mmdebstrap is not installed; install it (`apt-get install mmdebstrap`, as root) or run `cargo xtask setup`");
}
