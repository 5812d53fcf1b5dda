//! `lazaret.toml` of a workspace.

use super::*;

fn tightened(text: &str) -> Result<super::super::Tightened, String> {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("lazaret.toml"), text).unwrap();
    let profile = parse(
        "image = \"base\"\n[limits]\nmemory = \"1g\"\ntmp = \"256m\"\n[workspace]\nexclude = [\"a\"]",
    );
    profile
        .unwrap()
        .tightened_by(workspace.path())
        .map_err(|failure| failure.chain().join(": "))
}

#[test]
fn no_file_changes_nothing() {
    let workspace = tempfile::tempdir().unwrap();
    let profile = parse("image = \"base\"").unwrap();
    let tightened = profile.clone().tightened_by(workspace.path()).unwrap();
    assert_eq!(tightened.profile, profile);
    assert!(tightened.keys.is_empty());
}

#[test]
fn the_stricter_value_holds() {
    let tightened = tightened(
        "[limits]\nmemory = \"128m\"\npids = 64\ntimeout = \"10h\"\ncpus = 64\n\
             [gate]\napply = \"never\"\nmax_bytes = \"1m\"\nmax_entries = 4000000\n\
             [workspace]\ngit = \"none\"\nexclude = [\"a\", \"b\"]\nprotect = [\"c/\"]",
    )
    .unwrap();
    let profile = &tightened.profile;
    assert_eq!(profile.limits.memory, 128 << 20);
    assert_eq!(profile.limits.pids, 64);
    // A part of the memory, which became less.
    assert_eq!(profile.limits.tmp, 128 << 20);
    // Looser ones change nothing.
    assert_eq!(profile.limits.timeout, Duration::from_secs(300));
    assert_eq!(profile.limits.cpus, 2.0);
    assert_eq!(profile.gate.max_entries, 200_000);
    assert_eq!(profile.gate.apply, ApplyMode::Never);
    assert_eq!(profile.gate.max_file_bytes, 1 << 20);
    assert_eq!(profile.workspace.exclude, ["a", "b"]);
    assert_eq!(profile.workspace.protect, ["c"]);
    assert_eq!(
        tightened.keys.join(" "),
        "limits.memory limits.pids gate.apply gate.max_bytes gate.max_file_bytes \
             workspace.git workspace.exclude workspace.protect"
    );
}

#[test]
fn a_kept_session_only_lasts_shorter() {
    let asked = |profile: &str, workspace: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("lazaret.toml"), workspace).unwrap();
        let profile = parse(&format!("image = \"base\"\n{profile}")).unwrap();
        let tightened = profile.tightened_by(dir.path()).unwrap();
        let profile = tightened.profile;
        let hours = |limit: Duration| limit.as_secs() / 3600;
        let (idle, life) = (hours(profile.limits.idle), hours(profile.limits.life));
        let stay = profile.session.stay;
        format!("{idle} {life} {stay}: {}", tightened.keys.join(" "))
    };
    let stay = "[session]\nstay = true";
    let limits = "[limits]\nidle = \"1h\"\nlife = \"1d\"";
    assert_eq!(asked("", ""), "12 336 false: ");
    assert_eq!(asked("", stay), "12 336 false: ");
    assert_eq!(asked(stay, stay), "12 336 true: ");
    assert_eq!(
        asked(stay, "[session]\nstay = false"),
        "12 336 false: session.stay"
    );
    assert_eq!(asked("", limits), "1 24 false: limits.idle limits.life");
    let less = "[limits]\ndisk = \"1g\"\ninodes = 10";
    assert_eq!(asked("", less), "12 336 false: limits.disk limits.inodes");
    assert_eq!(
        asked(less, "[limits]\ndisk = \"2g\"\ninodes = 11"),
        "12 336 false: "
    );
    assert_eq!(
        asked(limits, "[limits]\nidle = \"2h\"\nlife = \"2d\""),
        "1 24 false: "
    );
}

