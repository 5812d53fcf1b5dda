//! What profiles mean, and what is said about wrong ones.

use lazaret_gate::ignored::IgnoredFiles;
use std::time::Duration;

use insta::assert_snapshot;

use super::source::Source;
use super::{ApplyMode, GitChoice, Origin, Profile, ProfileError, lookup, raw, resolve, schema};

pub(super) fn parse(text: &str) -> Result<Profile, ProfileError> {
    let source = Source {
        file: "p.toml",
        text,
    };
    resolve::profile("p", Origin::BuiltIn, &source)
}

#[track_caller]
pub(super) fn error(text: &str) -> String {
    match parse(text) {
        Err(error) => error.to_string(),
        Ok(profile) => panic!("accepted: {profile:?}"),
    }
}

/// The first lines of the errors of many texts.
#[track_caller]
fn errors(texts: &[&str]) -> String {
    texts
        .iter()
        .map(|text| error(text).lines().next().unwrap_or_default().to_owned() + "\n")
        .collect()
}

/// Claude Code asks about a key unless it knows its last twenty characters.
#[test]
fn claude_knows_the_placeholder_of_its_key() {
    let (_, text) = (lookup::BUILT_IN.iter().find(|(name, _)| *name == "claude")).unwrap();
    let profile = parse(text).unwrap();
    let placeholder = profile.secrets[0].placeholder();
    let known = &placeholder[placeholder.len() - 20..];
    let settings = profile.command.join(" ");
    assert!(settings.contains(&format!("[\"{known}\"]")), "{settings}");
}

#[test]
fn the_built_in_profiles_are_good() {
    for (name, text) in lookup::BUILT_IN {
        let source = Source { file: name, text };
        resolve::profile(name, Origin::BuiltIn, &source).unwrap();
    }
}

#[test]
fn defaults_are_filled_in() {
    let profile = parse("image = \"base\"").unwrap();
    assert_eq!(profile.limits.memory, 4 << 30);
    assert_eq!(profile.limits.timeout, Duration::from_secs(300));
    assert_eq!(profile.limits.idle, Duration::from_secs(12 * 3600));
    assert_eq!(profile.limits.life, Duration::from_secs(14 * 86400));
    assert_eq!(
        (profile.limits.disk, profile.limits.inodes),
        (20 << 30, 1_000_000)
    );
    assert_eq!(profile.gate.apply, ApplyMode::Ask);
    assert_eq!(profile.gate.max_entries, 200_000);
    assert_eq!(profile.gate.max_file_bytes, 512 << 20);
    assert_eq!(profile.workspace.git, GitChoice::Full);
    assert!(profile.command.is_empty());
}

#[test]
fn defaults_follow_what_is_written() {
    // Half of the memory for /tmp, and no file larger than all of them.
    let profile =
        parse("image = \"base\"\n[limits]\nmemory = \"256m\"\n[gate]\nmax_bytes = \"1m\"");
    let profile = profile.unwrap();
    assert_eq!(profile.limits.tmp, 128 << 20);
    assert_eq!(profile.gate.max_file_bytes, 1 << 20);
}

