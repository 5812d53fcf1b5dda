//! The JSON schema of profiles, for editors.

use serde_json::{Value, json};

/// A key of the prefix; `^` and `\` are escaped.
const PREFIX_PATTERN: &str = r"^[Cc]trl-[A-HJ-LN-Za-hj-ln-z@\\\]\^_]$";

/// Returns the schema (JSON Schema, draft 2020-12). It describes the whole file, also
/// what this version refuses by name.
pub fn schema() -> Value {
    let size = json!({
        "type": "string", "pattern": "^[0-9]+[kKmMgGtT]?$",
        "description": "Bytes: \"512m\", \"8g\" (powers of 1024)."
    });
    let span = json!({ "type": "string", "pattern": "^[0-9]+[smhd]$" });
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    let described = |base: &Value, text: &str| {
        let mut value = base.clone();
        value["description"] = text.into();
        value
    };
    let table = |properties: Value| json!({ "type": "object", "additionalProperties": false, "properties": properties });
    let required = |mut table: Value, keys: &[&str]| {
        table["required"] = json!(keys);
        table
    };
    let map = |items: Value| json!({ "type": "object", "additionalProperties": items });
    let secret_source = table(json!({
        "env": { "type": "string" }, "file": { "type": "string" },
        "command": strings, "keychain": { "type": "string" }
    }));
    let broker = required(
        table(json!({
            "host": { "type": "string" }, "header": { "type": "string" },
            "base_url_env": { "type": "string" },
            "scheme": { "enum": ["raw", "bearer"] },
            "pass": strings
        })),
        &["host", "header"],
    );
    let volume = table(json!({
        "name": { "type": "string", "pattern": "^[a-z][a-z0-9]{0,8}$",
            "description": "Default: that of `cache`." },
        "cache": { "enum": ["cargo", "go", "npm", "uv"],
            "description": "Sets `target` and the variables of that program." },
        "target": { "type": "string", "pattern": "^/",
            "description": "Where it is mounted, such as \"/models\"." },
        "scope": { "enum": ["session", "shared"], "default": "session",
            "description": "Whose it is: the session's, or yours; `lazaret volume fill` alone \
                writes to a shared one." },
        "access": { "enum": ["copy", "read-only"], "default": "copy",
            "description": "What a session has of a shared volume." }
    }));
    let service = required(
        table(json!({
            "image": { "type": "string", "description": "The image of its container." },
            "command": described(&strings, "The server and its arguments; it stays in the \
                foreground. Default: the image's own."),
            "env": map(json!({ "type": "string" })),
            "data": { "type": "string", "pattern": "^/",
                "description": "Where its volume is mounted. Default: the image's own." },
            "ready": { "oneOf": [
                required(table(json!({ "tcp": { "type": "integer", "minimum": 1, "maximum": 65535 } })), &["tcp"]),
                required(table(json!({ "command": strings })), &["command"])
            ] },
            "within": described(&span, "Time until it is ready, default \"60s\"."),
            "stop_signal": { "enum": ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"] },
            "memory": described(&size, "Memory, default \"1g\"."),
            "cpus": { "type": "number", "minimum": 0.01, "maximum": 4096,
                "description": "Cores, default 2." },
            "pids": { "type": "integer", "minimum": 16, "maximum": u32::MAX,
                "description": "Processes and threads, default 512." },
            "keep": { "enum": ["session", "run"], "default": "session",
                "description": "How long its volume lasts: as long as the session, or anew for \
                    each start." },
            "required": { "type": "boolean", "default": false,
                "description": "Whether the session is stopped when the service is down." }
        })),
        &["image"],
    );
    let setup = required(
        table(json!({
            "run": described(&strings, "The program and its arguments."),
            "in": { "type": "string", "default": "command",
                "description": "Where it runs: \"command\", or the name of a service." },
            "always": { "type": "boolean", "default": false,
                "description": "Before each command, not once in a session." },
            "within": described(&span, "Time that it may take, default \"10m\".")
        })),
        &["run"],
    );
    let mut schema = required(
        table(json!({
            "extends": { "type": "string", "description": "A profile, built in or one of your \
                own, whose keys hold where this one says nothing. Tables merge, lists replace." },
            "description": { "type": "string", "description": "What the profile is for." },
            "projects": described(&strings, "Directories for which this profile is the one that \
                `run` and `start` take without a name. Of your own profiles only."),
            "image": { "type": "string", "description": "The image to run on." },
            "command": described(&strings, "The program and its arguments."),
            "env": described(&map(json!({ "type": "string" })), "Variables for the command."),
            "env_pass": described(&strings, "Names of your own variables that the command \
                sees, or beginnings such as \"LC_*\". Never one that may be a key."),
            "prompt": described(&strings, "What follows the command for `run --prompt TEXT`; \
                {} stands for the text."),
            "terminal": { "type": "boolean", "default": false,
                "description": "Whether the command gets your terminal, where there is one and \
                    it is given no task." },
            "acp": described(&strings, "The program that `lazaret acp` puts behind an editor, and \
                its arguments: it speaks the Agent Client Protocol."),
            "workspace": table(json!({
                "target": { "type": "string", "default": "/workspace",
                    "description": "Where the workspace is inside." },
                "git": { "enum": ["full", "shallow", "none"], "default": "full",
                    "description": "What of the repository goes in: the whole history, the \
                        commit that is checked out (git on the host makes that), or nothing." },
                "exclude": described(&strings, "Patterns of .gitignore syntax that stay out."),
                "protect": described(&strings, "Paths from the workspace's \
                    root that the command may only read, directories with all below them."),
                "isolation": { "enum": ["workspace", "project"], "default": "workspace",
                    "description": "Whether the workspace alone goes in, or all of the \
                        repository that it lies in; the command starts in the workspace." },
                "share": described(&strings, "Paths from the project's root that go in with \
                    the workspace, to be read only."),
                "project": { "type": "string", "pattern": "^\\.\\.(/\\.\\.)*/?$",
                    "description": "The way up to the project's root, where that is no \
                        repository: \"../..\"." }
            })),
            "limits": table(json!({
                "memory": described(&size, "Memory, default \"4g\"."),
                "cpus": { "type": "number", "minimum": 0.01, "maximum": 4096,
                    "description": "Cores, default 2." },
                "pids": { "type": "integer", "minimum": 16, "maximum": u32::MAX,
                    "description": "Processes and threads, default 4096." },
                "tmp": described(&size, "Size of /tmp, default \"512m\"."),
                "timeout": described(&span, "Time for the command: \"90s\", \"5m\", \"2h\"; \
                    default \"5m\"."),
                "idle": described(&span, "How long a kept session may do nothing, default \"12h\"."),
                "life": described(&span, "How long a kept session may last, default \"14d\"."),
                "disk": described(&size, "What the session's volume may hold, default \"20g\": \
                    a command that writes more is paused."),
                "inodes": { "type": "integer", "minimum": 1, "maximum": u32::MAX,
                    "description": "Files and directories that it may hold, default 1000000." }
            })),
            "session": table(json!({
                "stay": { "type": "boolean", "default": false,
                    "description": "Whether the container of `start` stays when its command \
                        has ended." }
            })),
            "attach": table(json!({
                "prefix": { "type": "string", "pattern": PREFIX_PATTERN, "default": "ctrl-]",
                    "description": "The key before each command of an attached terminal to \
                        lazaret." }
            })),
            "ask": table(json!({
                "mode": { "enum": ["turn", "live"], "default": "turn",
                    "description": "A new process for each request, or one for many, which gets \
                        each request as a line." },
                "start": { "type": "string",
                    "description": "The line before an answer; with `end`. Default: one with a \
                        nonce, LAZARET_ASK_NONCE." },
                "end": { "type": "string", "description": "The line after an answer." },
                "output": described(&size, "How much of each stream reaches the caller, default \
                    \"5m\"; the rest is spilled."),
                "spill": { "type": "string", "default": "/tmp/lazaret",
                    "description": "The directory inside that the rest goes to." },
                "idle": described(&span, "How long a session that `ask` started stays without a \
                    request, default \"10m\".")
            })),
            "notify": required(table(json!({
                "command": described(&strings, "A program that the keeper runs on this machine; \
                    {session}, {event} and {text} are replaced. Only in your own profiles."),
                "on": { "type": "array", "default": ["needs_input", "run_ended"],
                    "items": { "enum": ["needs_input", "run_ended", "disk", "stopping", "ended"] } }
            })), &["command"]),
            "network": table(json!({
                "mode": { "enum": ["none", "allowlist", "open"], "default": "none" },
                "allow": described(&strings, "Hosts and ports, such as \"api.example.org:443\"."),
                "deny": described(&strings, "Hosts and ports that stay closed, whatever allows them."),
                "ports": described(&strings, "Ports inside that one of 127.0.0.1 leads to: \
                    \"8080\", or \"3000:8080\".")
            })),
            "secrets": map(required(
                table(json!({ "from": secret_source, "env": { "type": "string" }, "broker": broker })),
                &["from"])),
            "files": map(required(
                table(json!({
                    "from": { "type": "string", "description": "A file of yours: \"~/.tool/login.json\"." },
                    "to": { "type": "string", "pattern": "^~/",
                        "description": "Where the session's copy lies, in the agent's home." },
                    "mode": { "enum": ["0400", "0600"], "default": "0400",
                        "description": "0600 for a program that writes over the file instead of \
                            replacing it." }
                })),
                &["from", "to"])),
            "volumes": { "type": "array", "items": volume },
            "setup": { "type": "array", "items": setup },
            "home": table(json!({
                "keep": { "enum": ["none", "session"], "default": "none",
                    "description": "How long the command's home is kept: not at all, or as long \
                        as its session." },
                "size": described(&size, "Size of a home that is not kept; default: that of /tmp."),
                "seed": described(&strings, "Files in your home that are copied into a kept one: \
                    \"~/.claude/settings.json\"."),
                "memory": described(&strings, "Files in a kept home that the command may change \
                    for good: \"~/.claude/CLAUDE.md\".")
            })),
            "services": map(service),
            "gate": table(json!({
                "apply": { "enum": ["ask", "auto", "never"], "default": "ask",
                    "description": "What to do with changes that no rule blocks." },
                "ignored": { "enum": ["stay", "offered"], "default": "stay",
                    "description": "What becomes of new files that git ignores." },
                "max_entries": { "type": "integer", "minimum": 1, "maximum": u32::MAX,
                    "description": "The most entries that may come back, default 200000." },
                "max_bytes": described(&size, "The most bytes that may come back, default \"4g\"."),
                "max_file_bytes": described(&size, "The most bytes of one file, default \"512m\".")
            })),
            "pr": table(json!({
                "file": { "type": "string",
                    "description": "Where the command leaves the text of a pull request, from \
                        the workspace's root: JSON that `lazaret pr` reads and that never comes \
                        back." }
            }))
        })),
        &["image"],
    );
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "lazaret profile".into();
    schema
}
