//! What profiles mean, and what is said about wrong ones.

mod tightening;

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
