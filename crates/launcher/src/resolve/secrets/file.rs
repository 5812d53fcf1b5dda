//! A secret in a file.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use zeroize::Zeroizing;

use super::source::{LARGEST_SECRET, missing};
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail as _};

/// Reads a file that belongs to the user, that no other user can read, and that is no larger
/// than a secret.
pub(crate) fn read(path: &Path, env: &Environment) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let path = match path.strip_prefix("~") {
        Ok(below) => env.home()?.join(below),
        Err(_absolute) => path.to_owned(),
    };
    let shown = path.display();
    // What is no file, such as a pipe without a writer, must not delay the start.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::open(&path, flags, Mode::empty());
    let file = opened.or_fail(
        FailureKind::Secret,
        &format!("the file {shown} can't be read"),
    )?;
    let file = File::from(file);
    let metadata = file.metadata();
    let metadata = metadata.or_fail(FailureKind::Secret, &format!("{shown} can't be looked at"))?;
    if !metadata.is_file() {
        return Err(missing(format!("{shown} is no file")));
    }
    // Root's may be there for the user to read.
    if metadata.uid() != env.uid && metadata.uid() != 0 {
        let text = format!("{shown} belongs to another user, who can change it");
        return Err(missing(text).hinted("Copy it to a file of your own, with mode 600."));
    }
    if metadata.mode() & 0o077 != 0 {
        let text = format!(
            "{shown} can be read or written by others (mode {:03o})",
            metadata.mode() & 0o777
        );
        return Err(missing(text).hinted(format!("Run `chmod 600 {shown}`.")));
    }
    // Room for all of it: a buffer that grows leaves copies behind.
    let mut value = Zeroizing::new(Vec::with_capacity(LARGEST_SECRET + 1));
    let read = file.take(LARGEST_SECRET as u64 + 1).read_to_end(&mut value);
    let _count = read.or_fail(FailureKind::Secret, &format!("{shown} can't be read"))?;
    match value.len() > LARGEST_SECRET {
        true => Err(missing(format!("{shown} is larger than a secret can be"))),
        false => Ok(value),
    }
}
