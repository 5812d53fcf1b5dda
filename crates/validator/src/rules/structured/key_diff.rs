//! `differences`: where two documents hold something else, key by key.

use std::collections::HashMap;

use super::{Data, Value};

/// One place where two documents differ.
pub(crate) struct Difference<'d, 'a> {
    /// The keys that lead there; lists are compared whole.
    pub(crate) path: &'d [&'d str],
    pub(crate) before: Option<&'d Value<'a>>,
    pub(crate) after: Option<&'d Value<'a>>,
}

/// Calls `visit` with each difference. A key that stands twice is compared twice.
pub(crate) fn differences<'d, 'a>(
    before: Option<&'d Value<'a>>,
    after: Option<&'d Value<'a>>,
    visit: &mut dyn FnMut(&Difference<'_, 'a>),
) {
    walk(&mut Vec::new(), before, after, visit);
}

/// The readers bound the depth, and so the recursion.
fn walk<'d, 'a>(
    path: &mut Vec<&'d str>,
    before: Option<&'d Value<'a>>,
    after: Option<&'d Value<'a>>,
    visit: &mut dyn FnMut(&Difference<'_, 'a>),
) {
    let is_table =
        |side: Option<&Value<'_>>| side.is_none_or(|value| matches!(value.data, Data::Table(_)));
    if !is_table(before) || !is_table(after) {
        if before != after {
            visit(&Difference {
                path,
                before,
                after,
            });
        }
        return;
    }
    let before = before.map_or(&[][..], |table| table.entries());
    let after = after.map_or(&[][..], |table| table.entries());
    let by_key = |entries: &'d [(_, Value<'a>)]| -> HashMap<&'d str, &'d Value<'a>> {
        entries
            .iter()
            .map(|(key, value): &(std::borrow::Cow<'a, str>, _)| (&**key, value))
            .collect()
    };
    let (old, new) = (by_key(before), by_key(after));
    for (key, value) in after {
        path.push(key);
        walk(path, old.get(&**key).copied(), Some(value), visit);
        path.pop();
    }
    for (key, value) in before {
        if !new.contains_key(&**key) {
            path.push(key);
            walk(path, Some(value), None, visit);
            path.pop();
        }
    }
}
