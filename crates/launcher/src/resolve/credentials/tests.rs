//! Which file a session is lent, where what becomes of it goes, and who uses it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use lazaret_protocol::CredentialMode;

use lazaret_session::credentials::tokens::tokens;

use super::*;
use crate::environment::{StreamKind, StreamKinds};

const FIRST: &str = r#"{"accessToken":"canary-access-1","refreshToken":"canary-refresh-1"}"#;
const SECOND: &str = r#"{"accessToken":"canary-access-2","refreshToken":"canary-refresh-2"}"#;
const THIRD: &str = r#"{"accessToken":"canary-access-3","refreshToken":"canary-refresh-3"}"#;

struct World {
    root: tempfile::TempDir,
    env: Environment,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory can be made");
        let kind = StreamKind::Other;
        let streams = StreamKinds {
            stdin: kind,
            stdout: kind,
            stderr: kind,
        };
        let home = root.path().join("home");
        fs::create_dir_all(home.join(".tool")).expect("it is writable");
        let variables = [("HOME".into(), home.into_os_string())];
        let uid = rustix::process::geteuid().as_raw();
        let env = Environment::new(variables, streams, None, uid, "/".into());
        Self { root, env }
    }

    fn own(&self) -> PathBuf {
        self.root.path().join("home/.tool/login.json")
    }

    fn log_in(&self, text: &str) {
        fs::write(self.own(), text).expect("it is writable");
        fs::set_permissions(self.own(), fs::Permissions::from_mode(0o600)).expect("it is ours");
    }

    fn take(&self) -> Result<CredentialFile, Failure> {
        self.take_from("~/.tool/login.json")
    }

    fn take_from(&self, from: &str) -> Result<CredentialFile, Failure> {
        let rule = FileRule {
            name: "login".to_owned(),
            from: from.into(),
            to: ".tool/login.json".parse().expect("a path"),
            mode: CredentialMode::ReadOnly,
        };
        Ok(resolve(&[rule], &self.env)?.remove(0))
    }

    #[track_caller]
    fn is_lent(&self, text: &str) -> CredentialFile {
        let lent = self.take().expect("it can be lent");
        assert_eq!(*lent.contents, text.as_bytes());
        lent
    }

    fn renewed(&self) -> PathBuf {
        let cache = self.take().expect("it can be lent").cache;
        cache.folder().join("renewed")
    }
}

#[test]
fn what_a_session_renewed_is_lent_until_the_user_logs_in_again() {
    let world = World::new();
    world.log_in(FIRST);
    let lent = world.is_lent(FIRST);
    assert!(!lent.is_renewed);
    lent.cache.keep(SECOND.as_bytes()).unwrap();
    assert!(world.is_lent(SECOND).is_renewed);
    assert_eq!(fs::read_to_string(world.own()).unwrap(), FIRST);
    // The user's own is a new one: it wins, also over what an older session still renews.
    world.log_in(THIRD);
    assert!(!world.is_lent(THIRD).is_renewed);
    lent.cache.keep(SECOND.as_bytes()).unwrap();
    let now = world.is_lent(THIRD);
    now.cache.keep(FIRST.as_bytes()).unwrap();
    world.is_lent(FIRST);
}

#[test]
fn a_login_is_one_however_it_is_named() {
    let world = World::new();
    world.log_in(FIRST);
    world.take().unwrap().cache.keep(SECOND.as_bytes()).unwrap();
    let link = world.root.path().join("link");
    symlink(world.own().parent().unwrap(), &link).unwrap();
    let named = link.join("login.json").display().to_string();
    assert_eq!(
        *world.take_from(&named).unwrap().contents,
        SECOND.as_bytes()
    );
}

