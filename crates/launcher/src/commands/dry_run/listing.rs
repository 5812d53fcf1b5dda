//! What stays out, by reason.

use std::cmp::Reverse;

use lazaret_transfer::{SizeEstimate, SkipReason};

/// One thing that stays out.
#[derive(Debug)]
pub(super) struct Left {
    /// Escaped.
    pub(super) name: String,
    pub(super) reason: SkipReason,
    /// `None` when it was not counted.
    pub(super) weight: Option<SizeEstimate>,
}

/// All that stays out for one reason, heaviest first.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) code: &'static str,
    pub(super) reason: String,
    pub(super) left: Vec<Left>,
    /// Of what was counted.
    pub(super) weight: SizeEstimate,
    pub(super) not_counted: usize,
}

impl Group {
    /// Whether it stays out as a secret: each of those is named.
    pub(super) fn is_secret(&self) -> bool {
        matches!(self.code, "skip.secret" | "skip.private_key")
    }
}

/// Sorts by reason, then by weight; what was not counted comes first, since it may be large.
pub(super) fn groups(left: Vec<Left>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for left in left {
        let reason = left.reason.to_string();
        let group = match groups.iter_mut().find(|group| group.reason == reason) {
            Some(group) => group,
            None => {
                groups.push(Group {
                    code: left.reason.code(),
                    reason,
                    left: Vec::new(),
                    weight: SizeEstimate::default(),
                    not_counted: 0,
                });
                let last = groups.len() - 1;
                &mut groups[last]
            }
        };
        match left.weight {
            Some(weight) => {
                group.weight.entries += weight.entries;
                group.weight.bytes += weight.bytes;
            }
            None => group.not_counted += 1,
        }
        group.left.push(left);
    }
    for group in &mut groups {
        group
            .left
            .sort_by_key(|left| Reverse(left.weight.map_or(u64::MAX, |weight| weight.bytes)));
    }
    groups.sort_by_key(|group| Reverse(group.weight.bytes));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_comes_first_and_what_was_not_counted_before_it() {
        let left = |name: &str, reason, bytes: Option<u64>| Left {
            name: name.to_owned(),
            reason,
            weight: bytes.map(|bytes| SizeEstimate { entries: 1, bytes }),
        };
        let groups = groups(vec![
            left("a", SkipReason::GitIgnore, Some(1)),
            left("b", SkipReason::Cache, Some(5)),
            left("c", SkipReason::GitIgnore, None),
            left("d", SkipReason::GitIgnore, Some(3)),
        ]);
        let shown: Vec<String> = groups
            .iter()
            .map(|group| {
                let names: Vec<&str> = group.left.iter().map(|left| &*left.name).collect();
                let (bytes, unknown) = (group.weight.bytes, group.not_counted);
                format!("{} {bytes} {unknown} {}", group.code, names.join(" "))
            })
            .collect();
        assert_eq!(shown, ["skip.cache 5 0 b", "skip.gitignore 4 1 c d a"]);
    }
}
