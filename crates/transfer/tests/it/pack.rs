//! SelectionSpec, walk and pack: what goes in, and as which bytes.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use lazaret_protocol::{Members, StreamLimits};
use lazaret_tests::{Random, random_tree, tree_text};
use lazaret_transfer::{
    BlobStore, FileSelector, GitMode, Hashing, PackError, Packed, SelectionSpec, StreamEnd,
    Unpacked, WorkspaceDir, pack, unpack, walk,
};
use lazaret_tree::escape;

pub(crate) fn selector(git: GitMode, exclude: &[&str]) -> FileSelector {
    let exclude = exclude.iter().map(|&line| line.to_owned()).collect();
    SelectionSpec { git, exclude }.compile().expect("patterns")
}

pub(crate) fn packed(dir: &Path, selector: &FileSelector) -> (Packed, Vec<u8>) {
    let workspace = WorkspaceDir::open_ambient(dir).expect("a directory");
    let mut stream = Vec::new();
    let packed = pack(&workspace, selector, &mut stream, &mut |_| {}).expect("readable");
    (packed, stream)
}

pub(crate) fn unpacked(stream: &[u8]) -> Unpacked {
    let store = tempfile::tempdir().expect("a temporary directory");
    let quarantine = BlobStore::create(&store.path().join("quarantine")).expect("private");
    let mut input = stream;
    let limits = StreamLimits::DEFAULT;
    let unpacked = unpack(&mut input, limits, &quarantine, StreamEnd::Trailer).expect("our stream");
    assert!(input.is_empty(), "the reader knows the end");
    unpacked
}

/// Builds `text`, packs it, and prints what went in and what stayed out.
#[track_caller]
fn check(text: &str, git: GitMode, exclude: &[&str]) -> String {
    let dir = tree_text::temp(text);
    list(dir.path(), &selector(git, exclude))
}

#[track_caller]
fn list(dir: &Path, selector: &FileSelector) -> String {
    let (packed, stream) = packed(dir, selector);
    let workspace = WorkspaceDir::open_ambient(dir).expect("a directory");
    let tree = packed.manifest.tree().expect("in path order");
    let threads = NonZeroUsize::new(2).expect("not 0");
    let walked = walk(&workspace, selector, Hashing::Contents(threads)).expect("readable");
    assert_eq!(walked.tree, tree, "walk and pack are one walk");
    assert_eq!(walked.skipped, packed.skipped);
    let sizes = walk(&workspace, selector, Hashing::SizesOnly).expect("readable");
    assert_eq!(sizes.tree.total_bytes(), packed.bytes);
    assert_eq!(sizes.tree.len(), tree.len());
    let unpacked = unpacked(&stream);
    assert_eq!(unpacked.tree, tree, "what was sent is what arrives");
    assert_eq!(unpacked.trailer, Some(packed.trailer));
    assert!(unpacked.refusals.is_empty() && unpacked.notes.is_empty());
    let mut lines = Vec::new();
    for (path, _) in tree.iter() {
        lines.push(format!("  {}", escape(path.as_str().as_bytes())));
    }
    for skipped in &packed.skipped {
        let bytes = skipped
            .bytes
            .map(|bytes| format!(" {bytes}"))
            .unwrap_or_default();
        let (name, code) = (escape(&skipped.name), skipped.reason.code());
        lines.push(format!("- {name}{bytes} {code}"));
    }
    lines.join("\n")
}