#[test]
fn what_is_kept_is_the_users_alone() {
    let world = World::new();
    world.log_in(FIRST);
    world.take().unwrap().cache.keep(SECOND.as_bytes()).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let renewed = world.renewed();
    assert_eq!(mode(&renewed), 0o600);
    assert_eq!(mode(renewed.parent().unwrap()), 0o700);
    assert_eq!(mode(renewed.parent().unwrap().parent().unwrap()), 0o700);
    // One that others can read, or a link, is not lent.
    fs::set_permissions(&renewed, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(world.take().unwrap_err().kind, FailureKind::Secret);
    fs::remove_file(&renewed).unwrap();
    symlink(world.own(), &renewed).unwrap();
    assert_eq!(world.take().unwrap_err().kind, FailureKind::Secret);
}

#[test]
fn what_is_cut_or_too_large_in_the_cache_is_not_lent() {
    let world = World::new();
    world.log_in(FIRST);
    let cache = world.take().unwrap().cache;
    cache.keep(SECOND.as_bytes()).unwrap();
    let renewed = world.renewed();
    let whole = fs::read(&renewed).unwrap();
    for cut in [0, 10, 60, whole.len() - SECOND.len()] {
        fs::write(&renewed, &whole[..cut]).unwrap();
        world.is_lent(FIRST);
    }
    cache.keep(&vec![b'x'; MAX_CREDENTIAL_BYTES + 1]).unwrap();
    world.is_lent(FIRST);
}

#[test]
fn what_can_not_be_lent_is_said_without_a_word_of_it() {
    let world = World::new();
    let said = |world: &World| {
        let failure = world.take().unwrap_err();
        let text = format!("{:?} {:?}", failure.chain(), failure.hints);
        assert!(!text.contains("canary"), "{text}");
        text
    };
    assert!(said(&world).contains("can't be read"));
    world.log_in("");
    assert!(said(&world).contains("it is empty"));
    world.log_in(&"canary".repeat(MAX_CREDENTIAL_BYTES / 6 + 1));
    assert!(said(&world).contains("larger than a login can be"));
    world.log_in(FIRST);
    fs::set_permissions(world.own(), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(said(&world).contains("read or written by others"));
    let lent = {
        world.log_in(FIRST);
        world.take().unwrap()
    };
    assert!(!format!("{lent:?}").contains("canary"));
}

#[test]
fn two_live_sessions_that_renew_one_login_are_warned_of() {
    let world = World::new();
    world.log_in(FIRST);
    let claim = |id: &str| claim(&[world.take().unwrap()], &id.parse().unwrap()).unwrap();
    let (first, warnings) = claim("one");
    assert!(warnings.is_empty(), "{warnings:?}");
    let (second, warnings) = claim("two");
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("session one uses the login login as well"));
    drop(first);
    // Its file is a dead session's, as one that was killed leaves it.
    let folder = world.take().unwrap().cache.folder().join("in-use");
    fs::write(folder.join("dead"), "").unwrap();
    drop(second);
    let (third, warnings) = claim("three");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(!folder.join("dead").exists());
    // One that can't be renewed can be shared.
    world.log_in(r#"{"token":"canary-canary-canary"}"#);
    let (_fourth, warnings) = claim("four");
    assert!(warnings.is_empty(), "{warnings:?}");
    drop(third);
}

#[test]
fn tokens_are_told_from_the_words_around_them() {
    let found = |text: &str| -> Vec<String> {
        let tokens = tokens(text.as_bytes()).into_iter();
        tokens
            .map(|token| String::from_utf8(token).unwrap())
            .collect()
    };
    let login = r#"{"claudeAiOauth":{"accessToken":"sk-ant-oat01-abcdef_0123","refreshToken":
        "sk-ant-ort01-abcdef_01234","expiresAt":1760000000000,"scopes":["user:inference"],
        "issuer":"https://login.example.org/tokens","plan":"max", "name":"A person with a name"}}"#;
    assert_eq!(
        found(login),
        ["sk-ant-ort01-abcdef_01234", "sk-ant-oat01-abcdef_0123"]
    );
    assert_eq!(
        found("token = 'gho_0123456789abcdef'\nuser = me\n"),
        ["gho_0123456789abcdef"]
    );
    assert_eq!(found("{\"short\": \"12345678\"}").len(), 0);
    let many: String = (0..1000)
        .map(|n| format!("token-number-{n:08}\n"))
        .collect();
    assert_eq!(found(&many).len(), 16);
    for (text, renews) in [
        (FIRST, true),
        ("refresh_token = x", true),
        ("refresh-token: x", true),
        ("token = refreshing", false),
    ] {
        assert_eq!(renews_itself(text.as_bytes()), renews, "{text}");
    }
}
