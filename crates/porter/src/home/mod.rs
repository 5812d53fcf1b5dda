//! `porter home HOME`: tells what settings and programs a home holds, and puts others in their
//! place.
//!
//! It runs as the agent, while nothing of the agent's runs. Whatever lies there is hostile: links
//! are never followed, nothing but regular files is opened, and everything is bounded. What can't
//! be listed within the bounds is told as a whole, as the directory that holds it.

mod find;
mod put;

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use lazaret_protocol::{HomeOrders, HomeRequest, RecordError};
use lazaret_tree::{RelPathBuf, escape};
use rustix::fs::CWD;
use rustix::io::Errno;

use crate::files::empty::Rights;
use crate::files::root;

/// Why a home is not as it was ordered.
#[derive(Debug, thiserror::Error)]
enum HomeError {
    #[error("cannot open the home: {0}")]
    Home(#[source] io::Error),
    #[error("~/{}: {source}", escape(.path.as_str().as_bytes()))]
    Entry { path: RelPathBuf, source: io::Error },
    #[error("more settings and programs than are read")]
    TooMany,
    #[error(transparent)]
    Message(#[from] RecordError),
    #[error(transparent)]
    Pipe(#[from] io::Error),
}

impl HomeError {
    fn at(path: &lazaret_tree::RelPath) -> impl Fn(Errno) -> Self + use<> {
        let path = path.to_owned();
        move |errno| Self::Entry {
            path: path.clone(),
            source: errno.into(),
        }
    }
}

/// Runs the verb.
pub(crate) fn run(home: &str) -> ExitCode {
    crate::exit_with("home", act(home))
}

fn act(home: &str) -> Result<(), HomeError> {
    let mut stdin = root::stdin()?;
    let HomeRequest(patterns) = HomeRequest::read_from(&mut stdin)?;
    let top = open(home)?;
    let found = find::find(&top, &patterns)?;
    let mut stdout = root::stdout()?;
    found.write_to(&mut stdout)?;
    let HomeOrders(orders) = HomeOrders::read_from(&mut stdin)?;
    for (path, order) in orders {
        put::put(&top, &path, order)?;
    }
    Ok(())
}

fn open(home: &str) -> Result<OwnedFd, HomeError> {
    let path =
        CString::new(home).map_err(|_| HomeError::Home(io::ErrorKind::InvalidInput.into()))?;
    let opened = Rights::Owned.open(CWD, &path);
    opened.map_err(|errno| HomeError::Home(errno.into()))
}
