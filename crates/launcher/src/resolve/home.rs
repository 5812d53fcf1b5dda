//! The home of a profile: files of the user's that go into it.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;

use lazaret_session::home::{HomeSpec, SeedFile};
use lazaret_tree::{RelPath, escape};
use rustix::fs::{Mode, OFlags};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::profile::{HomeKeep, HomeRules};

/// The most bytes of one file: settings have a few thousand.
const LARGEST: u64 = 1 << 20;

/// Reads the files that go into a kept home; `None` if the home is not kept.
///
/// # Errors
/// Says which file can't be had, and why.
pub fn resolve(rules: &HomeRules, env: &Environment) -> Result<Option<HomeSpec>, Failure> {
    if rules.keep == HomeKeep::None {
        return Ok(None);
    }
    let seed = rules.seed.iter().map(|path| read(path, env));
    Ok(Some(HomeSpec {
        seed: seed.collect::<Result<_, _>>()?,
        memory: rules.memory.clone(),
    }))
}

fn read(path: &RelPath, env: &Environment) -> Result<SeedFile, Failure> {
    let shown = escape(path.as_str().as_bytes());
    let wrong = |what: &str| {
        let text = format!("cannot copy ~/{shown} into the home: {what}");
        Failure::message(FailureKind::Profile, text)
            .hinted("`home.seed` of the profile names it: create it, or take the entry out.")
    };
    let own = env.home()?.join(path.as_str());
    // What is no file, such as a pipe without a writer, must not delay the start.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::open(&own, flags, Mode::empty());
    let file = File::from(opened.map_err(|errno| wrong(&errno.to_string()))?);
    let found = file
        .metadata()
        .or_fail(FailureKind::Profile, &format!("cannot read ~/{shown}"))?;
    if !found.is_file() {
        return Err(wrong("it is no file"));
    }
    if found.uid() != env.uid && found.uid() != 0 {
        return Err(wrong("it belongs to another user"));
    }
    let mut contents = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut contents);
    read.or_fail(FailureKind::Profile, &format!("cannot read ~/{shown}"))?;
    if contents.len() as u64 > LARGEST {
        return Err(wrong("it is larger than 1 MiB"));
    }
    Ok(SeedFile {
        path: path.to_owned(),
        contents,
    })
}