#[test]
fn everything_is_read() {
    let profile = parse(
        "description = \"D\"\nimage = \"base\"\ncommand = [\"make\", \"check\"]\n\
         [env]\nCI = \"1\"\n[workspace]\ntarget = \"/workspace\"\ngit = \"none\"\nexclude = [\"*.log\"]\n\
         protect = []\nisolation = \"workspace\"\n\
         [limits]\nmemory = \"2g\"\ncpus = 0.5\npids = 100\ntmp = \"64m\"\ntimeout = \"2h\"\n\
         idle = \"1h\"\nlife = \"3d\"\ndisk = \"1g\"\ninodes = 5000\n\
         [session]\nstay = true\n[attach]\nprefix = \"ctrl-b\"\n\
         [network]\nmode = \"none\"\n\
         [gate]\napply = \"auto\"\nignored = \"offered\"\nmax_entries = 1_000\nmax_bytes = \"8m\"\nmax_file_bytes = \"4m\"",
    )
    .unwrap();
    assert_snapshot!(profile.to_toml(), @r#"
    description = "D"
    image = "base"
    command = ["make", "check"]

    [env]
    CI = "1"

    [workspace]
    target = "/workspace"
    git = "none"
    exclude = ["*.log"]

    [limits]
    memory = "2g"
    cpus = 0.5
    pids = 100
    tmp = "64m"
    timeout = "2h"
    idle = "1h"
    life = "3d"
    disk = "1g"
    inodes = 5000

    [session]
    stay = true

    [attach]
    prefix = "ctrl-b"

    [network]
    mode = "none"

    [gate]
    apply = "auto"
    ignored = "offered"
    max_entries = 1000
    max_bytes = "8m"
    max_file_bytes = "4m"
    "#);
}

#[test]
fn wrong_keys_and_types_are_refused_with_their_place() {
    assert_snapshot!(errors(&[
        "",
        "imagine = 1",
        "image = 7",
        "image = \"base\"\ncommand = \"make\"",
        "image = \"base\"\n[limits]\nmemory = 8",
        "image = \"base\"\n[limits]\nmemory = \"8 g\"",
        "image = \"base\"\n[limits]\nmemory = \"-1g\"",
        "image = \"base\"\n[limits]\nmemory = \"1.5g\"",
        "image = \"base\"\n[limits]\nmemory = \"99999999999t\"",
        "image = \"base\"\n[limits]\ntimeout = \"5\"",
        "image = \"base\"\n[limits]\ntimeout = 5",
        "image = \"base\"\n[limits]\ntimeout = \"0s\"",
        "image = \"base\"\n[limits]\ncpus = \"2\"",
        "image = \"base\"\n[limits]\ncpus = 0",
        "image = \"base\"\n[limits]\ncpus = nan",
        "image = \"base\"\n[limits]\npids = 0",
        "image = \"base\"\n[limits]\npids = -1",
        "image = \"base\"\n[limits]\npids = 99999999999",
        "image = \"base\"\n[gate]\napply = \"yes\"",
        "image = \"base\"\n[workspace]\ngit = \"half\"",
        "image = \"base\"\n[network]\nmode = \"host\"",
        "image = \"base\"\nimage = \"base\"",
        "image = \"base\"\n[env]\nA = 1",
        "image = \"base\"\n[gate\napply = \"ask\"",
    ]), @r#"
    p.toml:1:1: the key `image` is missing, expected such as image = "base"
    p.toml:1:1: unknown key `imagine`, expected one of `extends`, `description`, `projects`, `image`, `command`, `env`, `env_pass`, `prompt`, `terminal`, `acp`, `workspace`, `limits`, `session`, `attach`, `ask`, `notify`, `network`, `secrets`, `files`, `volumes`, `home`, `services`, `setup`, `gate`, `pr` (did you mean `image`?)
    p.toml:1:9: found integer `7`, expected a string
    p.toml:2:11: found string "make", expected an array
    p.toml:3:10: found integer `8`, expected a size such as "512m" or "8g" (units: k, m, g, t)
    p.toml:3:10: found "8 g", expected a size such as "512m" or "8g" (units: k, m, g, t)
    p.toml:3:10: found "-1g", expected a size such as "512m" or "8g" (units: k, m, g, t)
    p.toml:3:10: found "1.5g", expected a size such as "512m" or "8g" (units: k, m, g, t)
    p.toml:3:10: found "99999999999t", expected a size such as "512m" or "8g" (units: k, m, g, t)
    p.toml:3:11: found "5", expected a span of time such as "90s", "5m" or "2h" (units: s, m, h, d)
    p.toml:3:11: found integer `5`, expected a span of time such as "90s", "5m" or "2h" (units: s, m, h, d)
    p.toml:3:11: found "0s", expected a span of time such as "90s", "5m" or "2h" (units: s, m, h, d)
    p.toml:3:8: found string "2", expected a number of cores such as 2 or 0.5, from 0.01 to 4096
    p.toml:3:8: found floating point `0.0`, expected a number of cores such as 2 or 0.5, from 0.01 to 4096
    p.toml:3:8: found floating point `NaN`, expected a number of cores such as 2 or 0.5, from 0.01 to 4096
    p.toml:3:8: found 0, expected a count from 1 to 4294967295
    p.toml:3:8: found -1, expected a count from 1 to 4294967295
    p.toml:3:8: found 99999999999, expected a count from 1 to 4294967295
    p.toml:3:9: found `yes`, expected one of `ask`, `auto`, `never`
    p.toml:3:7: found `half`, expected one of `full`, `shallow`, `none`
    p.toml:3:8: found `host`, expected one of `none`, `allowlist`, `open`
    p.toml:2:1: duplicate key
    p.toml:3:5: found integer `1`, expected a string
    p.toml:2:6: unclosed table, expected `]`
    "#);
}

#[test]
fn all_unknown_keys_are_told_with_the_ones_that_were_meant() {
    let told =
        errors(&["image = \"base\"\ncomand = [\"a\"]\nenvv = 1\n[gate]\naply = \"ask\"\nzzz = 1"]);
    for part in [
        "p.toml:2:1: unknown key `comand`",
        "(did you mean `command`?)",
        "line 3: unknown key `envv` (did you mean `env`?)",
        "line 5: unknown key `aply` (did you mean `apply`?)",
        "line 6: unknown key `zzz`",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn ignored_files_stay_unless_the_profile_offers_them() {
    let ignored = |text: &str| {
        parse(&format!("image = \"base\"\n[gate]\n{text}"))
            .unwrap()
            .gate
            .ignored
    };
    assert_eq!(ignored(""), IgnoredFiles::Stay);
    assert_eq!(ignored("ignored = \"offered\""), IgnoredFiles::Offered);
}

#[test]
fn impossible_combinations_are_refused() {
    assert_snapshot!(errors(&[
        "image = \"base\"\ncommand = []",
        "image = \"base\"\ncommand = [\"\"]",
        "image = \"base\"\n[limits]\nmemory = \"1m\"",
        "image = \"base\"\n[limits]\npids = 2",
        "image = \"base\"\n[limits]\ntmp = \"0\"",
        "image = \"base\"\n[limits]\nmemory = \"1g\"\ntmp = \"2g\"",
        "image = \"base\"\n[gate]\nmax_bytes = \"1m\"\nmax_file_bytes = \"2m\"",
        "image = \"base\"\n[network]\nallow = [\"a:1\"]",
        "image = \"base\"\n[network]\nmode = \"none\"\nallow = [\"a:1\"]",
        "image = \"base\"\n[network]\nmode = \"open\"\nallow = [\"a:1\"]",
        "image = \"base\"\n[network]\nmode = \"allowlist\"",
        "image = \"base\"\n[env]\n\"A=B\" = \"1\"",
        "image = \"base\"\n[env]\nLAZARET = \"1\"",
        "image = \"base\"\n[workspace]\nexclude = [\"*.log\", \"!keep.log\"]",
        "image = \"base\"\n[workspace]\nexclude = [\"\"]",
        "image = \"porter\"",
    ]), @r#"
    p.toml:2:11: `command` names no program, expected such as ["make", "check"]; leave it out if the command is given to `lazaret run`
    p.toml:2:11: `command` names no program, expected such as ["make", "check"]; leave it out if the command is given to `lazaret run`
    p.toml:3:10: `limits.memory`: found 1m, expected at least 32m
    p.toml:3:8: `limits.pids`: found 2, expected at least 16
    p.toml:3:7: `limits.tmp`: found 0, expected at least 1
    p.toml:4:7: `limits.tmp` (2g) is more than `limits.memory` (1g), of which it is a part
    p.toml:4:18: `gate.max_file_bytes` (2m) is more than `gate.max_bytes` (1m), which holds for all files together
    p.toml:3:9: `network.allow` has no meaning with mode "none", expected mode = "allowlist"
    p.toml:4:9: `network.allow` has no meaning with mode "none", expected mode = "allowlist"
    p.toml:4:9: `network.allow` has no meaning with mode "open", expected mode = "allowlist"
    p.toml:3:8: `network.mode` = "allowlist" without `network.allow`, expected such as allow = ["api.example.org:443"]
    p.toml:3:1: `env`: "A=B" is not a valid environment variable name: expected a letter or `_`, then letters, digits or `_`
    p.toml:3:1: `env`: names that start with LAZARET are set by lazaret itself
    p.toml:3:21: `workspace.exclude`: a pattern here can only keep files out, expected a pattern such as "*.log"
    p.toml:3:12: `workspace.exclude`: found an empty pattern, expected a pattern such as "*.log"
    p.toml:1:9: found image "porter", expected one that comes with lazaret (base, claude, claude-acp, codex, dev, go, node, postgres, python, redis, rust) or one of your own
    "#);
}

#[test]
fn what_comes_later_is_refused_by_name() {
    assert_snapshot!(errors(&[
        "image = \"debian:12\"",
        "image = \"base\"\n[workspace]\ntarget = \"/src\"",
    ]), @r#"
    p.toml:1:9: found image "debian:12", expected one that comes with lazaret (base, claude, claude-acp, codex, dev, go, node, postgres, python, redis, rust) or one of your own
    p.toml:3:10: `workspace.target` other than "/workspace" is not available yet in this version
    "#);
}

#[test]
fn what_is_protected_is_named_by_its_path() {
    let protect = |list: &str| format!("image = \"base\"\n[workspace]\nprotect = [{list}]");
    let profile = parse(&protect(
        "\"AGENTS.md\", \".factory/\", \"a/b\", \".factory\"",
    ))
    .unwrap();
    assert_eq!(profile.workspace.protect, ["AGENTS.md", ".factory", "a/b"]);
    assert!(
        profile
            .to_toml()
            .contains("protect = [\n    \"AGENTS.md\",")
            || profile.to_toml().contains("protect = [\"AGENTS.md\"")
    );
    let lists = [
        "\"\"",
        "\"/etc\"",
        "\"../x\"",
        "\"a//b\"",
        "\"*.md\"",
        "\"!a\"",
        "\".git/hooks\"",
        "\"a/.GIT\"",
        "\"a\\nb\"",
        "1",
    ];
    let texts: Vec<String> = lists.iter().map(|list| protect(list)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_snapshot!(errors(&texts), @r#"
    p.toml:3:11: `workspace.protect`: "": the path is empty, expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:11: `workspace.protect`: "/etc": the path is absolute, expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:11: `workspace.protect`: "../x": the path has a `..` component, expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:11: `workspace.protect`: "a//b": the path has an empty or `.` component, expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:11: `workspace.protect`: found the pattern "*.md", expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:11: `workspace.protect`: found the pattern "!a", expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:11: `workspace.protect`: ".git/hooks" lies in a repository, which never comes back and which git inside has to write to, expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:11: `workspace.protect`: "a/.GIT" lies in a repository, which never comes back and which git inside has to write to, expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:11: `workspace.protect`: "a\nb": the path has a control character, expected a path from the workspace's root such as "AGENTS.md" or ".factory/"
    p.toml:3:12: found integer `1`, expected a string
    "#);
}

#[test]
fn the_text_of_a_pull_request_lies_at_one_path() {
    let file = |file: &str| format!("image = \"base\"\n[pr]\nfile = {file}");
    let profile = parse(&file("\"meta/pr.json\"")).unwrap();
    assert_eq!(profile.pr.file.as_deref().unwrap().as_str(), "meta/pr.json");
    assert!(
        profile
            .to_toml()
            .ends_with("[pr]\nfile = \"meta/pr.json\"\n")
    );
    assert!(
        !parse("image = \"base\"")
            .unwrap()
            .to_toml()
            .contains("[pr]")
    );
    let wrong = [
        "\"\"",
        "\"../x\"",
        "\"pr/\"",
        "\"*.json\"",
        "\".git/x\"",
        "[]",
    ];
    let texts: Vec<String> = wrong.iter().map(|text| file(text)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_snapshot!(errors(&texts), @r#"
    p.toml:3:8: `pr.file`: "": the path is empty, expected a path from the workspace's root such as ".pull-request.json"
    p.toml:3:8: `pr.file`: "../x": the path has a `..` component, expected a path from the workspace's root such as ".pull-request.json"
    p.toml:3:8: `pr.file`: "pr/": the path has an empty or `.` component, expected a path from the workspace's root such as ".pull-request.json"
    p.toml:3:8: `pr.file`: found the pattern "*.json", expected a path from the workspace's root such as ".pull-request.json"
    p.toml:3:8: `pr.file`: ".git/x" lies in a repository, which never comes back and which git inside has to write to, expected a path from the workspace's root such as ".pull-request.json"
    p.toml:3:8: found sequence, expected a string
    "#);
}

#[test]
fn a_network_and_keys_are_read() {
    let profile = parse(
        "image = \"base\"\n[network]\nmode = \"allowlist\"\n\
         allow = [\"API.example.org:443\", \"*.example.org:443\"]\ndeny = [\"Files.example.org:443\"]\nports = [\"8080\", \"3000:80\"]\n\
         [secrets.key]\nfrom = { env = \"API_KEY\" }\n\
         broker = { host = \"api.vendor.com\", header = \"Authorization\", base_url_env = \"URL\" }",
    )
    .unwrap();
    let text = profile.to_toml();
    let network = &text[text.find("[network]").unwrap()..text.find("[gate]").unwrap()];
    assert_snapshot!(network, @r#"
    [network]
    mode = "allowlist"
    allow = ["api.example.org:443", "*.example.org:443"]
    deny = ["files.example.org:443"]
    ports = ["8080", "3000:80"]

    [secrets.key]
    env = "API_KEY"

    [secrets.key.from]
    env = "API_KEY"

    [secrets.key.broker]
    host = "api.vendor.com:443"
    header = "authorization"
    scheme = "bearer"
    base_url_env = "URL"
    "#);
}

#[test]
fn a_denial_where_nothing_is_open_is_refused() {
    let error = error("image = \"base\"\n[network]\ndeny = [\"a.org:443\"]");
    assert!(error.contains("`network.deny` has no meaning"), "{error}");
}

#[test]
fn a_key_that_would_go_in_is_refused() {
    let error = error("image = \"base\"\n[secrets.key]\nfrom = { env = \"KEY\" }");
    assert!(error.contains("a secret without a `broker`"), "{error}");
    let broker = "broker = { host = \"h.org\", header = \"x\" }";
    let text = format!("image = \"base\"\n[secrets.key]\nfrom = {{ env = \"KEY\" }}\n{broker}");
    let error = self::error(&text);
    assert!(error.contains("no meaning without a network"), "{error}");
}

#[test]
fn net_26_a_profile_names_fields_that_go_on() {
    let profile = |pass: &str| {
        format!(
            "image = \"base\"\n[network]\nmode = \"allowlist\"\n[secrets.key]\n\
             from = {{ env = \"KEY\" }}\n\
             broker = {{ host = \"h.org\", header = \"x-token\", pass = [\"{pass}\"] }}"
        )
    };
    for name in ["openai-organization", "X-Tenant"] {
        let text = profile(name);
        let found = parse(&text).unwrap().secrets[0].broker.pass.clone();
        assert_eq!(found, [name.to_ascii_lowercase()]);
    }
    for name in [
        "",
        "x_tenant",
        "x tenant",
        "authorization",
        "X-Api-Key",
        "x-token",
        "cookie",
    ] {
        let error = error(&profile(name));
        assert!(
            error.contains("that carry no credential"),
            "{name}: {error}"
        );
    }
}

#[test]
fn the_place_is_marked() {
    assert_snapshot!(error("image = \"base\"\n[limits]\n  tmp   = \"8x\" # too much"), @r#"
    p.toml:3:11: found "8x", expected a size such as "512m" or "8g" (units: k, m, g, t)
    3 |   tmp   = "8x" # too much
      |           ^^^^
    "#);
    // The mark stands under the place, whatever its characters take in bytes.
    assert_snapshot!(error("image = \"base\"\ncommand = [\"é\", 1]"), @r#"
    p.toml:2:17: found integer `1`, expected a string
    2 | command = ["é", 1]
      |                 ^
    "#);
    // A tab or an escape would shift the mark: there is none.
    assert_snapshot!(error("image = \"base\"\n[limits]\n\ttmp = \"8x\""), @r#"
    p.toml:3:8: found "8x", expected a size such as "512m" or "8g" (units: k, m, g, t)
    3 | 	tmp = "8x"
    "#);
}

/// The fields that serde expects in a table, from its complaint about another one.
fn fields<'de, T: serde::Deserialize<'de>>() -> Vec<String> {
    let Err(error) = T::deserialize(toml::Deserializer::parse("'no such key' = 1").unwrap()) else {
        panic!("an unknown key was accepted");
    };
    let mut fields: Vec<_> = error
        .message()
        .split('`')
        .skip(3)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    fields.sort();
    fields
}

#[test]
fn the_schema_has_the_keys_that_are_read() {
    let schema = schema();
    let keys = |pointer: &str| {
        let table = schema
            .pointer(pointer)
            .and_then(|value| value["properties"].as_object());
        let mut keys: Vec<_> = table.expect(pointer).keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(""), fields::<raw::RawProfile>());
    assert_eq!(keys("/properties/workspace"), fields::<raw::RawWorkspace>());
    assert_eq!(keys("/properties/limits"), fields::<raw::RawLimits>());
    assert_eq!(keys("/properties/session"), fields::<raw::RawSession>());
    assert_eq!(keys("/properties/notify"), fields::<raw::RawNotify>());
    assert_eq!(keys("/properties/ask"), fields::<raw::RawAsk>());
    assert_eq!(keys("/properties/attach"), fields::<raw::RawAttach>());
    assert_eq!(keys("/properties/network"), fields::<raw::RawNetwork>());
    assert_eq!(keys("/properties/home"), fields::<raw::RawHome>());
    assert_eq!(keys("/properties/gate"), fields::<raw::RawGate>());
    assert_eq!(keys("/properties/pr"), fields::<raw::RawPr>());
    assert_eq!(
        keys("/properties/volumes/items"),
        fields::<raw::RawVolume>()
    );
    assert_eq!(keys("/properties/setup/items"), fields::<raw::RawSetup>());
    assert_eq!(
        keys("/properties/secrets/additionalProperties"),
        fields::<raw::RawSecret>()
    );
    assert_eq!(
        keys("/properties/services/additionalProperties"),
        fields::<raw::RawService>()
    );
}

mod tightening {
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
}
