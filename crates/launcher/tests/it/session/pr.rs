//! `lazaret pr`: a landed branch is pushed by the user's git to a repository of this machine, and
//! stand-ins for the tools write down how they are called. Nothing goes over a network.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use insta::assert_snapshot;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_session::lifecycle::collect::Collected;
use lazaret_session::store::request_text;

use super::commits::sh;
use super::world::{BEFORE, World, tree};
use crate::support::{Outcome, TestEnvironment};

const PR_FILE: &str = ".pr.json";

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Writes down its arguments and what it reads, and prints a URL.
const TOOL: &str = r#"#!/bin/sh
{ for word; do printf '<%s>\n' "$word"; done; printf 'reads '; cat; } > "$0.seen"
test -z "$TOOL_FAILS" || exit 3
printf 'Creating\n\nhttps://example.com/pull/7\n'
"#;

/// Stands for ssh: whatever the host, the repository is the one beside the workspace.
const SSH: &str = "#!/bin/sh\nexec git receive-pack \"$REMOTE\"\n";

/// A session `shop` whose command left a text, and a workspace with a landed branch and a remote.
struct Landed {
    world: World,
    env: TestEnvironment,
}

fn landed(text: Option<&'static [u8]>, url: &str) -> Landed {
    let mut world = World::new();
    world.pr_file = Some(PR_FILE.parse().unwrap());
    sh(
        &world.path("workspace"),
        &format!(
            "git init -q -b main .; git add -A; git commit -qm first; git init -q --bare \
             ../remote.git; git remote add origin ../remote.git; git push -q origin main; \
             git remote set-url origin {url}; git checkout -q -b lazaret/shop/fix; \
             git commit -q --allow-empty -m 'Add a test'; \
             git commit -q --allow-empty -m 'Handle an empty cart'; git checkout -q main"
        ),
    );
    world.command(move |volume, _| {
        if let Some(text) = text {
            std::fs::write(volume.join(PR_FILE), text).unwrap();
        }
        0
    });
    assert!(matches!(world.cycle().unwrap(), Collected::Ready(_)));
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("xdg")).unwrap();
    std::os::unix::fs::symlink(world.path("state"), env.path("xdg/lazaret")).unwrap();
    for tool in ["gh", "glab", "tea"] {
        program(&env, &format!("bin/{tool}"), TOOL);
    }
    let ssh = program(&env, "ssh", SSH).display().to_string();
    let path = format!("{}:{SYSTEM_PATH}", env.path("bin").display());
    let xdg = env.path("xdg").display().to_string();
    let remote = world.path("remote.git").display().to_string();
    let env = env
        .variable("XDG_STATE_HOME", &xdg)
        .variable("PATH", &path)
        .variable("GIT_SSH_COMMAND", &ssh)
        .variable("GIT_SSH_VARIANT", "simple")
        .variable("REMOTE", &remote);
    Landed { world, env }
}

fn program(env: &TestEnvironment, name: &str, text: &str) -> PathBuf {
    let path = env.write(name, text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

impl Landed {
    /// What `tool` was called with, a right-to-left override as `RLO`; empty if it was not called.
    fn seen(&self, tool: &str) -> String {
        let seen = self.env.path(&format!("bin/{tool}.seen"));
        let seen = std::fs::read_to_string(seen).unwrap_or_default();
        seen.replace('\u{202e}', "RLO")
    }

    /// The branches of the remote, with the subject of each.
    fn pushed(&self) -> String {
        let refs = ["for-each-ref", "--format=%(refname) %(subject)"];
        duct::cmd("git", refs)
            .dir(self.world.path("remote.git"))
            .read()
            .unwrap()
    }

    /// Runs it, which has to fail without a push.
    #[track_caller]
    fn refuses(&self, arguments: &[&str]) -> String {
        let outcome = self.env.run_words(arguments);
        assert_eq!(outcome.code, 1, "{outcome}");
        assert_eq!(self.pushed(), "refs/heads/main first");
        assert_eq!(self.seen("gh"), "");
        outcome.stderr
    }
}

#[track_caller]
fn done(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(
        !outcome.to_string().contains(['\u{1b}', '\u{202e}']),
        "{outcome}"
    );
    outcome
}

const PUSHED: &str = "refs/heads/lazaret/shop/fix Handle an empty cart\nrefs/heads/main first";

const TEXT: &[u8] = br#"{"title": "--web", "body": "Tests:\n\tall\u202e pass", "draft": true,
    "labels": ["bug", "cart"]}"#;

#[test]
fn git_30_the_text_of_a_request_is_kept_and_never_comes_back() {
    let mut world = World::new();
    world.pr_file = Some(PR_FILE.parse().unwrap());
    let write = |text: Option<&'static str>| {
        world.command(move |volume, _| {
            match text {
                Some(text) => std::fs::write(volume.join(PR_FILE), text).unwrap(),
                None => std::fs::remove_file(volume.join(PR_FILE)).unwrap(),
            }
            0
        });
        let run = world.cycle_kept().unwrap();
        assert!(matches!(run.collected, Collected::Ready(_)));
        drop(run);
        let dir = world.store.find(&world.id()).unwrap();
        request_text::read(&dir).unwrap()
    };
    let large: &'static str = "x".repeat(300 << 10).leak();
    assert_eq!(write(Some("one")), Some(b"one".to_vec()));
    let session = world.lock().unwrap();
    let case = lazaret_launcher::decide::case::open_case(&session, IgnoredFiles::Stay, &world.env)
        .unwrap();
    assert_eq!(case.changes().len(), 0);
    drop(session);
    assert_eq!(
        write(Some(large)).map(|text| text.len()),
        Some((256 << 10) + 1)
    );
    assert_eq!(write(None), None);
    assert_eq!(world.workspace(), tree(&[BEFORE]));
}

