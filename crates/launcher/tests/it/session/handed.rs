//! What a session was handed does not come back: tokens of a lent login, placeholders (SUS-38).

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use lazaret_egress::{BrokerRoute, Scheme, Secret};
use lazaret_launcher::profile::FileRule;
use lazaret_protocol::{CredentialEvent, CredentialMode};
use lazaret_session::lifecycle::collect::Collected;
use lazaret_tests::tree_text;

use super::world::World;
use crate::support::{Outcome, TestEnvironment};

const FIRST: &str = "sk-ant-oat01-canary-first-0123456789";
const RENEWED: &str = "sk-ant-oat01-canary-second-9876543210";
/// `FIRST` in `{"refreshToken":"…"}`, in base64, as `base64` breaks lines.
const ENCODED: &str =
    "eyJyZWZyZXNoVG9rZW4iOiJzay1hbnQtb2F0MDEtY2FuYXJ5LWZpcnN0LTAxMjM0NTY3ODkifQ==";

/// Runs a verb in a process that was handed nothing.
fn later(world: &World, arguments: &str) -> Outcome {
    let env = TestEnvironment::new();
    fs::create_dir(env.path("xdg")).unwrap();
    std::os::unix::fs::symlink(world.path("state"), env.path("xdg/lazaret")).unwrap();
    let state = env.path("xdg").display().to_string();
    env.variable("XDG_STATE_HOME", &state).run(arguments)
}

/// Applies what a session leaves behind, in another process, and returns the paths that were
/// blocked with this code.
#[track_caller]
fn blocked(world: &World, code: &str) -> Vec<String> {
    assert!(matches!(world.cycle().unwrap(), Collected::Ready(_)));
    let ledger = fs::read_to_string(world.path("state/sessions/shop/handed-out")).unwrap();
    assert!(!ledger.contains("canary"), "{ledger}");
    let applied = later(world, "apply shop --yes --json");
    let report = applied.json();
    let findings = report["findings"].as_array().unwrap().clone();
    let of_code = findings.iter().filter(|finding| finding["code"] == code);
    let mut paths: Vec<String> = of_code
        .map(|finding| {
            assert_eq!(finding["severity"], "block", "{applied}");
            let message = finding["message"].as_str().unwrap();
            assert!(!message.contains("canary"), "{message}");
            finding["path"].as_str().unwrap().to_owned()
        })
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn sus_38_a_lent_login_does_not_come_back() {
    let mut world = World::new();
    let login = world.path("home/.tool/login.json");
    fs::create_dir_all(login.parent().unwrap()).unwrap();
    let text = format!("{{\"refreshToken\":\"{FIRST}\",\"mail\":\"someone@example.com\"}}");
    fs::write(&login, text).unwrap();
    fs::set_permissions(&login, fs::Permissions::from_mode(0o600)).unwrap();
    world.files = vec![FileRule {
        name: "tool-login".to_owned(),
        from: login,
        to: ".tool/login.json".parse().unwrap(),
        mode: CredentialMode::Writable,
    }];
    world.on("lend", |_, call| {
        let mut input = BufReader::new(&mut call.stdin);
        let mut line = String::new();
        while line != "end\n" {
            line.clear();
            input.read_line(&mut line)?;
        }
        let contents = format!("{{\"refreshToken\":\"{RENEWED}\"}}").into_bytes();
        call.stdout.write_all(&CredentialEvent::Ready.line())?;
        let changed = CredentialEvent::Changed { index: 0, contents };
        call.stdout.write_all(&changed.line())?;
        io::copy(&mut input, &mut io::sink())?;
        Ok(0)
    });
    world.command(|volume, _| {
        tree_text::build(
            &format!(
                "
                f plain.txt \"export TOKEN='{FIRST}'\\n\"
                f renewed.txt \"{RENEWED}\\n\"
                f encoded.txt \"{}\\n{}\\n\"
                f escaped.txt \"?t={FIRST}\\n\"
                l link -> {FIRST}
                f {RENEWED}.txt \"x\\n\"
                f clean.txt \"by someone@example.com\\n\"
                f near.txt \"{}\\n\"
                ",
                &ENCODED[..40],
                &ENCODED[40..],
                &FIRST[..FIRST.len() - 1],
            ),
            volume,
        );
        // Larger than what rules read as a whole.
        let mut large = vec![b'x'; 17 << 20];
        large.extend_from_slice(FIRST.as_bytes());
        fs::write(volume.join("large.bin"), large).unwrap();
        0
    });
    world.gate.max_bytes = 64 << 20;
    world.gate.max_file_bytes = 64 << 20;
    let renewed = format!("{RENEWED}.txt");
    let paths = blocked(&world, "secret.lent_login");
    assert_eq!(
        paths,
        [
            "encoded.txt",
            "escaped.txt",
            "large.bin",
            "link",
            "plain.txt",
            "renewed.txt",
            &renewed
        ]
    );
    let workspace = world.workspace();
    assert!(
        workspace.contains("clean.txt") && workspace.contains("near.txt"),
        "{workspace}"
    );
    assert!(
        !workspace.contains("plain.txt") && !workspace.contains("link "),
        "{workspace}"
    );
}

#[test]
fn sus_38_a_placeholder_does_not_come_back() {
    let mut world = World::with_network();
    world.routes = vec![BrokerRoute {
        name: "VENDOR_KEY".to_owned(),
        index: 0,
        target: "api.example:443".parse().unwrap(),
        header: "x-api-key".to_owned(),
        scheme: Scheme::Raw,
        secret: Secret::new("sk-canary-of-a-vendor-0123456789".to_owned()),
        pass: Vec::new(),
    }];
    world.command(|volume, _| {
        let edits = "
            f settings.json \"{\\\"key\\\": \\\"lazaret-placeholder-VENDOR_KEY\\\"}\\n\"
            f other.json \"lazaret-placeholder-OTHER_KEY\\n\"
        ";
        tree_text::build(edits, volume);
        0
    });
    assert_eq!(blocked(&world, "secret.placeholder"), ["settings.json"]);
    let workspace = world.workspace();
    assert!(
        workspace.contains("other.json") && !workspace.contains("settings.json"),
        "{workspace}"
    );
}
