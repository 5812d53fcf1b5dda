//! `go.mod` and `go.work`: one directive per line, or a block of them in brackets.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Difference, Manifest, Remark, warn};
use crate::Severity::Note;
use crate::codes::MANIFEST_GO;
use crate::rules::structured::{Builder, Data, Document, Unreadable, Value, offset};

/// Reads the directives as a table, each with the word of its block in front.
pub(super) fn read(text: &str) -> Result<Document<'_>, Unreadable> {
    let builder = Builder::default();
    let mut entries: BTreeMap<String, u32> = BTreeMap::new();
    let mut block: Option<&str> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = offset(start);
        start += line.len();
        let line = line.split("//").next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match (block, words.as_slice()) {
            (_, []) => {}
            (None, [word, "("]) => block = Some(word),
            (Some(_), [")"]) => block = None,
            (word, words) => {
                builder.count(at)?;
                let words = word.iter().chain(words).copied().collect::<Vec<_>>();
                entries.entry(words.join(" ")).or_insert(at);
            }
        }
    }
    if block.is_some() {
        return Err(Unreadable::new("has a block without an end"));
    }
    let entries = entries.into_iter().map(|(key, at)| {
        let nothing = Data::Bare(Cow::Borrowed(""));
        (Cow::Owned(key), Value::new(at, nothing))
    });
    let root = builder.table(0, entries.collect());
    Ok(builder.finish(root))
}

/// Judges one directive.
pub(super) fn judge(difference: &Difference<'_, '_>, manifest: &Manifest) -> Option<Remark> {
    let ([line], Some(_)) = (difference.path, difference.after) else {
        return None;
    };
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "replace" => warn(MANIFEST_GO, "takes a module from elsewhere"),
        "toolchain" => warn(MANIFEST_GO, "chooses the toolchain that is fetched and run"),
        "use" if manifest.leads_out(rest) => {
            warn(MANIFEST_GO, "builds what lies outside the workspace")
        }
        "tool" => Some(Remark {
            severity: Note,
            code: MANIFEST_GO,
            reason: "has a program built and run by name",
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sus_32_directives_of_go() {
        let text = "module a.test/x // c\n\ngo 1.22\nreplace (\n\ta.test/y => ../y\n)\nreplace a.test/z v1 => b.test/z v2\n";
        let document = read(text).unwrap();
        let keys: Vec<_> = document
            .root
            .entries()
            .iter()
            .map(|(key, _)| &**key)
            .collect();
        assert_eq!(
            keys,
            [
                "go 1.22",
                "module a.test/x",
                "replace a.test/y => ../y",
                "replace a.test/z v1 => b.test/z v2"
            ]
        );
        assert!(read("replace (\n").is_err());
    }
}
