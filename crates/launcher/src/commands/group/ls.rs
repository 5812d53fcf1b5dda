//! `lazaret group ls`.

use lazaret_tree::escape;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::groups::{Group, Groups};
use crate::ui::OutputFormat;

pub(super) fn run(app: &App) -> Result<ExitCode, Failure> {
    let groups = Groups::load(&app.env)?;
    let all: Vec<&Group> = groups.all().collect();
    match app.ui.format() {
        OutputFormat::Json => {
            let rows: Vec<Value> = all
                .iter()
                .map(|group| row(group))
                .collect::<Result<_, _>>()?;
            app.ui.json(&rows);
        }
        OutputFormat::Text if all.is_empty() => app.ui.status("there are no groups"),
        OutputFormat::Text => {
            let width = all.iter().map(|group| group.name.len()).max();
            let width = width.unwrap_or_default();
            for group in all {
                let place = match &group.folder {
                    Some(folder) => group.project.join(folder.as_str()),
                    None => group.project.clone(),
                };
                app.ui.result(&format!(
                    "{:<width$}  {:<6}  {}  {}",
                    group.name,
                    group.level.as_str(),
                    escape(group.profile.as_bytes()),
                    escape(place.as_os_str().as_encoded_bytes()),
                ));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what is known of a group.
pub(super) fn row(group: &Group) -> Result<Value, Failure> {
    let shared: Vec<&str> = group.shared.iter().map(|path| path.as_str()).collect();
    let extra = group.extra.iter();
    let extra = extra.map(|rule| {
        (
            rule.name.to_string(),
            json!(rule.path.display().to_string()),
        )
    });
    let extra: Map<String, Value> = extra.collect();
    Ok(json!({
        "group": group.name,
        "level": group.level.as_str(),
        "profile": group.profile,
        "project": group.project.display().to_string(),
        "folder": group.folder.as_ref().map(|folder| folder.as_str()),
        "shared": shared,
        "extra": extra,
        "chats": group.chats,
        "session": group.session()?.as_str(),
    }))
}
