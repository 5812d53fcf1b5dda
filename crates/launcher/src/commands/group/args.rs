//! What can be said of a group, and how it is written.

use std::path::{Path, PathBuf};

use lazaret_egress::AllowEntry;
use toml_edit::{Array, InlineTable, Item, Table, Value, value};

use crate::app::App;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::groups::Level;
use crate::profile::NetworkMode;

/// What is said of a group: each option replaces what was said before.
#[derive(Debug, clap::Args)]
pub(super) struct Settings {
    /// What it may do: `main` has the whole project, `member` its folder
    #[arg(long, value_name = "LEVEL")]
    level: Option<Level>,
    /// Profile, whose command answers
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Directory of the project
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Folder of the project that is the group's own
    #[arg(long, value_name = "PATH")]
    folder: Option<String>,
    /// Path of the project that it may read; repeatable
    #[arg(long, value_name = "PATH")]
    shared: Vec<String>,
    /// Directory of the host that it may read at /workspace/extra/NAME; repeatable
    #[arg(long = "extra", value_name = "NAME=DIR", value_parser = pair)]
    extra: Vec<(String, String)>,
    /// Chat that is its own; repeatable
    #[arg(long = "chat", value_name = "CHAT")]
    chats: Vec<String>,
    /// Limit of its own, such as timeout=10m or memory=1g; repeatable
    #[arg(long = "limit", value_name = "KEY=VALUE", value_parser = pair)]
    limits: Vec<(String, String)>,
    /// Network, which may only be tighter than the profile's
    #[arg(long, value_name = "MODE")]
    network: Option<NetworkMode>,
    /// Host that it may reach, of those of the profile; repeatable
    #[arg(long, value_name = "HOST[:PORT]", value_parser = AllowEntry::typed)]
    allow: Vec<AllowEntry>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("expected a name, `=` and a value")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl Settings {
    /// Checks that all is said that each group needs.
    pub(super) fn check_whole(&self) -> Result<(), Failure> {
        let needed = [
            ("--level", self.level.is_some()),
            ("--profile", self.profile.is_some()),
            ("--project", self.project.is_some()),
            (
                "--folder",
                self.folder.is_some() || self.level != Some(Level::Member),
            ),
        ];
        match needed.iter().find(|(_, is_there)| !is_there) {
            None => Ok(()),
            Some((option, _)) => {
                let text = format!("{option} is missing");
                Err(Failure::message(FailureKind::Usage, text).hinted(
                    "A group needs --level, --profile and --project, and a member its --folder.",
                ))
            }
        }
    }

    /// Writes what is said into a group's table.
    pub(super) fn write(&self, table: &mut Table, app: &App) -> Result<(), Failure> {
        if let Some(level) = self.level {
            table["level"] = value(level.as_str());
        }
        if let Some(profile) = &self.profile {
            table["profile"] = value(self::profile(profile, app)?);
        }
        if let Some(project) = &self.project {
            table["project"] = value(text(&real(project, app)?)?);
        }
        if let Some(folder) = &self.folder {
            table["folder"] = value(folder);
        }
        for (key, list) in [("shared", &self.shared), ("chats", &self.chats)] {
            if !list.is_empty() {
                table[key] = value(Array::from_iter(list));
            }
        }
        if !self.extra.is_empty() {
            table.remove("extra");
            for (name, dir) in &self.extra {
                let dir = text(&real(Path::new(dir), app)?)?;
                inner(table, "extra").insert(name, value(dir));
            }
        }
        for (key, text) in &self.limits {
            let number = text.parse::<i64>().map(Value::from);
            let number = number.or_else(|_| text.parse::<f64>().map(Value::from));
            let written = number.unwrap_or_else(|_| Value::from(text));
            inner(table, "limits").insert(key, Item::Value(written));
        }
        if let Some(mode) = self.network {
            inner(table, "network").insert("mode", value(mode.as_str()));
        }
        if !self.allow.is_empty() {
            let rules = self.allow.iter().flat_map(AllowEntry::rules);
            let rules = Array::from_iter(rules.map(String::from));
            inner(table, "network").insert("allow", value(rules));
        }
        Ok(())
    }
}

/// Returns a table in a group's, which is made inline if need be.
fn inner<'a>(table: &'a mut Table, key: &str) -> &'a mut dyn toml_edit::TableLike {
    let made = table
        .entry(key)
        .or_insert_with(|| Item::Value(Value::InlineTable(InlineTable::new())));
    if !made.is_table_like() {
        *made = Item::Value(Value::InlineTable(InlineTable::new()));
    }
    #[expect(clippy::unwrap_used, reason = "it was made one")]
    made.as_table_like_mut().unwrap()
}

/// Returns a profile as it can be found from everywhere.
fn profile(name: &str, app: &App) -> Result<String, Failure> {
    match name.contains('/') || name.ends_with(".toml") {
        true => text(&real(Path::new(name), app)?),
        false => Ok(name.to_owned()),
    }
}

fn real(path: &Path, app: &App) -> Result<PathBuf, Failure> {
    let path = app.env.cwd.join(path);
    std::fs::canonicalize(&path)
        .or_fail(FailureKind::Workspace, "a path of the group can't be used")
        .map_err(|failure| failure.context(path.display().to_string()))
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let text = format!("the path {} is not UTF-8", path.display());
        Failure::message(FailureKind::Usage, text)
    })
}
