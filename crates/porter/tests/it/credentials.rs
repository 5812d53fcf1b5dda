//! `lend` over a directory: files get there for their user alone, what becomes of them is
//! told, and what is no file of that size is not.

use std::fs;
use std::io::{BufReader, PipeReader, PipeWriter, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use lazaret_protocol::{CredentialEvent, CredentialMode, MAX_CREDENTIAL_BYTES, SentCredential};

use crate::session::{fast_tempdir, porter};

const LOGIN: &[u8] = b"{\"token\":\"one\"}";

fn order(files: &[(&str, CredentialMode)]) -> Vec<u8> {
    let mut lines = Vec::new();
    for (path, mode) in files {
        let file = SentCredential {
            path: &path.parse::<lazaret_tree::RelPathBuf>().expect("a path"),
            mode: *mode,
            contents: LOGIN,
        };
        file.write_to(&mut lines);
    }
    lines.extend_from_slice(b"end\n");
    lines
}

struct Lending {
    home: tempfile::TempDir,
    stdin: Option<PipeWriter>,
    stdout: BufReader<PipeReader>,
    handle: duct::Handle,
}

impl Lending {
    fn start(files: &[(&str, CredentialMode)]) -> Self {
        let home = fast_tempdir();
        let (input, mut stdin) = std::io::pipe().expect("a pipe");
        let (stdout, output) = std::io::pipe().expect("a pipe");
        let arguments = ["lend".as_ref(), home.path().as_os_str()];
        let handle = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
            .stdin_file(input)
            .stdout_file(output)
            .unchecked()
            .start()
            .expect("the porter was built");
        stdin.write_all(&order(files)).expect("it reads");
        let mut lending = Self {
            home,
            stdin: Some(stdin),
            stdout: BufReader::new(stdout),
            handle,
        };
        assert_eq!(lending.hears(), Some(CredentialEvent::Ready));
        lending
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn hears(&mut self) -> Option<CredentialEvent> {
        CredentialEvent::read(&mut self.stdout).expect("it speaks")
    }

    /// Ends its input, and returns what it says in the end.
    fn end(mut self) -> Vec<CredentialEvent> {
        drop(self.stdin.take());
        let mut said = Vec::new();
        while let Some(event) = self.hears() {
            said.push(event);
        }
        let output = self.handle.wait().expect("it ends");
        assert!(output.status.success());
        said
    }
}

fn changed(index: usize, contents: &[u8]) -> CredentialEvent {
    CredentialEvent::Changed {
        index,
        contents: contents.to_vec(),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .expect("it is there")
        .permissions()
        .mode()
        & 0o777
}

#[test]
fn a_lent_file_is_its_users_alone_and_what_replaces_it_is_told() {
    let mut lending = Lending::start(&[
        (".tool/deep/login.json", CredentialMode::ReadOnly),
        (".other", CredentialMode::Writable),
    ]);
    let login = lending.path(".tool/deep/login.json");
    assert_eq!(fs::read(&login).unwrap(), LOGIN);
    assert_eq!(mode(&login), 0o400);
    assert_eq!(mode(&lending.path(".tool")), 0o700);
    assert_eq!(mode(&lending.path(".tool/deep")), 0o700);
    assert_eq!(mode(&lending.path(".other")), 0o600);
    let new = lending.path(".tool/deep/new");
    fs::write(&new, "two").unwrap();
    fs::rename(&new, &login).unwrap();
    assert_eq!(lending.hears(), Some(changed(0, b"two")));
    fs::write(lending.path(".other"), "three").unwrap();
    assert_eq!(lending.hears(), Some(changed(1, b"three")));
    // A last look, however soon the end is.
    fs::write(&new, "four").unwrap();
    fs::rename(&new, &login).unwrap();
    assert_eq!(lending.end(), [changed(0, b"four")]);
}

#[test]
fn what_is_no_file_of_that_size_is_not_read() {
    let secret = fast_tempdir();
    let outside = secret.path().join("outside");
    fs::write(&outside, "not the agent's").unwrap();
    for hostile in [
        "link",
        "above",
        "directory",
        "fifo",
        "empty",
        "large",
        "same",
    ] {
        let lending = Lending::start(&[(".tool/login", CredentialMode::ReadOnly)]);
        let login = lending.path(".tool/login");
        fs::remove_file(&login).unwrap();
        match hostile {
            "link" => symlink(&outside, &login).unwrap(),
            "above" => {
                fs::remove_dir(lending.path(".tool")).unwrap();
                fs::write(secret.path().join("login"), "not the agent's").unwrap();
                symlink(secret.path(), lending.path(".tool")).unwrap();
            }
            "directory" => fs::create_dir(&login).unwrap(),
            "fifo" => {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, &login, kind, mode, 0).unwrap();
            }
            "empty" => fs::write(&login, "").unwrap(),
            "large" => fs::write(&login, vec![b'x'; MAX_CREDENTIAL_BYTES + 1]).unwrap(),
            _ => fs::write(&login, LOGIN).unwrap(),
        }
        // Its end comes after a last look.
        assert_eq!(lending.end(), [], "{hostile}");
    }
}

#[test]
fn nothing_is_lent_where_something_lies() {
    let home = fast_tempdir();
    fs::write(home.path().join("login"), "").unwrap();
    let said = porter(
        "lend",
        home.path(),
        &order(&[("login", CredentialMode::ReadOnly)]),
    )
    .failed();
    assert!(said.starts_with("porter: lend: ~/login: "), "{said}");
    let outside = fast_tempdir();
    symlink(outside.path(), home.path().join("link")).unwrap();
    let said = porter(
        "lend",
        home.path(),
        &order(&[("link/x", CredentialMode::ReadOnly)]),
    )
    .failed();
    assert!(said.starts_with("porter: lend: ~/link/x: "), "{said}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let said = porter("lend", home.path(), b"file 0400 61 61\n").failed();
    assert_eq!(said, "porter: lend: the list is cut off");
}
