//! `lazaret group add` and `lazaret group set`.

use toml_edit::{Item, Table};

use super::args::Settings;
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::groups::{Group, Groups, check_name, edit};
use crate::profile;

/// Make a group
///
/// It is checked as a whole: its folder is in no other group's, and its network is no looser than
/// the profile's.
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// Its name: 1 to 40 of a-z, 0-9 and -
    #[arg(value_name = "GROUP")]
    name: String,
    #[command(flatten)]
    settings: Settings,
}

/// Change a group: each option replaces what was said before
///
/// What its copy and home hold stays, so level, project and folder can be changed only without a
/// session.
#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// Group
    #[arg(value_name = "GROUP")]
    name: String,
    #[command(flatten)]
    settings: Settings,
    /// Key to remove, such as limits; repeatable
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
}

pub(super) fn add(args: &AddArgs, app: &App) -> Result<ExitCode, Failure> {
    let name = &args.name;
    check_name(name)?;
    args.settings.check_whole()?;
    if profile::load(name, &app.env).is_ok() {
        let text = format!("{name} is the name of a profile: `lazaret ask {name}` asks that");
        return Err(Failure::message(FailureKind::Refused, text));
    }
    let change = |groups: &mut Table, before: &Groups| {
        if before.get(name).is_ok() {
            let text = format!("there is a group {name} already");
            return Err(Failure::message(FailureKind::Refused, text)
                .hinted(format!("`lazaret group set {name} …` changes it.")));
        }
        let mut table = Table::new();
        args.settings.write(&mut table, app)?;
        groups.insert(name, Item::Table(table));
        Ok(())
    };
    edit(app, change, |after, _| {
        let group = after.get(name)?;
        group.refuse_with_session(&app.env)?;
        works(group, after, app)
    })?;
    app.ui.status(&format!("group {name} is there"));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn set(args: &SetArgs, app: &App) -> Result<ExitCode, Failure> {
    let name = &args.name;
    let change = |groups: &mut Table, before: &Groups| {
        before.get(name)?;
        let Some(table) = groups.get_mut(name).and_then(Item::as_table_mut) else {
            let text = format!("group {name} is written inline");
            return Err(Failure::message(FailureKind::Profile, text)
                .hinted(format!("Write it as a table of its own: [groups.{name}].")));
        };
        for key in &args.unset {
            if table.remove(key).is_none() {
                let text = format!("group {name} has no `{key}`");
                return Err(Failure::message(FailureKind::Refused, text));
            }
        }
        args.settings.write(table, app)
    };
    edit(app, change, |after, before| {
        let (new, old) = (after.get(name)?, before.get(name)?);
        let place = |group: &Group| {
            let folder = group.folder.clone();
            (group.level, group.project.clone(), folder)
        };
        if place(new) != place(old) {
            new.refuse_with_session(&app.env)?;
        }
        works(new, after, app)
    })?;
    app.ui.status(&format!(
        "group {name} is changed; a session that runs has its new profile, limits, network and \
         paths after it was stopped"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Checks that a group can be asked.
fn works(group: &Group, groups: &Groups, app: &App) -> Result<(), Failure> {
    let profile = groups.profile(group, &app.env)?;
    group.scope(profile, &app.env).map(drop)
}
