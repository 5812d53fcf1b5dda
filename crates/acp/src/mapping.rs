//! Maps paths and links in the known places of a message, never in texts.

use serde_json::{Value, json};

use crate::paths::Paths;
use crate::uri::{Target, of_path};

/// Maps the links of a prompt for the agent.
///
/// # Errors
/// Returns the link that leads out of the workspace.
pub(crate) fn prompt(
    params: &mut Value,
    inside: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    let blocks = params.get_mut("prompt").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        for uri in uris(block) {
            let mapped = match Target::of(uri) {
                Target::Other => continue,
                Target::Unmappable => None,
                Target::File { path, rest } => inside(&path).map(|path| of_path(&path, &rest)),
            };
            *uri = mapped.ok_or_else(|| uri.clone())?;
        }
    }
    Ok(())
}

/// The links of a content block.
fn uris(block: &mut Value) -> Vec<&mut String> {
    let mut found = Vec::new();
    for (key, value) in block.as_object_mut().into_iter().flatten() {
        match (key.as_str(), value) {
            ("uri", Value::String(uri)) => found.push(uri),
            ("resource", resource) => {
                if let Some(Value::String(uri)) = resource.get_mut("uri") {
                    found.push(uri);
                }
            }
            _ => {}
        }
    }
    found
}

/// Maps what the agent tells of its work, for the editor: an update, or a tool call that it asks
/// about. What names a file outside of the workspace names one that the editor's machine may have
/// too, and another one: it goes, and a text says so.
pub(crate) fn update(update: &mut Value, paths: &Paths) {
    match update.get_mut("content") {
        Some(Value::Array(items)) => items.iter_mut().for_each(|item| content(item, paths)),
        Some(item) => content(item, paths),
        None => {}
    }
    if let Some(locations) = update.get_mut("locations").and_then(Value::as_array_mut) {
        locations.retain_mut(|location| match location.get_mut("path") {
            Some(Value::String(path)) => map_path(path, paths),
            _ => true,
        });
    }
}

/// Maps a content block, or an item of a tool call's content.
fn content(item: &mut Value, paths: &Paths) {
    if let Some(block) = item.get_mut("content") {
        block_of(block, paths);
    }
    if let Some(Value::String(path)) = item.get_mut("path")
        && !map_path(path, paths)
    {
        let text = format!("{path:?} lies outside of the workspace: its change is not shown.");
        *item = json!({ "type": "content", "content": { "type": "text", "text": text } });
        return;
    }
    block_of(item, paths);
}

fn block_of(block: &mut Value, paths: &Paths) {
    let outside = uris(block).into_iter().find_map(|uri| {
        let mapped = match Target::of(uri) {
            Target::Other => return None,
            Target::Unmappable => None,
            Target::File { path, rest } => paths.to_host(&path).map(|path| of_path(&path, &rest)),
        };
        match mapped {
            Some(mapped) => {
                *uri = mapped;
                None
            }
            None => Some(format!("{uri:?} is a file outside of the workspace.")),
        }
    });
    if let Some(text) = outside {
        *block = json!({ "type": "text", "text": text });
    }
}

/// Maps a path of the agent's. Returns false if it lies outside of the workspace. A relative one is
/// one of the workspace, for the editor too.
fn map_path(path: &mut String, paths: &Paths) -> bool {
    let is_relative = !path.starts_with(['/', '\\', '~']) && !path.contains(':');
    if is_relative {
        return !path.split(['/', '\\']).any(|part| part == "..");
    }
    match paths.to_host(path) {
        Some(mapped) => {
            *path = mapped;
            true
        }
        None => false,
    }
}

/// Maps the directories of the sessions that the agent lists. Those elsewhere are left out.
pub(crate) fn sessions(result: &mut Value, paths: &Paths) {
    let map = |dir: &mut Value| match dir {
        Value::String(path) => match paths.to_host(path) {
            Some(mapped) => {
                *path = mapped;
                true
            }
            None => false,
        },
        _ => true,
    };
    let sessions = result.get_mut("sessions").and_then(Value::as_array_mut);
    if let Some(sessions) = sessions {
        sessions.retain_mut(|session| {
            let more = session.get_mut("additionalDirectories");
            if let Some(more) = more.and_then(Value::as_array_mut) {
                more.retain_mut(map);
            }
            session.get_mut("cwd").is_none_or(map)
        });
    }
}