#[test]
fn secret_files_stay_out() {
    let text = r#"
        f .env "A=b"
        f .env.example "A="
        f app/.env.local "A=b"
        f certs/ca.pem "-----BEGIN CERTIFICATE-----\nMII\n"
        f certs/server.pem "-----BEGIN PRIVATE KEY-----\nMII\n"
        f .npmrc "//registry.example.org/:_authToken=x\n"
        f web/.npmrc "save-exact=true\n"
        f .aws/credentials "x"
        f id_ed25519 "x"
        f id_ed25519.pub "x"
    "#;
    insta::assert_snapshot!(check(text, GitMode::Full, &[]), @r"
      .env.example
      app
      certs
      certs/ca.pem
      id_ed25519.pub
      web
      web/.npmrc
    - .aws skip.secret
    - .env 3 skip.secret
    - .npmrc 37 skip.secret
    - app/.env.local 3 skip.secret
    - certs/server.pem 32 skip.secret
    - id_ed25519 1 skip.secret
    ");
}

#[test]
fn only_the_profile_overrules_the_secret_rules() {
    let text = r#"
        f .gitignore "!.env\n"
        f .lazaretignore "!.env\n!*.key\n"
        f .env "A=b"
        f tls.key "x"
    "#;
    insta::assert_snapshot!(check(text, GitMode::Full, &["!.env"]), @r"
      .env
      .gitignore
      .lazaretignore
    - tls.key 1 skip.secret
    ");
}

/// A key as `openssl genpkey` writes it, its base64 made up.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\\n-----END PRIVATE KEY-----\\n";

#[test]
fn sec_01_secrets_stay_out_by_name_and_by_what_they_hold() {
    let text = format!(
        r#"
        f .claude/.credentials.json "{{}}"
        f .claude/settings.json "{{}}"
        f .codex/auth.json "{{}}"
        f .config/gh/hosts.yml "x"
        f .bash_history "x"
        f .dev.vars "x"
        f .gitignore "ignored.txt\n"
        f app.ts "const key = `{KEY}`;"
        f client_secret_1.json "{{}}"
        f credentials.json "{{}}"
        f example.env "A="
        f ignored.txt "{KEY}"
        f infra/prod.tfvars "x"
        f kubeconfig "x"
        f notes/deploy.md "{KEY}"
        f prod.env "A=b"
        f secrets.yml "x"
        f service-account.json "{{}}"
        f src/pem.rs "-----BEGIN PRIVATE KEY-----"
        f web/.env.example "A="
        "#
    );
    insta::assert_snapshot!(check(&text, GitMode::Full, &[]), @r"
      .claude
      .claude/settings.json
      .codex
      .config
      .config/gh
      .gitignore
      example.env
      infra
      notes
      src
      src/pem.rs
      web
      web/.env.example
    - .bash_history 1 skip.secret
    - .claude/.credentials.json 2 skip.secret
    - .codex/auth.json 2 skip.secret
    - .config/gh/hosts.yml 1 skip.secret
    - .dev.vars 1 skip.secret
    - app.ts 134 skip.private_key
    - client_secret_1.json 2 skip.secret
    - credentials.json 2 skip.secret
    - ignored.txt 119 skip.gitignore
    - infra/prod.tfvars 1 skip.secret
    - kubeconfig 1 skip.secret
    - notes/deploy.md 119 skip.private_key
    - prod.env 3 skip.secret
    - secrets.yml 1 skip.secret
    - service-account.json 2 skip.secret
    ");
}

#[test]
fn sec_01_a_line_takes_in_what_is_no_secret_here() {
    let text = format!(
        r#"
        f .lazaretignore "!tests/fixtures/**\n!test.env\n!.env\n!kubeconfig\n"
        f .env "A=b"
        f kubeconfig "x"
        f other.pem.txt "{KEY}"
        f test.env "A=b"
        f tests/fixtures/server.txt "{KEY}"
        f tests/fixtures/secrets.yml "x"
        "#
    );
    insta::assert_snapshot!(check(&text, GitMode::Full, &[]), @r"
      .lazaretignore
      test.env
      tests
      tests/fixtures
      tests/fixtures/secrets.yml
      tests/fixtures/server.txt
    - .env 3 skip.secret
    - kubeconfig 1 skip.secret
    - other.pem.txt 119 skip.private_key
    ");
    let profile = check(&text, GitMode::Full, &["!other.pem.txt", "test.env"]);
    assert!(profile.contains("  other.pem.txt\n"), "{profile}");
    assert!(profile.contains("- test.env 3 skip.profile"), "{profile}");
}

/// Whichever half of the pack reads them, and wherever in a batch they are, files with keys
/// leave no trace in the stream.
#[test]
fn sec_01_files_with_keys_are_taken_out_of_any_batch() {
    let key = KEY.replace("\\n", "\n");
    for seed in 0..6_usize {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut keys = 0;
        for number in 0..600_usize {
            let random = (number * 7919 + seed * 104_729) % 1009;
            let size = match random % 7 {
                0 => 0,
                1 => 70_000 + random,
                2 => 30_000 + random * 30,
                _ => random * 5,
            };
            let mut contents = "x".repeat(size);
            // Larger files are not looked into.
            if random % 5 == 0 && size + key.len() <= 64 << 10 {
                contents.insert_str(size / 2, &format!("\n{key}"));
                keys += 1;
            }
            let folder = dir.path().join(format!("{}", number / 50));
            std::fs::create_dir_all(&folder).expect("it can be made");
            std::fs::write(folder.join(format!("f{number}")), contents).expect("written");
        }
        let listed = list(dir.path(), &selector(GitMode::None, &[]));
        let left = listed.matches(" skip.private_key").count();
        assert!(keys > 60 && left == keys, "{left} of {keys}");
    }
}

#[test]
fn cache_directories_stay_out() {
    let text = r#"
        f Cargo.toml ""
        f target/debug/x "x"
        f src/target/keep "no manifest beside it"
        f web/package.json "{}"
        f web/node_modules/a/index.js ""
        f venv/pyvenv.cfg ""
        f venv/bin/python ""
        f py/__pycache__/a.pyc ""
        f cache/CACHEDIR.TAG "Signature: 8a477f597d28d172789f06886806bc55\n"
        f cache/big "x"
        f fake/CACHEDIR.TAG "Signature: no\n"
        f CACHEDIR.TAG "Signature: 8a477f597d28d172789f06886806bc55\n"
    "#;
    insta::assert_snapshot!(check(text, GitMode::Full, &[]), @r"
      CACHEDIR.TAG
      Cargo.toml
      fake
      fake/CACHEDIR.TAG
      py
      src
      src/target
      src/target/keep
      web
      web/package.json
    - cache skip.cache
    - py/__pycache__ skip.cache
    - target skip.cache
    - venv skip.cache
    - web/node_modules skip.cache
    ");
}

#[test]
fn ignore_files_nest_and_negate() {
    let text = r#"
        f .gitignore "*.log\n/build/*\n!/build/keep\nsub/only-here\n"
        f a.log ""
        f build/x ""
        f build/keep ""
        f sub/.gitignore "!b.log\n/c\n"
        f sub/a.log ""
        f sub/b.log ""
        f sub/c ""
        f sub/d/c ""
        f sub/only-here ""
        f .lazaretignore "docs/\n!sub/a.log\n"
        f docs/manual ""
        f notes.tmp ""
        f keep.tmp ""
    "#;
    let exclude = ["*.tmp", "!keep.tmp"];
    insta::assert_snapshot!(check(text, GitMode::Full, &exclude), @r"
      .gitignore
      .lazaretignore
      build
      build/keep
      keep.tmp
      sub
      sub/.gitignore
      sub/a.log
      sub/b.log
      sub/d
      sub/d/c
    - a.log 0 skip.gitignore
    - build/x 0 skip.gitignore
    - docs skip.lazaretignore
    - notes.tmp 0 skip.profile
    - sub/c 0 skip.gitignore
    - sub/only-here 0 skip.gitignore
    ");
}

const REPOSITORY: &str = r#"
    f a.txt "a"
    f dist/x ""
    f .git/HEAD "ref: refs/heads/main\n"
    f .git/config "[remote \"origin\"]\n\turl = https://token@example.org/x\n"
    f .git/index "DIRC"
    f .git/info/exclude "dist/\n"
    x .git/hooks/pre-commit "exit 1"
    f .git/objects/ab/0123456789abcdef0123456789abcdef012345 "x"
    f .git/objects/info/http-alternates "/elsewhere\n"
    f .git/refs/heads/main "0123456789abcdef0123456789abcdef01234567\n"
    f .git/refs/heads/id_rsa "0123456789abcdef0123456789abcdef01234567\n"
    f .git/logs/HEAD ""
    f .git/FETCH_HEAD "https://token@example.org/x\n"
    l .git/link -> HEAD
    p .git/objects/fifo
    f vendor/x/.git/HEAD ""
    f vendor/x/y ""
    f module/.git "gitdir: ../.git/modules/module\n"
"#;

#[test]
fn git_full_sends_objects_and_a_configuration_of_our_own() {
    insta::assert_snapshot!(check(REPOSITORY, GitMode::Full, &[]), @r"
      .git
      .git/HEAD
      .git/config
      .git/index
      .git/info
      .git/info/exclude
      .git/objects
      .git/objects/ab
      .git/objects/ab/0123456789abcdef0123456789abcdef012345
      .git/objects/info
      .git/refs
      .git/refs/heads
      .git/refs/heads/id_rsa
      .git/refs/heads/main
      a.txt
      module
      vendor
      vendor/x
      vendor/x/y
    - .git/FETCH_HEAD 28 skip.git_part
    - .git/config 53 skip.git_part
    - .git/hooks skip.git_part
    - .git/link skip.git_part
    - .git/logs skip.git_part
    - .git/objects/fifo skip.git_part
    - .git/objects/info/http-alternates 11 skip.git_part
    - dist skip.gitignore
    - module/.git 31 skip.git_file
    - vendor/x/.git skip.git_nested
    ");
    let dir = tree_text::temp(REPOSITORY);
    let (_, stream) = packed(dir.path(), &selector(GitMode::Full, &[]));
    assert!(!stream.windows(5).any(|window| window == b"token"));
}

#[test]
fn git_none_sends_nothing_of_it() {
    insta::assert_snapshot!(check(REPOSITORY, GitMode::None, &[]), @r"
      a.txt
      module
      vendor
      vendor/x
      vendor/x/y
    - .git skip.git_none
    - dist skip.gitignore
    - module/.git 31 skip.git_file
    - vendor/x/.git skip.git_nested
    ");
}

#[test]
fn tar_51_odd_entries_stay_out_by_name_and_the_rest_is_sent_plain() {
    let text = r#"
        f plain "x"
        x run "x"
        m 4755 run
        h twin -> plain
        l absolute -> /etc/passwd
        l up -> ../../outside
        l loop -> loop
        l dangling -> nowhere
        d empty/
        p fifo
        s socket
        f "bad\xff\xfe" "x"
        f "esc\e[2Jx" "x"
        f "line\nbreak" "x"
        d "dir\xff/"
        f "dir\xff/inside" "x"
        f "rlo\xe2\x80\xaex" "x"
        f A "x"
        f a "x"
        f "C:x" "x"
        f "a\\..\\b" "x"
        l "to-bad" -> "\xff"
    "#;
    insta::assert_snapshot!(check(text, GitMode::Full, &[]), @r"
      A
      C:x
      a
      a\\..\\b
      absolute
      dangling
      empty
      loop
      plain
      rlo\u{202e}x
      run
      twin
      up
    - bad\xff\xfe 1 name.encoding
    - dir\xff name.encoding
    - esc\u{1b}[2Jx 1 name.control
    - fifo type.fifo
    - line\u{a}break 1 name.control
    - socket type.socket
    - to-bad link.target
    ");
}

#[test]
fn tar_51_streams_are_deterministic() {
    let text = r#"
        f a "one"
        x b/c "two"
        l b/d -> ../a
        d e/
        f z *100000
    "#;
    let (one, other) = (tree_text::temp(text), tree_text::temp(text));
    let epoch = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for dir in [&one, &other] {
        for path in ["a", "b/c", "b", "e", "z"] {
            let file = std::fs::File::open(dir.path().join(path)).expect("just built");
            file.set_modified(epoch).expect("our own");
        }
    }
    // Links keep their own time; it cannot be set through std.
    for dir in [&one, &other] {
        std::fs::remove_file(dir.path().join("b/d")).expect("just built");
        let file = std::fs::File::open(dir.path().join("b")).expect("just built");
        file.set_modified(epoch).expect("our own");
    }
    let selector = selector(GitMode::Full, &[]);
    let (first, stream) = packed(one.path(), &selector);
    let (second, again) = packed(other.path(), &selector);
    assert_eq!(first, second);
    assert_eq!(stream, again, "the same tree becomes the same bytes");
    assert_eq!(packed(one.path(), &selector).1, stream);
    assert_eq!(stream.len() % 512, 0);
}

#[test]
fn long_names_and_targets_cross_in_pax_records() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut path = dir.path().to_path_buf();
    for length in [150, 120, 200] {
        path.push("d".repeat(length));
    }
    std::fs::create_dir_all(&path).expect("short enough");
    std::fs::write(path.join("f".repeat(250)), b"deep").expect("short enough");
    std::os::unix::fs::symlink("t".repeat(1000), dir.path().join("link")).expect("short enough");
    std::os::unix::fs::symlink("t".repeat(1025), dir.path().join("too-long")).expect("short");
    let listed = list(dir.path(), &selector(GitMode::Full, &[]));
    assert!(listed.contains(&"f".repeat(250)));
    assert!(listed.ends_with("- too-long link.target"), "{listed}");
}

#[test]
fn a_deep_tree_stops_at_the_limit_by_name() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let deep = "d/".repeat(70);
    std::fs::create_dir_all(dir.path().join(deep)).expect("short enough");
    let listed = list(dir.path(), &selector(GitMode::Full, &[]));
    assert!(listed.ends_with("path.too_deep"), "{listed}");
    assert_eq!(listed.lines().count(), 65);
}

/// A writer that does something to the workspace once `after` bytes went through.
struct Saboteur<F> {
    after: usize,
    act: Option<F>,
}

impl<F: FnOnce()> Write for Saboteur<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.after = self.after.saturating_sub(bytes.len());
        if self.after == 0
            && let Some(act) = self.act.take()
        {
            act();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[track_caller]
fn sabotage(act: impl FnOnce(&Path)) -> String {
    // Larger than what is read ahead.
    let dir = tree_text::temp("f a/big *3000000\nf b/last *100000");
    let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
    let mut out = Saboteur {
        after: 100_000,
        act: Some(|| act(dir.path())),
    };
    let selector = selector(GitMode::Full, &[]);
    match pack(&workspace, &selector, &mut out, &mut |_| {}) {
        Ok(_) => "packed".to_owned(),
        Err(error @ PackError::Walk(_)) => error.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn flt_04_a_file_that_changes_while_it_is_read_is_named() {
    let open = |path: std::path::PathBuf| {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).open(path).expect("just built")
    };
    let said = sabotage(|dir| {
        open(dir.join("a/big"))
            .set_len(2_000_000)
            .expect("truncate")
    });
    assert_eq!(said, "a/big: shrank while it was read");
    let said = sabotage(|dir| open(dir.join("a/big")).set_len(3_000_001).expect("extend"));
    assert_eq!(said, "a/big: grew while it was read");
    let said = sabotage(|dir| {
        let mut file = open(dir.join("a/big"));
        file.write_all(b"other").expect("write");
        // A clock tick of the file system may be longer than this test.
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        file.set_modified(later).expect("our own");
    });
    assert_eq!(said, "a/big: changed while it was read");
    let said = sabotage(|dir| std::fs::remove_dir_all(dir.join("b")).expect("ours"));
    assert_eq!(said, "b: vanished while it was read");
    let said = sabotage(|dir| {
        std::fs::remove_dir_all(dir.join("b")).expect("ours");
        std::os::unix::fs::symlink("/", dir.join("b")).expect("a link");
    });
    assert_eq!(said, "b: changed while it was read");
    // A file that was read completely may go.
    let said = sabotage(|_| {});
    assert_eq!(said, "packed");
}

#[test]
fn flt_04_an_unreadable_file_is_named() {
    let dir = tree_text::temp("f a \"x\"\nf b \"x\"\nm 000 b");
    if std::fs::read(dir.path().join("b")).is_ok() {
        // Root reads everything; a listed name that cannot be opened is covered above.
        return;
    }
    let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
    let selector = selector(GitMode::Full, &[]);
    let error = pack(&workspace, &selector, &mut Vec::new(), &mut |_| {}).expect_err("unreadable");
    assert_eq!(error.to_string(), "b: Permission denied (os error 13)");
}

#[test]
fn flt_04_a_walk_on_threads_names_the_file_too() {
    let selector = selector(GitMode::Full, &[]);
    let workspace = WorkspaceDir::open_ambient(Path::new("/sys/kernel/mm"));
    if let Ok(workspace) = workspace {
        // sysfs says 4096 for files of a few bytes.
        let error = walk(&workspace, &selector, Hashing::parallel()).expect_err("short");
        assert!(
            error.to_string().ends_with("shrank while it was read"),
            "{error}"
        );
        // The half of a pack that hashes reads these, as it has nothing else to do.
        let packed = pack(&workspace, &selector, &mut Vec::new(), &mut |_| {});
        let error = packed.expect_err("short");
        assert!(
            error.to_string().ends_with("shrank while it was read"),
            "{error}"
        );
    }
}

/// Takes its time, so that the walk has to read everything itself.
struct Slow(Vec<u8>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        std::thread::sleep(std::time::Duration::from_millis(2));
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn who_reads_a_file_makes_no_difference() {
    use std::fmt::Write as _;

    let sizes = [
        0, 1, 511, 512, 4_096, 32_768, 32_769, 200_000, 262_144, 600_000,
    ];
    let mut text = String::new();
    for round in 0..8 {
        for size in sizes {
            writeln!(text, "f d{round}/{size} *{}", size + round).expect("a string");
        }
    }
    let dir = tree_text::temp(&text);
    let selector = selector(GitMode::Full, &[]);
    let (fast, stream) = packed(dir.path(), &selector);
    let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
    let mut out = Slow(Vec::new());
    let slow = pack(&workspace, &selector, &mut out, &mut |_| {}).expect("readable");
    assert_eq!(slow, fast);
    assert!(out.0 == stream, "the same bytes");
    let walked = walk(&workspace, &selector, Hashing::parallel()).expect("readable");
    assert_eq!(fast.manifest.tree().expect("in path order"), walked.tree);
    assert_eq!(unpacked(&stream).tree, walked.tree);
}

#[test]
fn a_failing_writer_is_the_cause() {
    let dir = tree_text::temp("f a *100000");
    let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
    let mut full = std::fs::OpenOptions::new();
    let mut full = full.write(true).open("/dev/full").expect("Linux has it");
    let selector = selector(GitMode::Full, &[]);
    let error = pack(&workspace, &selector, &mut full, &mut |_| {}).expect_err("full");
    assert!(matches!(error, PackError::Write(_)), "{error}");
}

#[test]
fn bad_rules_are_errors_where_they_would_send_too_much() {
    let selection = SelectionSpec {
        git: GitMode::Full,
        exclude: vec!["ok".to_owned(), "a{b".to_owned()],
    };
    let error = selection.compile().expect_err("an open brace");
    assert!(
        error.to_string().starts_with("`a{b` is no pattern"),
        "{error}"
    );
    let dir =
        tree_text::temp("f sub/.lazaretignore \"ok\\nx[z-a]\\n\"\nf .gitignore \"x[z-a]\\n\"");
    let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
    let selector = selector(GitMode::Full, &[]);
    let error = walk(&workspace, &selector, Hashing::SizesOnly).expect_err("a bad range");
    let message = error.to_string();
    assert!(
        message.starts_with("sub/.lazaretignore: line 2: "),
        "{message}"
    );
}

#[test]
fn twenty_thousand_files_are_walked_in_order() {
    // In memory where there is one: making and deleting so many files keeps a disk busy.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let dir = dir.expect("a temporary directory");
    for directory in 0..200 {
        let at = dir.path().join(format!("d{directory}"));
        std::fs::create_dir(&at).expect("new");
        for file in 0..100 {
            std::fs::write(at.join(format!("f{file}")), format!("{directory} {file}"))
                .expect("new");
        }
    }
    let listed = list(dir.path(), &selector(GitMode::Full, &[]));
    assert_eq!(listed.lines().count(), 20_200);
}

#[test]
fn two_thousand_random_trees_are_packed_and_unpacked() {
    let selector = selector(GitMode::Full, &[]);
    for seed in 0..2000 {
        let random = &mut Random::new(seed);
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let dir = dir.expect("a temporary directory");
        random_tree::grow(random, dir.path(), 12);
        let (packed, stream) = packed(dir.path(), &selector);
        let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
        let walked = walk(&workspace, &selector, Hashing::parallel()).expect("readable");
        let tree = packed.manifest.tree().expect("in path order");
        assert_eq!(walked.tree, tree, "seed {seed}");
        let unpacked = unpacked(&stream);
        assert_eq!(unpacked.tree, tree, "seed {seed}");
        assert_eq!(unpacked.trailer, Some(packed.trailer), "seed {seed}");
    }
}

/// A build inside compares times as finely as the host's file system keeps them. An index of
/// git is the exception: its time says which of its entries may have changed since.
#[test]
fn times_are_sent_to_the_nanosecond() {
    let dir = tree_text::temp(
        r#"
        f a "x"
        f .git/HEAD "ref: refs/heads/main"
        f .git/index "x"
        d .git/objects/
        d .git/refs/
        "#,
    );
    let time = UNIX_EPOCH + Duration::new(1_600_000_000, 176_543_219);
    for (path, time) in [("a", time), (".git/index", time), (".git/HEAD", UNIX_EPOCH)] {
        let file = std::fs::File::open(dir.path().join(path)).expect("just built");
        file.set_modified(time).expect("our own");
    }
    let (_, stream) = packed(dir.path(), &selector(GitMode::Full, &[]));
    let mut members = Members::new(&stream[..], StreamLimits::DEFAULT);
    let mut times = Vec::new();
    while let Some(member) = members.next().expect("our stream") {
        times.push((member.path.as_bytes().to_vec(), member.mtime));
    }
    let sent = |path: &str| {
        let found = times.iter().find(|(name, _)| name == path.as_bytes());
        found.map(|(_, time)| (time.seconds, time.nanos))
    };
    assert_eq!(sent("a"), Some((1_600_000_000, 176_543_219)));
    assert_eq!(sent(".git/index"), Some((1_600_000_000, 0)));
    assert_eq!(sent(".git/HEAD"), Some((315_532_800, 0)));
}
