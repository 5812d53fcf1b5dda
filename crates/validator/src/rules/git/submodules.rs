//! `.gitmodules`: what is wrong with a line, beside the file being withheld as a whole
//! (GIT-12; CVE-2018-11235, CVE-2018-17456, CVE-2025-48384).

use lazaret_tree::is_git_name;

use crate::Severity;
use crate::codes;
use crate::file_findings::FileFindings;
use crate::finding_buffer::FindingBuffer;
use crate::rules::content::file_pair::lines;
use crate::rules::git::names::GitFile;
use crate::rules::{Context, FilePair};
use crate::shown::shown;

pub(in crate::rules) fn check(_: &Context<'_>, pair: &FilePair<'_>, report: &mut FindingBuffer) {
    let path = pair.path();
    if !GitFile::Modules.is(path.file_name()) {
        return;
    }
    let bytes = pair.after().bytes().unwrap_or_default();
    let mut found = FileFindings::default();
    // A value may go on in the next line: then it is one line, and new if any part is.
    let mut whole: Vec<u8> = Vec::new();
    let (mut first, mut is_new, mut goes_on) = (1, false, false);
    for (number, line) in lines(bytes) {
        if !goes_on {
            (first, is_new) = (number, false);
            whole.clear();
        }
        is_new |= pair.adds_line(line);
        whole.extend_from_slice(line);
        goes_on = ends_open(&whole);
        if goes_on {
            whole.pop();
            continue;
        }
        if is_new {
            for problem in problems(&String::from_utf8_lossy(&whole)) {
                found.add_line(Severity::Block, codes::GIT_SUBMODULE, first, || problem);
            }
        }
    }
    found.report(path, "", report);
}

/// Whether a line ends in an odd number of backslashes.
fn ends_open(line: &[u8]) -> bool {
    line.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// Says what is wrong with one line: a section, a key with its value, or both.
fn problems(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line.trim_start_matches('\u{feff}').trim_start();
    if let Some(section) = rest.strip_prefix('[') {
        let end = section_end(section);
        let (head, after) = section.split_at(end);
        found.extend(name_problem(&subsection(head)));
        rest = after.strip_prefix(']').unwrap_or(after).trim_start();
    }
    if rest.starts_with(['#', ';']) {
        return found;
    }
    let Some((key, value)) = rest.split_once('=') else {
        return found;
    };
    let value = unquote(value);
    let problem = match key.trim().to_ascii_lowercase().as_str() {
        "url" => url_problem(&value),
        "path" => path_problem(&value),
        "update" if value.starts_with('!') => Some("`update` runs a command"),
        _ => None,
    };
    found.extend(problem.map(|problem| format!("{problem}: `{}`", shown(&value))));
    found
}

/// Where a section's `]` is: not within quotes.
fn section_end(section: &str) -> usize {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in section.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return at,
            _ => {}
        }
    }
    section.len()
}

/// The name in `submodule "name"` or `submodule.name`.
fn subsection(head: &str) -> String {
    match head.split_once('"') {
        Some((_, name)) => unquote(&format!("\"{name}")),
        None => head
            .split_once('.')
            .map_or(String::new(), |(_, name)| name.to_owned()),
    }
}

/// A value as git reads it: quotes and escapes resolved, comments and outer blanks gone.
fn unquote(text: &str) -> String {
    let mut value = String::new();
    // How much of it a quote has shielded from being trimmed.
    let mut kept = 0;
    let mut quoted = false;
    let mut chars = text.trim_start_matches([' ', '\t']).chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => value.push('\u{8}'),
                Some(c) => value.push(c),
                None => {}
            },
            '#' | ';' if !quoted => break,
            c => value.push(c),
        }
        if quoted || c == '"' {
            kept = value.len();
        }
    }
    let trimmed = value.trim_end_matches([' ', '\t']).len();
    value.truncate(trimmed.max(kept));
    value
}

fn name_problem(name: &str) -> Option<String> {
    let steps = || name.split(['/', '\\']);
    let problem = if steps().any(|step| step == "..") {
        "the name leads out of `.git/modules`"
    } else if name.starts_with('-') {
        "git takes the name for an option"
    } else if name.chars().any(char::is_control) {
        "the name has a control character"
    } else {
        return None;
    };
    Some(format!("{problem}: `{}`", shown(name)))
}

