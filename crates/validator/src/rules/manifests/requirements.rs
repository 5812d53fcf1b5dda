//! `requirements.txt` and `constraints.txt` of pip: one requirement or option per line.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Difference, Manifest, Remark, chooses_index, names_address, warn};
use crate::codes::MANIFEST_REQUIREMENT;
use crate::rules::structured::{Builder, Data, Document, Unreadable, Value, offset};

/// Reads the lines as a table: a requirement or an option, and the hashes that stand with it.
pub(super) fn read(text: &str) -> Result<Document<'_>, Unreadable> {
    let builder = Builder::default();
    let mut entries: BTreeMap<String, (u32, String)> = BTreeMap::new();
    let mut start = 0;
    let mut whole = String::new();
    let mut first = None;
    for line in text.split_inclusive('\n') {
        let at = *first.get_or_insert(offset(start));
        start += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(part) = line.strip_suffix('\\') {
            whole.push_str(part);
            whole.push(' ');
            continue;
        }
        whole.push_str(line);
        first = None;
        let statement = std::mem::take(&mut whole);
        let (key, hashes) = split_hashes(without_comment(&statement));
        if !key.is_empty() {
            builder.count(at)?;
            // A line that is there twice says the same twice.
            let (_, known) = entries.entry(key).or_insert((at, String::new()));
            known.push_str(&hashes);
        }
    }
    let entries = entries.into_iter();
    let entries = entries.map(|(key, (at, hashes))| {
        let hashes = Data::Bare(Cow::Owned(hashes));
        (Cow::Owned(key), Value::new(at, hashes))
    });
    let root = builder.table(0, entries.collect());
    Ok(builder.finish(root))
}

/// A comment starts a line, or stands behind a blank.
fn without_comment(line: &str) -> &str {
    let start = line.match_indices('#').map(|(at, _)| at).find(|&at| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(char::is_whitespace)
    });
    line.get(..start.unwrap_or(line.len())).unwrap_or_default()
}

/// Splits a statement into what it asks for and its hashes, both in one form.
fn split_hashes(line: &str) -> (String, String) {
    let (hashes, rest): (Vec<&str>, Vec<&str>) = line
        .split_ascii_whitespace()
        .partition(|word| word.starts_with("--hash"));
    (rest.join(" "), hashes.join(" "))
}

/// Judges one line.
pub(super) fn judge(difference: &Difference<'_, '_>, _: &Manifest) -> Option<Remark> {
    let ([line], Some(after)) = (difference.path, difference.after) else {
        return None;
    };
    let mut words = line.split([' ', '=']);
    let word = words.next().unwrap_or_default();
    let reason = match word {
        _ if difference.before.is_some() => {
            let has_none = matches!(&after.data, Data::Bare(hashes) if hashes.is_empty());
            match has_none {
                true => "has no hash any more",
                false => "has other hashes, so other contents",
            }
        }
        "-i" | "-f" | "--pypi-url" => "chooses where packages come from",
        option if option.starts_with("--") && chooses_index(option.trim_start_matches('-')) => {
            "chooses where packages come from"
        }
        "-e" | "--editable" => "is built from a directory or a repository",
        "-r" | "-c" | "--requirement" | "--constraint" if leads_elsewhere(line) => {
            "reads requirements from elsewhere"
        }
        option if option.starts_with('-') => return None,
        _ if names_address(line) || is_place(word) => {
            "has a dependency from elsewhere than the registry"
        }
        _ => return None,
    };
    warn(MANIFEST_REQUIREMENT, reason)
}

fn leads_elsewhere(line: &str) -> bool {
    let target = line
        .split_once([' ', '='])
        .map_or("", |(_, target)| target.trim());
    target.starts_with(['/', '~']) || target.contains("..") || target.contains("://")
}

/// `./package`, `../x.whl`, `/opt/x.tar.gz`.
fn is_place(word: &str) -> bool {
    let ends = [".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz"];
    word.starts_with(['.', '/', '~']) || ends.iter().any(|end| word.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sus_32_lines_of_requirements() {
        let text = "# c\nidna==3.7 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nx @ https://a.test/#b # c\n\n-r ../y.txt\n";
        let document = read(text).unwrap();
        let keys: Vec<_> = document
            .root
            .entries()
            .iter()
            .map(|(key, value)| (&**key, value.at))
            .collect();
        assert_eq!(
            keys,
            [
                ("-r ../y.txt", 87),
                ("idna==3.7", 4),
                ("x @ https://a.test/#b", 60)
            ]
        );
        let idna = document.root.get("idna==3.7").unwrap();
        assert!(
            matches!(&idna.data, Data::Bare(hashes) if hashes == "--hash=sha256:aa --hash=sha256:bb")
        );
    }
}
