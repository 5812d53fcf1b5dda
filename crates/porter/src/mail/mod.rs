//! `porter mail HOME MOST`: tells what lies in a group's mailbox, and removes of it what the host
//! has stored.
//!
//! It runs beside the command, as the command's own user: it can do nothing that the command could
//! not. Whatever lies there is hostile: links are never followed, nothing but regular files is
//! opened, and of a box with any number of files only the first ones by name are kept in mind.

mod boxes;
mod put;

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use lazaret_protocol::{MailFound, MailOrders, OutBox, RecordError};
use lazaret_tree::escape;
use rustix::fs::CWD;
use rustix::io::Errno;

use crate::files::root;

/// Why a mailbox can't be read or emptied.
#[derive(Debug, thiserror::Error)]
enum MailError {
    #[error("cannot open {}: {source}", escape(.name.as_bytes()))]
    Directory { name: String, source: io::Error },
    #[error("cannot remove {}: {source}", escape(.name))]
    Remove { name: Vec<u8>, source: io::Error },
    #[error("cannot write {name}: {source}")]
    Put {
        name: &'static str,
        source: io::Error,
    },
    #[error(transparent)]
    Message(#[from] RecordError),
    #[error(transparent)]
    Pipe(#[from] io::Error),
}

/// Runs the verb.
pub(crate) fn run(home: &str, most: usize) -> ExitCode {
    crate::exit_with("mail", act(home, most))
}

fn act(home: &str, most: usize) -> Result<(), MailError> {
    let failed = |name: &'static str| {
        move |errno: Errno| MailError::Directory {
            name: name.to_owned(),
            source: errno.into(),
        }
    };
    let path =
        CString::new(OsStr::new(home).as_bytes()).map_err(|_| failed("the home")(Errno::INVAL))?;
    let home = root::open_dir(CWD, &path).map_err(failed("the home"))?;
    let mail = boxes::dir(&home, c"mail").map_err(failed("mail"))?;
    let out = boxes::dir(&mail, c"out").map_err(failed("mail/out"))?;
    let into = boxes::dir(&mail, c"in").map_err(failed("mail/in"))?;
    let messages = boxes::dir(&out, c"messages").map_err(failed("mail/out/messages"))?;
    let tasks = boxes::dir(&out, c"tasks").map_err(failed("mail/out/tasks"))?;
    let boxes = [(OutBox::Messages, messages), (OutBox::Tasks, tasks)];

    let mut found = Vec::new();
    for (out_box, dir) in &boxes {
        let left = most - found.len();
        let some = boxes::look(*out_box, dir, left);
        found.extend(some.map_err(failed("a box of the mail"))?);
    }
    let mut stdout = root::stdout()?;
    MailFound(found).write_to(&mut stdout)?;

    let orders = MailOrders::read_from(&mut root::stdin()?)?;
    for (file, contents) in &orders.put {
        put::put(&into, *file, contents)?;
    }
    for id in &orders.remove {
        let dir = boxes.iter().find(|(out_box, _)| *out_box == id.out_box);
        if let Some((_, dir)) = dir {
            boxes::remove(dir, id).map_err(|errno| MailError::Remove {
                name: id.name.clone(),
                source: errno.into(),
            })?;
        }
    }
    // What is told to be removed stays removed, also after a power cut.
    for (_, dir) in &boxes {
        rustix::fs::fsync(dir).map_err(failed("a box of the mail"))?;
    }
    Ok(())
}