fn url_problem(url: &str) -> Option<&'static str> {
    let lower = url.to_ascii_lowercase();
    let helper = lower.split_once("::").map(|(helper, _)| helper);
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    // `ssh://-oProxyCommand=...`, and the like of `-u` behind a colon or an at sign.
    let host = lower.split_once("://").map_or(&*lower, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    if url.starts_with('-') || host.starts_with('-') {
        Some("git takes the address for an option")
    } else if helper.is_some_and(is_word) {
        Some("the address runs a helper program")
    } else if url.chars().any(char::is_control) || lower.contains("%0a") || lower.contains("%0d") {
        Some("the address has a control character")
    } else if lower.starts_with("file:") || url.starts_with('/') || url.starts_with('~') {
        Some("the address is a place on this machine")
    } else {
        None
    }
}

fn path_problem(path: &str) -> Option<&'static str> {
    let steps = || path.split(['/', '\\']);
    if path.ends_with('\r') {
        Some("the path ends in a carriage return, which git drops when it writes it")
    } else if path.starts_with('-') {
        Some("git takes the path for an option")
    } else if path.starts_with('/') || steps().any(|step| step == "..") {
        Some("the path leads out of the workspace")
    } else if steps().any(is_git_name) {
        Some("the path leads into `.git`")
    } else if path.chars().any(char::is_control) {
        Some("the path has a control character")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::problems;

    #[test]
    fn git_12_lines() {
        for (line, problem) in [
            ("[submodule \"../../x\"]", "the name leads out"),
            ("[submodule \"a/../../b\"]", "the name leads out"),
            ("[submodule \"a\\\\..\\\\b\"]", "the name leads out"),
            ("[submodule.../x]", "the name leads out"),
            ("[Submodule \"-x\"]", "takes the name for an option"),
            ("url = -u./payload", "address for an option"),
            ("\tURL=\"-u./payload\"", "address for an option"),
            ("[submodule \"a\"] url = -u", "address for an option"),
            ("[submodule \"a]b\"] url = -u", "address for an option"),
            ("url = ssh://-oProxyCommand=x/y", "address for an option"),
            ("url = git@-x:y", "address for an option"),
            ("url = ext::sh -c evil%", "runs a helper"),
            ("url = EXT::sh", "runs a helper"),
            ("url = fd::17", "runs a helper"),
            ("url = e\"x\"t::sh", "runs a helper"),
            ("url = https://a.example/%0ahost=b", "control character"),
            ("url = \"a\\nb\"", "control character"),
            ("url = file:///etc", "place on this machine"),
            ("url = /etc/x", "place on this machine"),
            ("update = !sh -c evil", "runs a command"),
            ("Update = \"!evil\"", "runs a command"),
            ("path = \"sub\r\"", "carriage return"),
            ("path = sub\r", "carriage return"),
            ("path = ../x", "leads out of the workspace"),
            ("path = /x", "leads out of the workspace"),
            ("path = -x", "path for an option"),
            ("path = a/.GIT/hooks", "into `.git`"),
            ("path = a/git~1/hooks", "into `.git`"),
        ] {
            let found = problems(line);
            assert_eq!(found.len(), 1, "{line:?}: {found:?}");
            assert!(found[0].contains(problem), "{line:?}: {found:?}");
        }
    }

    #[test]
    fn git_12_ordinary_lines() {
        for line in [
            "[submodule \"vendor/lib..x\"]",
            "[submodule \"lib\"]",
            "path = vendor/lib",
            "url = https://git.example/lib.git",
            "url = git@git.example:lib.git",
            "url = ssh://git@git.example:22/lib",
            "url = ../lib.git",
            "update = rebase",
            "branch = -",
            "# url = -u",
            "; path = ../x",
            "url = https://git.example/x # ext::",
            "ignore = dirty",
            "",
        ] {
            assert_eq!(problems(line), [""; 0], "{line:?}");
        }
    }
}
