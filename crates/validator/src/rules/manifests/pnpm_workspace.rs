//! `pnpm-workspace.yaml`: which directories hold packages, the versions that they share, and
//! the settings of pnpm.

use super::{Difference, Manifest, Remark, block, package_json};
use crate::codes::MANIFEST_SETTING;
use crate::rules::structured::{Data, Document, Unreadable, Value, yaml};

/// Reads the one document that the file holds. One without any is an empty table.
pub(super) fn read(text: &str) -> Result<Document<'_>, Unreadable> {
    let Document { root, repeated } = yaml::read(text)?;
    let root = match root.data {
        Data::List(mut documents) if documents.len() < 2 => documents
            .pop()
            .unwrap_or_else(|| Value::new(0, Data::Table(Vec::new()))),
        _ => return Err(Unreadable::new("holds several documents")),
    };
    Ok(Document { root, repeated })
}

/// Judges one difference: a directory or a version is everyday work, and every other key is a
/// setting.
pub(super) fn judge(difference: &Difference<'_, '_>, manifest: &Manifest) -> Option<Remark> {
    match (difference.path, difference.after) {
        (["packages"], None) => None,
        (["packages"], Some(list)) => match is_inside(list, manifest) {
            true => None,
            false => block(
                MANIFEST_SETTING,
                "takes packages from outside of the workspace",
            ),
        },
        (["catalog", _] | ["catalogs", _, _], _) => package_json::dependency(difference),
        _ => block(MANIFEST_SETTING, "configures what pnpm installs or runs"),
    }
}

/// Returns true if a list names nothing but directories of the workspace.
fn is_inside(list: &Value<'_>, manifest: &Manifest) -> bool {
    let is_list = matches!(list.data, Data::List(_));
    let mut items = list.items().iter().map(|item| item.text());
    is_list
        && items.all(|item| {
            item.is_some_and(|path| !manifest.leads_out(path.strip_prefix('!').unwrap_or(path)))
        })
}