#[test]
fn less_of_the_repository_is_stricter() {
    let asked = |profile: &str, workspace: &str| {
        let profile = format!("image = \"base\"\n[workspace]\ngit = \"{profile}\"");
        let dir = tempfile::tempdir().unwrap();
        let text = format!("[workspace]\ngit = \"{workspace}\"");
        std::fs::write(dir.path().join("lazaret.toml"), text).unwrap();
        let tightened = parse(&profile).unwrap().tightened_by(dir.path()).unwrap();
        tightened.profile.workspace.git
    };
    assert_eq!(asked("full", "shallow"), GitChoice::Shallow);
    assert_eq!(asked("shallow", "none"), GitChoice::None);
    assert_eq!(asked("shallow", "full"), GitChoice::Shallow);
    assert_eq!(asked("none", "shallow"), GitChoice::None);
}

#[test]
fn what_the_command_line_allows_a_workspace_still_closes() {
    let entries = ["b.org:443", "@npm"].map(|text| text.parse().unwrap());
    let asked = |network: &str, workspace: &str| {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("[network]\n{workspace}");
        std::fs::write(dir.path().join("lazaret.toml"), text).unwrap();
        let profile = parse(&format!("image = \"base\"\n[network]\n{network}")).unwrap();
        let profile = profile.allowing(&entries).tightened_by(dir.path()).unwrap();
        let network = profile.profile.network;
        (network.mode.as_str(), network.allow.len())
    };
    assert_eq!(asked("", ""), ("allowlist", 2));
    assert_eq!(asked("mode = \"open\"", ""), ("open", 0));
    assert_eq!(asked("", "mode = \"none\""), ("none", 0));
    assert_eq!(asked("", "allow = [\"b.org:443\"]"), ("allowlist", 1));
}

#[test]
fn a_network_only_shrinks() {
    let asked = |profile: &str, workspace: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("lazaret.toml"),
            format!("[network]\n{workspace}"),
        )
        .unwrap();
        let profile = parse(&format!("image = \"base\"\n[network]\n{profile}")).unwrap();
        let network = profile.tightened_by(dir.path()).unwrap().profile.network;
        let denied = network.deny.iter().map(|rule| format!("!{rule}"));
        let rules = network.allow.iter().map(ToString::to_string).chain(denied);
        format!(
            "{} {}",
            network.mode.as_str(),
            rules.collect::<Vec<_>>().join(" ")
        )
    };
    let list = "mode = \"allowlist\"\nallow = [\"*.a.org:443\", \"b.org:80\"]";
    let preset = "mode = \"allowlist\"\nallow = [\"@npm\"]";
    assert_eq!(asked("mode = \"none\"", preset), "none ");
    assert_eq!(asked(list, preset), "allowlist ");
    assert_eq!(asked(preset, list), "allowlist ");
    assert_eq!(asked(preset, preset), asked("mode = \"open\"", preset));
    assert_eq!(asked("mode = \"none\"", "mode = \"open\""), "none ");
    assert_eq!(asked("mode = \"none\"", list), "none ");
    assert_eq!(
        asked(list, "mode = \"open\""),
        "allowlist *.a.org:443 b.org:80"
    );
    assert_eq!(asked(list, "mode = \"none\""), "none ");
    assert_eq!(
        asked(
            list,
            "allow = [\"x.a.org:443\", \"b.org:443\", \"c.org:443\"]"
        ),
        "allowlist x.a.org:443"
    );
    assert_eq!(asked(list, "allow = []"), "allowlist ");
    let denying = format!("{list}\ndeny = [\"x.a.org:443\"]");
    assert_eq!(
        asked(&denying, "deny = [\"b.org:80\", \"x.a.org:443\"]"),
        "allowlist *.a.org:443 b.org:80 !x.a.org:443 !b.org:80"
    );
    assert_eq!(
        asked("mode = \"open\"", "deny = [\"c.org:443\"]"),
        "open !c.org:443"
    );
    assert_eq!(asked(&denying, "mode = \"none\""), "none ");
    assert_eq!(
        asked("mode = \"open\"", "allow = [\"c.org:443\"]"),
        "allowlist c.org:443"
    );
}

#[test]
fn apply_auto_never_loosens() {
    let tightened = tightened("[gate]\napply = \"auto\"").unwrap();
    assert_eq!(tightened.profile.gate.apply, ApplyMode::Ask);
    assert!(tightened.keys.is_empty());
    assert_eq!(tightened.looser, ["gate.apply"]);
}

