//! `adopt`: puts the packs of a quarantine beside the user's as they are.
//!
//! A pack was indexed and checked by `index-pack --strict` already, so a second copy by
//! `git fetch` would only repeat that. It is taken as it is if nothing in it is left out: one
//! walk from what is landed must meet every new object of it, and miss none.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use lazaret_transfer::ObjectId;

use crate::git::IsCancelled;
use crate::linked::LinkedRepository;
use crate::quarantine::Quarantine;

/// Puts the packs of `quarantine` into the user's repository if they hold `wanted`, with what it
/// reaches, and nothing else that is new. Returns false if they don't, or the disk refuses: then
/// the user's repository is as it was, but for a pack that nothing names.
pub(crate) fn adopt(
    quarantine: &Quarantine,
    linked: &LinkedRepository,
    wanted: &[ObjectId],
    is_cancelled: IsCancelled<'_>,
) -> bool {
    let Some(packs) = quarantine.sound_packs() else {
        return false;
    };
    let Some(reached) = reached(quarantine, linked, wanted, is_cancelled) else {
        return false;
    };
    if !quarantine.is_within(&reached) {
        return false;
    }
    let to = linked.dir().join("objects/pack");
    let put = || {
        fs::create_dir_all(&to)?;
        packs.iter().try_for_each(|pack| put(pack, &to))?;
        File::open(&to)?.sync_all()
    };
    put().is_ok()
}

/// Lists what is reached and no ref of the user's reaches; `None` if an object is missing.
fn reached(
    quarantine: &Quarantine,
    linked: &LinkedRepository,
    wanted: &[ObjectId],
    is_cancelled: IsCancelled<'_>,
) -> Option<HashSet<ObjectId>> {
    let known = linked.known(&[], is_cancelled).ok()?;
    let known = known.iter().map(|id| format!("^{id}\n"));
    let asked: String = wanted
        .iter()
        .map(|id| format!("{id}\n"))
        .chain(known)
        .collect();
    let list = ["rev-list", "--objects", "--no-object-names", "--stdin"];
    let call = quarantine.git().call(quarantine.dir(), &list);
    let listed = call.run(&mut asked.as_bytes(), is_cancelled).ok()?;
    let listed = listed.text("list what is landed").ok()?;
    let ids = listed
        .lines()
        .map(|line| ObjectId::from_hex(line.as_bytes()));
    ids.collect()
}

/// Puts one pack and its index into a directory. Git sees it once its index is there.
fn put(pack: &Path, to: &Path) -> io::Result<()> {
    for file in [pack.to_owned(), pack.with_extension("idx")] {
        let name = file.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let target = to.join(name);
        match fs::hard_link(&file, &target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => copy(&file, &target)?,
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Copies a file to another file system; what is cut off has no name that git looks at.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let dir = to.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut staged = tempfile::Builder::new()
        .prefix("tmp_pack_")
        .tempfile_in(dir)?;
    io::copy(&mut File::open(from)?, &mut staged)?;
    let permissions = fs::metadata(from)?.permissions();
    staged.as_file().set_permissions(permissions)?;
    staged.as_file().sync_all()?;
    match staged.persist_noclobber(to) {
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        persisted => persisted.map(drop).map_err(|error| error.error),
    }
}