#[test]
fn pr_opens_a_request_with_the_tool_of_the_host() {
    let landed = landed(Some(TEXT), "git@github.com:me/shop.git");
    let outcome = done(landed.env.run("pr shop --yes"));
    assert_snapshot!(outcome.stdout, @r"
    push    lazaret/shop/fix -> git@github.com:me/shop.git
    as      lazaret/shop/fix
    into    main
    draft   yes
    labels  bug, cart
    title   --web
      Tests:
          all\u{202e} pass
    https://example.com/pull/7
    ");
    assert!(outcome.stderr.ends_with("opened\n"), "{outcome}");
    assert_eq!(landed.pushed(), PUSHED);
    assert_snapshot!(landed.seen("gh"), @r"
    <pr>
    <create>
    <--head=lazaret/shop/fix>
    <--base=main>
    <--title=--web>
    <--body-file=->
    <--draft>
    <--label=bug>
    <--label=cart>
    reads Tests:
    	allRLO pass
    ");
    // What is pushed already is no error.
    for (tool, url) in [
        ("glab", "ssh://git@gitlab.example.com/me/shop.git"),
        ("tea", "git@codeberg.org:me/shop.git"),
    ] {
        let set = format!("git remote set-url origin {url}");
        sh(&landed.world.path("workspace"), &set);
        drop(done(landed.env.run("pr shop fix --yes")));
        assert!(
            landed.seen(tool).contains("<--title="),
            "{}",
            landed.seen(tool)
        );
    }
    assert_snapshot!(landed.seen("glab"), @r"
    <mr>
    <create>
    <--source-branch=lazaret/shop/fix>
    <--target-branch=main>
    <--title=--web>
    <--description=Tests:
    	allRLO pass
    >
    <--yes>
    <--draft>
    <--label=bug>
    <--label=cart>
    reads
    ");
    assert_snapshot!(landed.seen("tea"), @r"
    <pulls>
    <create>
    <--remote=origin>
    <--head=lazaret/shop/fix>
    <--base=main>
    <--title=WIP: --web>
    <--description=Tests:
    	allRLO pass>
    <--labels=bug,cart>
    reads
    ");
}

#[test]
fn pr_prints_the_address_of_a_request_without_a_tool() {
    let landed = landed(None, "git@github.com:me/shop.git");
    let outcome = done(
        landed
            .env
            .run("pr shop --yes --with none --as fix --base main --draft"),
    );
    assert_snapshot!(outcome.stdout, @r"
    push    lazaret/shop/fix -> git@github.com:me/shop.git
    as      fix
    into    main
    draft   yes
    title   Handle an empty cart
      - Add a test
    https://github.com/me/shop/compare/main...fix
    ");
    assert!(
        outcome.stderr.ends_with("pushed; open the request at\n"),
        "{outcome}"
    );
    assert_eq!(landed.seen("gh"), "");
    let json = done(landed.env.run("pr shop --yes --with none --json")).json();
    assert_snapshot!(json.to_string(), @r#"
    {"base":"main","branch":"lazaret/shop/fix","draft":false,"labels":[],"opened_with":null,"pushed_as":"lazaret/shop/fix","remote":"origin","session":"shop","title":"Handle an empty cart","url":"https://github.com/me/shop/compare/main...lazaret/shop/fix"}
    "#);
    let set = "git remote set-url origin ../remote.git";
    sh(&landed.world.path("workspace"), set);
    let outcome = done(landed.env.run("pr shop --yes"));
    assert!(outcome.stderr.contains("has no page"), "{outcome}");
}

#[test]
fn nothing_is_pushed_without_a_yes() {
    let landed = landed(Some(TEXT), "git@github.com:me/shop.git");
    for (arguments, why) in [
        (&["pr", "shop"][..], "nothing is pushed without a yes"),
        (
            &["pr", "shop", "--as", "main", "--yes"],
            "cannot push to main: requests are merged into it",
        ),
        (
            &["pr", "shop", "gone", "--yes"],
            "no branch gone of session shop is landed",
        ),
        (
            &["pr", "shop", "--remote", "up", "--yes"],
            "the repository has no remote up",
        ),
        (
            &["pr", "shop", "--with", "none"],
            "nothing is pushed without a yes",
        ),
    ] {
        let said = landed.refuses(arguments);
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    for arguments in [["--as", "--force"], ["--as", "a..b"], ["--title", " "]] {
        let usage = landed
            .env
            .run_words(&[&["pr", "shop", "--yes"], &arguments[..]].concat());
        assert_eq!(usage.code, 2, "{usage}");
    }
}

#[test]
fn git_30_a_hostile_text_opens_nothing() {
    let landed = landed(
        Some(br#"{"title": "a\u001b]0;x\u0007\nb", "body": ""}"#),
        "git@github.com:me/shop.git",
    );
    assert_snapshot!(landed.refuses(&["pr", "shop", "--yes"]), @r"
    error: cannot use the text that the command left
      caused by: the title holds a line break or a control character
    hint: Give a title with --title; the body is then made of the commits.
    ");
    let outcome = done(landed.env.run("pr shop --yes --title Mine"));
    assert!(
        outcome.stderr.contains("is not used: the title holds"),
        "{outcome}"
    );
    assert_snapshot!(landed.seen("gh"), @r"
    <pr>
    <create>
    <--head=lazaret/shop/fix>
    <--base=main>
    <--title=Mine>
    <--body-file=->
    reads - Add a test
    ");
}

#[test]
fn a_push_or_a_tool_that_fails_is_said() {
    let landed = landed(Some(TEXT), "git@github.com:me/shop.git");
    let remote = landed.world.path("remote.git");
    let other = "git update-ref refs/heads/taken $(git commit-tree -m other main^{tree})";
    sh(&remote, other);
    let outcome = landed.env.run("pr shop --yes --as taken");
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(
        outcome
            .stderr
            .contains("cannot push lazaret/shop/fix to origin"),
        "{outcome}"
    );
    assert_eq!(landed.seen("gh"), "");
    assert!(landed.pushed().contains("refs/heads/taken other"));

    let Landed { world, env } = landed;
    let landed = Landed {
        world,
        env: env.variable("TOOL_FAILS", "1"),
    };
    let outcome = landed.env.run("pr shop --yes");
    assert_eq!(outcome.code, 1, "{outcome}");
    let said = outcome.stderr.split_once("error: ").unwrap().1;
    assert_snapshot!(said, @r"
    lazaret/shop/fix is pushed, but gh did not open a request: exit status: 3
    hint: Open it at https://github.com/me/shop/compare/main...lazaret/shop/fix.
    ");
    assert!(landed.pushed().contains("refs/heads/lazaret/shop/fix"));
}

#[test]
fn git_30_no_program_of_the_workspace_is_run() {
    let landed = landed(Some(TEXT), "git@github.com:me/shop.git");
    let workspace = landed.world.path("workspace");
    for name in ["gh", "git"] {
        let evil = workspace.join("evil").join(name);
        std::fs::create_dir_all(evil.parent().unwrap()).unwrap();
        std::fs::write(&evil, "#!/bin/sh\ntouch \"$0.ran\"\n").unwrap();
        std::fs::set_permissions(&evil, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let linked = landed.env.path("linked");
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(workspace.join("evil/gh"), linked.join("gh")).unwrap();
    let path = format!(
        "{}:evil:{}:{SYSTEM_PATH}",
        workspace.join("evil").display(),
        linked.display()
    );
    let Landed { world, env } = landed;
    let landed = Landed {
        world,
        env: env.variable("PATH", &path),
    };
    drop(done(landed.env.run("pr shop --yes")));
    for name in ["gh.ran", "git.ran"] {
        assert!(!workspace.join("evil").join(name).exists(), "{name}");
    }
    assert_eq!(landed.pushed(), PUSHED);
    let refused = landed.env.run("pr shop --yes --with gh");
    assert!(
        refused.stderr.contains("there is no gh in PATH"),
        "{refused}"
    );
}

#[test]
fn the_text_is_edited_before() {
    let landed = landed(Some(TEXT), "git@github.com:me/shop.git");
    let Landed { world, env } = landed;
    let landed = Landed {
        world,
        env: env.variable("VISUAL", "truncate -s 0"),
    };
    let said = landed.refuses(&["pr", "shop", "--edit", "--yes"]);
    assert!(
        said.contains("the title, which is the first line, is empty"),
        "{said}"
    );
    let Landed { world, env } = landed;
    let landed = Landed {
        world,
        env: env.variable("VISUAL", "sed -i '1s/.*/Edited/; s/pass/fail/'"),
    };
    drop(done(landed.env.run("pr shop --edit --yes")));
    let seen = landed.seen("gh");
    assert!(
        seen.contains("<--title=Edited>") && seen.ends_with(" fail"),
        "{seen}"
    );
}
