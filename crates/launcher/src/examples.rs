//! `EXAMPLES`: two command lines for each verb, at the end of its long help.

use clap::Command;

/// Verbs, and what is typed to use them.
pub const EXAMPLES: &[(&str, [&str; 2])] = &[
    (
        "init",
        ["lazaret init", "lazaret init --extends claude --print"],
    ),
    (
        "run",
        [
            "lazaret run claude",
            "lazaret run base -w ~/shop -- make test",
        ],
    ),
    (
        "start",
        [
            "lazaret start claude --name shop",
            "lazaret start base --stay -- sleep 1h",
        ],
    ),
    (
        "attach",
        ["lazaret attach shop", "lazaret attach shop --read-only"],
    ),
    (
        "exec",
        [
            "lazaret exec shop -- git status",
            "lazaret exec shop -t -- bash",
        ],
    ),
    ("shell", ["lazaret shell shop", "lazaret shell"]),
    (
        "ask",
        [
            "lazaret ask reviewer < request.json",
            "lazaret ask shop --timeout 5m --envelope < request.json",
        ],
    ),
    (
        "acp",
        [
            "lazaret acp claude-acp",
            "lazaret acp ./agent.toml -w ~/shop",
        ],
    ),
    (
        "mail",
        ["lazaret mail family", "lazaret mail family --follow"],
    ),
    (
        "mail ack",
        [
            "lazaret mail ack family 17",
            "lazaret mail ack family 17 18",
        ],
    ),
    ("stop", ["lazaret stop shop", "lazaret stop shop --kill"]),
    (
        "wait",
        [
            "lazaret wait shop",
            "lazaret wait shop --for needs-input --timeout 1h",
        ],
    ),
    (
        "diff",
        ["lazaret diff shop", "lazaret diff shop src/ --stat"],
    ),
    (
        "watch",
        ["lazaret watch shop", "lazaret watch shop --interval 5s"],
    ),
    ("sync", ["lazaret sync shop", "lazaret sync shop --dry-run"]),
    (
        "review",
        ["lazaret review", "lazaret review shop --with-ignored"],
    ),
    (
        "apply",
        ["lazaret apply shop", "lazaret apply shop src/ --yes"],
    ),
    (
        "commits",
        ["lazaret commits shop", "lazaret commits shop --lost"],
    ),
    (
        "commits land",
        [
            "lazaret commits land shop",
            "lazaret commits land shop fix-42 --sign",
        ],
    ),
    (
        "pr",
        ["lazaret pr shop", "lazaret pr shop fix-42 --draft --edit"],
    ),
    ("allowed", ["lazaret allowed", "lazaret allowed --json"]),
    (
        "allowed ls",
        ["lazaret allowed ls", "lazaret allowed ls --json"],
    ),
    (
        "allowed rm",
        [
            "lazaret allowed rm .github/workflows/ci.yml",
            "lazaret allowed rm Makefile --code suspect.entry_point",
        ],
    ),
    (
        "export",
        [
            "lazaret export shop > shop.patch",
            "lazaret export shop --html shop.html",
        ],
    ),
    (
        "check",
        [
            "lazaret check ../candidate --base .",
            "lazaret check candidate.tar --base ../main --sarif gate.sarif",
        ],
    ),
    (
        "discard",
        ["lazaret discard shop", "lazaret discard shop --yes"],
    ),
    ("undo", ["lazaret undo shop", "lazaret undo shop --redo"]),
    ("ls", ["lazaret ls", "lazaret ls --all --json"]),
    ("show", ["lazaret show shop", "lazaret show shop --json"]),
    ("logs", ["lazaret logs shop", "lazaret logs shop --follow"]),
    (
        "events",
        ["lazaret events shop", "lazaret events shop --follow --json"],
    ),
    (
        "limits",
        [
            "lazaret limits shop",
            "lazaret limits shop --life 3d --disk 30g",
        ],
    ),
    (
        "services",
        [
            "lazaret services shop",
            "lazaret services shop --restart db",
        ],
    ),
    (
        "rm",
        ["lazaret rm shop", "lazaret rm shop old-shop --force"],
    ),
    ("recover", ["lazaret recover", "lazaret recover --captures"]),
    (
        "prune",
        [
            "lazaret prune --dry-run",
            "lazaret prune --yes --older-than 7d",
        ],
    ),
    (
        "audit show",
        ["lazaret audit show", "lazaret audit show shop --json"],
    ),
    (
        "audit verify",
        ["lazaret audit verify", "lazaret audit verify --json"],
    ),
    ("mcp", ["lazaret mcp", "lazaret mcp --engine podman"]),
    ("doctor", ["lazaret doctor", "lazaret doctor --json"]),
    ("rules", ["lazaret rules", "lazaret rules suspect.ci"]),
    ("home ls", ["lazaret home ls", "lazaret home ls --json"]),
    (
        "home review",
        ["lazaret home review", "lazaret home review shop"],
    ),
    (
        "home allow",
        [
            "lazaret home allow shop .claude/settings.json",
            "lazaret home allow shop .bashrc",
        ],
    ),
    (
        "home reset",
        ["lazaret home reset shop", "lazaret home reset shop --yes"],
    ),
    (
        "policy show",
        [
            "lazaret policy show shop",
            "lazaret policy show shop --json",
        ],
    ),
    (
        "policy log",
        [
            "lazaret policy log shop",
            "lazaret policy log shop --follow",
        ],
    ),
    (
        "policy allow",
        [
            "lazaret policy allow shop docs.rs:443",
            "lazaret policy allow shop '*.example.org:443'",
        ],
    ),
    (
        "policy deny",
        [
            "lazaret policy deny shop docs.rs:443",
            "lazaret policy deny shop '*.example.org:443'",
        ],
    ),
    (
        "policy check",
        [
            "lazaret policy check claude api.anthropic.com",
            "lazaret policy check base example.org:80",
        ],
    ),
    (
        "group add",
        [
            "lazaret group add family --level member --profile nova --project ~/bot --folder chats/family",
            "lazaret group add owner --level main --profile nova --project ~/bot",
        ],
    ),
    (
        "group set",
        [
            "lazaret group set family --shared groups/global",
            "lazaret group set family --extra webapp=~/projects/webapp",
        ],
    ),
    ("group ls", ["lazaret group ls", "lazaret group ls --json"]),
    (
        "group show",
        [
            "lazaret group show family",
            "lazaret group show family --json",
        ],
    ),
    (
        "group rm",
        ["lazaret group rm family", "lazaret group rm owner"],
    ),
    (
        "pool fill",
        [
            "lazaret pool fill base",
            "lazaret pool fill claude --count 3",
        ],
    ),
    ("pool ls", ["lazaret pool ls", "lazaret pool ls --json"]),
    (
        "pool drain",
        ["lazaret pool drain", "lazaret pool drain claude"],
    ),
    (
        "volume ls",
        ["lazaret volume ls", "lazaret volume ls --json"],
    ),
    (
        "volume fill",
        [
            "lazaret volume fill cargo --from rust -- cargo fetch",
            "lazaret volume fill npm --from node -w ~/shop -- npm ci",
        ],
    ),
    (
        "volume rm",
        ["lazaret volume rm cargo", "lazaret volume rm npm --json"],
    ),
    (
        "image build",
        [
            "lazaret image build base",
            "lazaret image build claude+rust",
        ],
    ),
    (
        "image export",
        [
            "lazaret image export porter --output porter.tar",
            "lazaret image export base -o base.tar",
        ],
    ),
    ("image ls", ["lazaret image ls", "lazaret image ls --json"]),
    (
        "image verify",
        [
            "lazaret image verify base",
            "lazaret image verify base claude",
        ],
    ),
    (
        "image sbom",
        [
            "lazaret image sbom base",
            "lazaret image sbom claude > claude.spdx.json",
        ],
    ),
    (
        "image rm",
        ["lazaret image rm claude", "lazaret image rm node python"],
    ),
    (
        "image prune",
        ["lazaret image prune", "lazaret image prune --dry-run"],
    ),
    (
        "profile ls",
        ["lazaret profile ls", "lazaret profile ls --json"],
    ),
    (
        "profile show",
        [
            "lazaret profile show claude",
            "lazaret profile show ./profile.toml",
        ],
    ),
    (
        "profile check",
        [
            "lazaret profile check ./profile.toml",
            "lazaret profile check claude base",
        ],
    ),
    (
        "profile schema",
        [
            "lazaret profile schema > profile.schema.json",
            "lazaret profile schema --json",
        ],
    ),
    (
        "completions",
        [
            "lazaret completions bash",
            "lazaret completions zsh > _lazaret",
        ],
    ),
    (
        "man",
        ["lazaret man", "lazaret man ~/.local/share/man/man1"],
    ),
];

/// Adds the examples to the help of a command and of all verbs below it.
pub(crate) fn added_to(command: Command) -> Command {
    below(command, "")
}

/// Adds the examples of the verb at `path`, which is empty for the program.
fn below(command: Command, path: &str) -> Command {
    let named: Vec<String> = command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let command = named.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |verb| below(verb, path.trim_start()))
    });
    let mut examples = EXAMPLES.iter();
    match examples.find(|(verb, _)| *verb == path) {
        Some((_, lines)) => command.after_long_help(format!("Examples:\n  {}", lines.join("\n  "))),
        None => command,
    }
}
