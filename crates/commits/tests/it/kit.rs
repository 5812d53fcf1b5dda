//! A user's repository, an agent's copy of it, and the way from one to the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lazaret_commits::ObjectId;
use lazaret_commits::examine::{Examination, Rules, examine};
use lazaret_commits::git::Git;
use lazaret_commits::land::{LandError, LandRequest, Landed, Landing};
use lazaret_commits::land_name::{LandNames, Source};
use lazaret_commits::linked::LinkedRepository;
use lazaret_commits::quarantine::{Quarantine, QuarantineError};
use lazaret_transfer::{Repository, WorkspaceDir};
use lazaret_validator::Policy;
use tempfile::TempDir;

/// The forms in which git keeps a repository.
pub(crate) const FORMS: [&[&str]; 3] =
    [&[], &["--object-format=sha256"], &["--ref-format=reftable"]];

pub(crate) struct World {
    dir: TempDir,
}

impl World {
    /// A user's repository with one commit, and an agent's clone of it.
    pub(crate) fn new(form: &[&str]) -> Self {
        let world = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let init = [&["init", "-q", "-b", "main"], form, &["user"]].concat();
        git(world.dir.path(), &init);
        fs::write(world.user().join("a.txt"), "one\n").unwrap();
        fs::create_dir(world.user().join("src")).unwrap();
        fs::write(world.user().join("src/lib.rs"), "pub fn f() {}\n").unwrap();
        commit(&world.user(), "first");
        world.clone_agent();
        world
    }

    pub(crate) fn clone_agent(&self) {
        let ref_format = ["--ref-format=files"];
        let clone = [&["clone", "-q"], &ref_format[..], &["user", "agent"]].concat();
        git(self.dir.path(), &clone);
    }

    pub(crate) fn user(&self) -> PathBuf {
        self.dir.path().join("user")
    }

    pub(crate) fn agent(&self) -> PathBuf {
        self.dir.path().join("agent")
    }

    pub(crate) fn tip(&self, name: &str) -> ObjectId {
        let id = git(&self.agent(), &["rev-parse", name]);
        ObjectId::from_hex(id.as_bytes()).unwrap()
    }

    /// Packs what the agent has and the user has not.
    pub(crate) fn pack(&self, tips: &[ObjectId]) -> Vec<u8> {
        let mut asked: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
        let known = git(&self.user(), &["for-each-ref", "--format=^%(objectname)"]);
        asked.push_str(&known);
        let listing = ["rev-list", "--objects", "--ignore-missing", "--stdin"];
        let objects = run(&self.agent(), &listing, asked.as_bytes());
        let packing = ["pack-objects", "--stdout", "-q", "--delta-base-offset"];
        run(&self.agent(), &packing, &objects)
    }

    pub(crate) fn repository(&self) -> Repository {
        let workspace = WorkspaceDir::open_ambient(&self.user()).unwrap();
        Repository::find(&workspace).unwrap().unwrap()
    }

    pub(crate) fn take_in(&self, mut pack: &[u8]) -> Result<Quarantine, QuarantineError> {
        let path = search_path();
        let git = Git::find(&path, &self.user()).unwrap();
        let dir = self.dir.path().join("commits.git");
        let mut quarantine = Quarantine::create(git, &dir, &self.repository())?;
        quarantine.take_in(&mut pack, &|| false)?;
        Ok(quarantine)
    }

    /// Takes in and examines what tips name.
    pub(crate) fn examine(&self, tips: &[ObjectId]) -> (Quarantine, Examination) {
        let quarantine = self.take_in(&self.pack(tips)).unwrap();
        let examined = examine(&quarantine, tips, &rules(), &|| false).unwrap();
        (quarantine, examined)
    }

    pub(crate) fn land(
        &self,
        quarantine: &Quarantine,
        wanted: &[(Source, ObjectId)],
    ) -> Vec<Result<Landed, LandError>> {
        let repository = self.repository();
        let dir = self.dir.path().join("land.git");
        let git = quarantine.git().clone();
        let linked = LinkedRepository::create(git, &dir, &repository).unwrap();
        let mut landing = Landing::open(&linked, &repository, quarantine, &|| false).unwrap();
        let mut names = LandNames::of("s");
        let wanted: Vec<LandRequest> = wanted
            .iter()
            .map(|(source, id)| LandRequest {
                name: names.give(source),
                id: *id,
            })
            .collect();
        landing.land(&wanted).unwrap()
    }

    /// Every file of the user's `.git`, but objects and refs.
    pub(crate) fn user_state(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let git = self.user().join(".git");
        let mut files = BTreeMap::new();
        read_below(&git, &mut files);
        files.retain(|path, _| {
            let inside = path.strip_prefix(&git).unwrap();
            !["objects", "refs", "reftable"]
                .iter()
                .any(|part| inside.starts_with(part))
        });
        files
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests use the git of the environment that they run in"
)]
fn search_path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

pub(crate) fn rules() -> Rules {
    Rules {
        policy: Policy::shipped(),
        allow: Vec::new(),
        copied: None,
    }
}

fn read_below(dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => read_below(&entry.path(), files),
            false => drop(files.insert(entry.path(), fs::read(entry.path()).unwrap())),
        }
    }
}

pub(crate) fn commit(dir: &Path, message: &str) -> String {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "--allow-empty", "-m", message]);
    git(dir, &["rev-parse", "HEAD"])
}

pub(crate) fn git(dir: &Path, arguments: &[&str]) -> String {
    let text = String::from_utf8(run(dir, arguments, b"")).unwrap();
    text.trim_end().to_owned()
}

/// Runs git with an environment of its own; it must succeed.
pub(crate) fn run(dir: &Path, arguments: &[&str], stdin: &[u8]) -> Vec<u8> {
    let command = duct::cmd("git", arguments)
        .dir(dir)
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.invalid")
        .env("GIT_COMMITTER_NAME", "C")
        .env("GIT_COMMITTER_EMAIL", "c@example.invalid")
        .stdin_bytes(stdin)
        .stdout_capture()
        .stderr_capture()
        .unchecked();
    let output = command.run().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    output.stdout
}
