//! Refs out of tables into files, which every git reads. Reflogs, which say what was fetched
//! from where, are part of the tables and stay behind.

use std::fs;

use lazaret_tree::{AtPath as _, RelPath};

use super::borrowed_repository::{BorrowedRepository, write};
use crate::failure::{Failure, FailureKind};

const FORMAT: &str = "--format=%(objectname) %(refname) %(symref)";

/// Makes `HEAD`, `packed-refs`, and a file for each ref that names another.
pub(super) fn make(borrowed: &BorrowedRepository<'_>) -> Result<(), Failure> {
    let made = borrowed.made();
    let refs = made.join("refs");
    fs::create_dir_all(&refs).at(&refs)?;
    let head = match borrowed.branch()? {
        Some(branch) => format!("ref: {branch}\n"),
        None => {
            let head = borrowed.git(&["rev-parse", "--verify", "HEAD"], "")?;
            head.text("read HEAD")? + "\n"
        }
    };
    write(&made.join("HEAD"), head.as_bytes())?;
    borrowed.turn_to_common()?;
    let listed = borrowed.git(&["for-each-ref", FORMAT], "")?;
    let mut packed = String::new();
    for line in listed.text("list the refs")?.lines() {
        let mut words = line.splitn(3, ' ');
        let (id, name) = (words.next(), words.next());
        let (Some(id), Some(name)) = (id, name) else {
            continue;
        };
        match words.next().filter(|target| !target.is_empty()) {
            None => packed.push_str(&format!("{id} {name}\n")),
            Some(target) => {
                // The name becomes a path.
                let name = RelPath::new(name)
                    .map_err(|error| Failure::new(FailureKind::Workspace, error))?;
                let path = made.join(name.as_str());
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).at(parent)?;
                }
                write(&path, format!("ref: {target}\n").as_bytes())?;
            }
        }
    }
    write(&made.join("packed-refs"), packed.as_bytes())
}
