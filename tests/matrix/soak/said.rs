//! What a session's command said: read from what clients saw and from the logs of its starts.

use std::collections::{BTreeMap, BTreeSet};

/// What was said to be safe, and how far each start has counted.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The last number of each start.
    pub(super) counted: BTreeMap<String, u64>,
    /// Digests by the names of files.
    pub(super) files: BTreeMap<String, String>,
    pub(super) rows: BTreeSet<String>,
    pub(super) commits: BTreeSet<String>,
}

impl Said {
    /// Reads what a client saw. A terminal shows the same more than once, so only the highest
    /// number of each start counts.
    pub(super) fn seen(&mut self, screen: &str) {
        for words in said(screen) {
            match words[..] {
                ["line", start, number] => {
                    let last = self.counted.entry(start.to_owned()).or_default();
                    *last = (*last).max(number.parse().unwrap_or_default());
                }
                _ => self.acknowledged(&words),
            }
        }
    }

    /// Reads the log of a start.
    ///
    /// # Errors
    /// A number that is missing, is there twice or comes too early.
    pub(super) fn logged(&mut self, log: &str) -> Result<(), String> {
        for words in said(log) {
            match words[..] {
                ["line", start, number] => {
                    let last = self.counted.entry(start.to_owned()).or_default();
                    match number.parse() {
                        Ok(next) if next == *last + 1 => *last = next,
                        _ => return Err(format!("start {start} said {number} after {last}")),
                    }
                }
                _ => self.acknowledged(&words),
            }
        }
        Ok(())
    }

    fn acknowledged(&mut self, words: &[&str]) {
        match words {
            ["file", name, digest] => {
                self.files.insert((*name).to_owned(), (*digest).to_owned());
            }
            ["row", id] => {
                self.rows.insert((*id).to_owned());
            }
            ["commit", hash] => {
                self.commits.insert((*hash).to_owned());
            }
            _ => {}
        }
    }

    /// Checks that all that another has heard is here.
    ///
    /// # Errors
    /// With the first thing that is not.
    pub(super) fn holds(&self, heard: &Self) -> Result<(), String> {
        for (start, seen) in &heard.counted {
            let logged = self.counted.get(start).copied().unwrap_or_default();
            if logged < *seen {
                return Err(format!(
                    "a client saw line {seen} of start {start}, and its log ends at {logged}"
                ));
            }
        }
        let has_all =
            self.rows.is_superset(&heard.rows) && self.commits.is_superset(&heard.commits);
        match has_all {
            true => Ok(()),
            false => Err(format!(
                "a client heard more than is in the logs: {heard:?}"
            )),
        }
    }
}

/// The whole lines in a stream, as words; a line begins where its first word does, since a
/// terminal's may begin with a sequence that moves the cursor.
fn said(stream: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = stream.split_inclusive('\n');
    lines.filter_map(|line| {
        let line = line.strip_suffix('\n')?.trim_end_matches('\r');
        let begins = ["line ", "file ", "row ", "commit "];
        let begin = begins.iter().filter_map(|word| line.find(word)).min()?;
        let words: Vec<&str> = line[begin..].split(' ').collect();
        let are_plain = words
            .iter()
            .all(|word| word.bytes().all(|byte| byte.is_ascii_graphic()));
        are_plain.then_some(words)
    })
}
