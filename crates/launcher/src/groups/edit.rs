//! Changes the file: under a lock, whole or not at all, with the user's comments.

use std::path::PathBuf;
use std::time::Duration;

use lazaret_session::store::file::{private_dir, write_atomically};
use lazaret_session::store::file_lock::take_lock;
use toml_edit::{DocumentMut, Table};

use super::Groups;
use super::file::{FILE, is_name, read};
use crate::app::App;
use crate::failure::{Failure, FailureKind, OrFail as _};

/// How soon to try again while another process changes the file.
const AGAIN: Duration = Duration::from_millis(20);

/// Changes the tables of the groups, by name. What comes of it is checked before it is written;
/// `check` sees it, and the groups as they were.
///
/// # Errors
/// What `change` or `check` says, or what is wrong with the file. It is as it was then.
pub fn edit(
    app: &App,
    change: impl FnOnce(&mut Table, &Groups) -> Result<(), Failure>,
    check: impl FnOnce(&Groups, &Groups) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let config = app.env.config_dir()?;
    let broken = "the groups can't be changed";
    private_dir(&config).or_fail(FailureKind::State, broken)?;
    let lock: PathBuf = config.join("groups.lock");
    let _lock = loop {
        match take_lock(&lock).or_fail(FailureKind::State, broken)? {
            Some(lock) => break lock,
            None => app
                .cancel
                .sleep(AGAIN)
                .map_err(|_| Failure::message(FailureKind::Interrupted, "interrupted"))?,
        }
    };
    let path = config.join(FILE);
    let shown = path.display().to_string();
    let text = read(&path)?;
    let before = Groups::parse(&shown, text.clone(), &app.env)?;
    let mut document: DocumentMut = text.parse().or_fail(FailureKind::Profile, broken)?;
    let groups = document.entry("groups").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        toml_edit::Item::Table(table)
    });
    let Some(groups) = groups.as_table_mut() else {
        let text = format!("{shown}: `groups` is written inline");
        return Err(Failure::message(FailureKind::Profile, text)
            .hinted("Write each group as a table of its own: [groups.NAME]."));
    };
    change(groups, &before)?;
    let after = document.to_string();
    // A line of it is looked for in vain in the file.
    let unwritten = format!("{shown} (not written)");
    let changed = Groups::parse(&unwritten, after.clone(), &app.env)?;
    check(&changed, &before)?;
    write_atomically(&path, after.as_bytes()).or_fail(FailureKind::State, broken)
}

/// Refuses a name that no group can have.
///
/// # Errors
/// The name is none.
pub fn check_name(name: &str) -> Result<(), Failure> {
    match is_name(name) {
        true => Ok(()),
        false => {
            let text = format!("{name:?} can't be the name of a group");
            Err(Failure::message(FailureKind::Usage, text)
                .hinted("A name has 1 to 40 of a-z, 0-9 and `-`, and is not \"ack\"."))
        }
    }
}