#[test]
fn what_asks_for_more_than_the_profile_gives_is_named() {
    let text = "[gate]\nignored = \"offered\"\n[network]\nmode = \"open\"";
    let tightened = tightened(text).unwrap();
    assert_eq!(tightened.profile.gate.ignored, IgnoredFiles::Stay);
    assert_eq!(tightened.looser, ["gate.ignored", "network.mode"]);
}

#[test]
fn isolation_is_only_narrowed() {
    use crate::profile::Isolation;
    let own = |isolation: &str| {
        let profile = format!("image = \"base\"\n[workspace]\nisolation = \"{isolation}\"");
        move |text: &str| {
            let workspace = tempfile::tempdir().unwrap();
            let written = format!("[workspace]\nisolation = \"{text}\"");
            std::fs::write(workspace.path().join("lazaret.toml"), written).unwrap();
            let tightened = parse(&profile).unwrap().tightened_by(workspace.path());
            let tightened = tightened.unwrap();
            (tightened.profile.workspace.isolation, tightened.keys.len())
        }
    };
    let (project, workspace) = (own("project"), own("workspace"));
    assert_eq!(project("workspace"), (Isolation::Workspace, 1));
    assert_eq!(project("project"), (Isolation::Project, 0));
    assert_eq!(workspace("project"), (Isolation::Workspace, 0));
}

#[test]
fn what_could_loosen_is_refused_by_name() {
    for (key, text) in [
        ("image", "image = \"base\""),
        ("command", "command = [\"sh\"]"),
        ("env", "[env]\nPATH = \"/evil\""),
        ("network.ports", "[network]\nports = [\"80\"]"),
        ("extends", "extends = \"claude\""),
        ("projects", "projects = [\"/p\"]"),
        ("env_pass", "env_pass = [\"LANG\"]"),
        ("secrets", "[secrets.a]\nfrom = { env = \"HOME\" }"),
        ("files", "[files.a]\nfrom = \"~/.ssh/id\"\nto = \"~/a\""),
        ("volumes", "[[volumes]]\nname = \"a\"\ntarget = \"/a\""),
        ("home", "[home]\nkeep = \"session\""),
        ("services", "[services.a]\nimage = \"b\""),
        ("setup", "[[setup]]\nrun = [\"a\"]"),
        ("pr", "[pr]\nfile = \"a\""),
        ("notify", "[notify]\ncommand = [\"a\"]"),
        ("acp", "acp = [\"a\"]"),
        ("ask", "[ask]\noutput = \"1m\""),
        ("attach", "[attach]\nprefix = \"ctrl-b\""),
    ] {
        let error = tightened(text).unwrap_err();
        assert!(
            error.contains(&format!("`{key}` can't be set by a workspace")),
            "{error}"
        );
        assert!(error.starts_with("lazaret.toml:"), "{error}");
    }
}

#[test]
fn a_file_that_is_no_plain_small_file_is_refused() {
    let refused = |make: &dyn Fn(&std::path::Path)| {
        let workspace = tempfile::tempdir().unwrap();
        make(&workspace.path().join("lazaret.toml"));
        let profile = parse("image = \"base\"").unwrap();
        let failure = profile.tightened_by(workspace.path()).unwrap_err();
        failure.chain().join(": ")
    };
    // A link could lead to any file of the user's.
    let link = refused(&|path| std::os::unix::fs::symlink("/etc/shadow", path).unwrap());
    assert!(link.contains("can't be read"), "{link}");
    let dir = refused(&|path| std::fs::create_dir(path).unwrap());
    assert!(dir.contains("not a regular file"), "{dir}");
    let large = refused(&|path| std::fs::write(path, vec![b'#'; 300 << 10]).unwrap());
    assert!(large.contains("more than 256 KiB"), "{large}");
    let binary = refused(&|path| std::fs::write(path, [0xff, 0xfe]).unwrap());
    assert!(binary.contains("not UTF-8"), "{binary}");
    // Opening a FIFO must not wait for a writer.
    let fifo = refused(&|path| {
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR).unwrap();
    });
    assert!(fifo.contains("not a regular file"), "{fifo}");
}
