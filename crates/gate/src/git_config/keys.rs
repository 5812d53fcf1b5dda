//! What git does with the value of a key (git-config(1), and the manuals of what comes with
//! git): which programs it starts, and which files decide what it starts.

use super::parse::split;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// A shell's command line, or the path of a program. A truth is none.
    Command,
    /// A command line behind a `!`; without it something harmless.
    Bang,
    /// A credential helper: a path, a command line behind a `!`, or a part of a name.
    Helper,
    /// An alias: a command line behind a `!`, or a git command.
    Alias,
    /// An address, of which some are command lines.
    Address,
    /// A directory with hooks.
    Hooks,
    /// A directory whose files are copied to where they run.
    Templates,
    /// A file that decides what is run.
    Decides,
    /// A file that git reads, and runs nothing for.
    Reads,
}

/// One row: the section, the key and what its value is. A `*` is any key. With a subsection
/// or without makes no difference.
type Row = (&'static str, &'static str, Value);

#[rustfmt::skip]
const KEYS: &[Row] = &[
    ("alias", "*", Value::Alias),
    ("browser", "cmd", Value::Command),
    ("browser", "path", Value::Command),
    ("core", "alternateRefsCommand", Value::Command),
    ("core", "askPass", Value::Command),
    ("core", "attributesFile", Value::Decides),
    ("core", "editor", Value::Command),
    ("core", "excludesFile", Value::Reads),
    ("core", "fsmonitor", Value::Command),
    ("core", "gitProxy", Value::Command),
    ("core", "hooksPath", Value::Hooks),
    ("core", "pager", Value::Command),
    ("core", "sshCommand", Value::Command),
    ("credential", "helper", Value::Helper),
    ("diff", "command", Value::Command),
    ("diff", "external", Value::Command),
    ("diff", "textconv", Value::Command),
    ("difftool", "cmd", Value::Command),
    ("difftool", "path", Value::Command),
    ("filter", "clean", Value::Command),
    ("filter", "process", Value::Command),
    ("filter", "smudge", Value::Command),
    ("gc", "recentObjectsHook", Value::Command),
    ("gpg", "allowedSignersFile", Value::Reads),
    ("gpg", "defaultKeyCommand", Value::Command),
    ("gpg", "program", Value::Command),
    ("gpg", "revocationFile", Value::Reads),
    ("guitool", "cmd", Value::Command),
    ("hook", "command", Value::Command),
    ("imap", "tunnel", Value::Command),
    ("init", "templateDir", Value::Templates),
    ("instaweb", "browser", Value::Command),
    ("instaweb", "httpd", Value::Command),
    ("instaweb", "modulePath", Value::Templates),
    ("interactive", "diffFilter", Value::Command),
    ("lfs", "args", Value::Command),
    ("lfs", "clean", Value::Command),
    ("lfs", "path", Value::Command),
    ("lfs", "smudge", Value::Command),
    ("man", "cmd", Value::Command),
    ("man", "path", Value::Command),
    ("merge", "driver", Value::Command),
    ("mergetool", "cmd", Value::Command),
    ("mergetool", "path", Value::Command),
    ("pager", "*", Value::Command),
    ("remote", "pushurl", Value::Address),
    ("remote", "receivepack", Value::Command),
    ("remote", "uploadpack", Value::Command),
    ("remote", "url", Value::Address),
    ("remote", "vcs", Value::Command),
    ("sendemail", "aliasesFile", Value::Reads),
    ("sendemail", "ccCmd", Value::Command),
    ("sendemail", "headerCmd", Value::Command),
    ("sendemail", "sendmailCmd", Value::Command),
    ("sendemail", "smtpServer", Value::Command),
    ("sendemail", "toCmd", Value::Command),
    ("sequence", "editor", Value::Command),
    ("submodule", "update", Value::Bang),
    ("svn", "authorsProg", Value::Command),
    ("tar", "command", Value::Command),
    ("trailer", "cmd", Value::Command),
    ("trailer", "command", Value::Command),
    ("uploadpack", "packObjectsHook", Value::Command),
];

/// How keys end that name a program, in whatever section a later git or a tool beside it has
/// them.
const ENDINGS: &[&str] = &[
    "command",
    "cmd",
    "hook",
    "program",
    "helper",
    "editor",
    "pager",
    "driver",
    "textconv",
    "hookspath",
];

/// Variables of the environment by which git, or what it starts, finds a program.
pub(super) const VARIABLES: &[(&str, Value)] = &[
    ("EDITOR", Value::Command),
    ("GIT_ASKPASS", Value::Command),
    ("GIT_EDITOR", Value::Command),
    ("GIT_EXEC_PATH", Value::Templates),
    ("GIT_EXTERNAL_DIFF", Value::Command),
    ("GIT_PAGER", Value::Command),
    ("GIT_PROXY_COMMAND", Value::Command),
    ("GIT_SEQUENCE_EDITOR", Value::Command),
    ("GIT_SSH", Value::Command),
    ("GIT_SSH_COMMAND", Value::Command),
    ("GIT_TEMPLATE_DIR", Value::Templates),
    ("PAGER", Value::Command),
    ("SSH_ASKPASS", Value::Command),
    ("VISUAL", Value::Command),
];

/// Says what the value of a variable is, and how its key is spelled in git's manual.
pub(super) fn value_of(name: &[u8]) -> Option<(Value, &'static str)> {
    let (section, _, key) = split(name);
    let is = |text: &str, bytes: &[u8]| text.as_bytes().eq_ignore_ascii_case(bytes);
    let mut rows = KEYS.iter();
    let row = rows.find(|(in_section, its_key, _)| {
        is(in_section, section) && (*its_key == "*" || is(its_key, key))
    });
    if let Some((_, spelled, value)) = row {
        return Some((*value, spelled));
    }
    let key = key.to_ascii_lowercase();
    let mut endings = ENDINGS.iter();
    let ending = endings.find(|ending| key.ends_with(ending.as_bytes()))?;
    match *ending {
        "hookspath" => Some((Value::Hooks, "*")),
        _ => Some((Value::Command, "*")),
    }
}

/// Whether a value is one of git's truths, which starts nothing.
pub(super) fn is_truth(value: &[u8]) -> bool {
    let value = value.trim_ascii().to_ascii_lowercase();
    matches!(
        &*value,
        b"" | b"true" | b"yes" | b"on" | b"1" | b"false" | b"no" | b"off" | b"0"
    )
}
