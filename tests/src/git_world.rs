//! Real repositories, made by the git of this machine, and streams of copies unpacked again.

use std::path::{Path, PathBuf};

/// Runs git in `dir`, apart from the machine's configuration, and returns what it printed.
#[track_caller]
pub fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = call(dir, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs git where it may fail.
pub fn call(dir: &Path, arguments: &[&str]) -> std::process::Output {
    let mut all = vec!["-c", "protocol.file.allow=always"];
    all.extend(arguments);
    duct::cmd("git", all)
        .dir(dir)
        .full_env([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.org"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.org"),
        ])
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()
        .expect("git is installed")
}

/// A directory with repositories in it.
#[derive(Debug)]
pub struct World {
    scratch: tempfile::TempDir,
}

impl World {
    /// With `main`: two commits, a branch, a stash, and an index that is older than no file.
    #[expect(clippy::new_without_default, reason = "it is much work, not a default")]
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// The same, with more options of `git init`.
    pub fn with(init: &[&str]) -> Self {
        let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let world = Self {
            scratch: scratch.expect("a temporary directory"),
        };
        let mut arguments = vec!["init", "-q", "-b", "main"];
        arguments.extend(init);
        arguments.push("main");
        git(&world.path(""), &arguments);
        world.write("main/a", "one\n");
        world.write("main/b", "b\n");
        world.git("main", &["add", "."]);
        world.git("main", &["commit", "-qm", "first"]);
        world.write("main/a", "two\n");
        world.git("main", &["commit", "-qam", "second"]);
        world.git("main", &["branch", "side", "HEAD~1"]);
        for text in ["older", "newer"] {
            world.write("main/b", text);
            world.git("main", &["stash", "push", "-qm", text]);
        }
        world
    }

    /// A path in it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.scratch.path().join(path)
    }

    /// Makes a key of ssh's the one that the repository of `dir` signs with.
    pub fn sign_with_a_new_key(&self, dir: &str) {
        let key = self.path("key").display().to_string();
        duct::cmd!("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &key)
            .run()
            .expect("openssh-client is installed");
        let public = std::fs::read_to_string(format!("{key}.pub")).expect("a key");
        self.write("signers", &format!("user@example.org {public}"));
        let signers = self.path("signers").display().to_string();
        for (name, value) in [
            ("gpg.format", "ssh"),
            ("gpg.ssh.allowedSignersFile", &*signers),
            ("user.signingkey", &*key),
            ("user.name", "User"),
            ("user.email", "user@example.org"),
        ] {
            self.git(dir, &["config", name, value]);
        }
    }

    /// Runs git in a directory of it.
    #[track_caller]
    pub fn git(&self, dir: &str, arguments: &[&str]) -> String {
        git(&self.path(dir), arguments)
    }

    /// Writes a file, and the directories above it.
    #[track_caller]
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("has one")).expect("writable");
        std::fs::write(path, text).expect("writable");
    }
}

/// A workspace as the command finds it.
pub struct Copied {
    _scratch: tempfile::TempDir,
    /// Where it lies, with nothing around it.
    pub dir: PathBuf,
    /// What it was unpacked from.
    pub stream: Vec<u8>,
}

impl std::fmt::Debug for Copied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Copied").field(&self.dir).finish()
    }
}

impl Copied {
    /// Unpacks a stream, several levels down: a relative path that leads out leads nowhere.
    #[track_caller]
    pub fn unpack(stream: Vec<u8>) -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let dir = scratch.path().join("in/side/of/it");
        std::fs::create_dir_all(&dir).expect("writable");
        duct::cmd!("tar", "-x", "--no-same-owner")
            .dir(&dir)
            .stdin_bytes(stream.clone())
            .run()
            .expect("tar reads it");
        Self {
            _scratch: scratch,
            dir,
            stream,
        }
    }

    /// Runs git in it.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.dir, arguments)
    }

    /// Runs git in a directory of it.
    #[track_caller]
    pub fn git_in(&self, dir: &str, arguments: &[&str]) -> String {
        git(&self.dir.join(dir), arguments)
    }

    /// Works in it as an agent would, and looks whether git is content.
    #[track_caller]
    pub fn work(&self, dir: &str) {
        let dir = self.dir.join(dir);
        std::fs::write(dir.join("made-inside"), "x\n").expect("writable");
        git(&dir, &["add", "made-inside"]);
        git(&dir, &["commit", "-qm", "inside"]);
        std::fs::write(dir.join("made-inside"), "y\n").expect("writable");
        git(&dir, &["stash", "push", "-q"]);
        git(&dir, &["stash", "pop", "-q"]);
        git(&dir, &["checkout", "-q", "--", "made-inside"]);
        assert_eq!(git(&dir, &["show", "HEAD:made-inside"]), "x\n");
        git(&dir, &["fsck", "--full", "--strict"]);
    }
}
