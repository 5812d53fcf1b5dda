//! `BorrowedRepository`: a repository that borrows another's objects and refs by name.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lazaret_commits::quarantine::bare_config;
use lazaret_transfer::{RefStorage, Repository, WorkspaceDir};
use lazaret_tree::{AtPath as _, PathError, RelPath};

use super::program::{Ended, Program};
use crate::failure::{Failure, FailureKind};
use lazaret_session::cancel::Cancel;

/// The most bytes of `HEAD`: a ref or an id.
const MOST_HEAD: u64 = 4096;
/// The most bytes of `shallow`: over a million commits.
const MOST_SHALLOW: u64 = 64 << 20;

/// The repository, and the directory in which what is made for the copy lies.
#[derive(Debug)]
pub(super) struct BorrowedRepository<'a> {
    dir: PathBuf,
    index: Option<PathBuf>,
    pub(super) repository: &'a Repository,
    program: &'a Program,
    cancel: &'a Cancel,
}

/// Where refs are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// `HEAD`, and what belongs to one worktree.
    Own,
    /// Branches and tags.
    Common,
}

impl<'a> BorrowedRepository<'a> {
    /// Builds it at `dir`.
    pub(super) fn build(
        dir: &Path,
        repository: &'a Repository,
        program: &'a Program,
        cancel: &'a Cancel,
    ) -> Result<Self, Failure> {
        let own = repository.own();
        let index = own.path().join("index");
        let borrower = Self {
            dir: dir.to_owned(),
            index: is_file(&index).then_some(index),
            repository,
            program,
            cancel,
        };
        for part in ["objects/info", "objects/pack", "borrowed/pack", "made"] {
            let path = dir.join(part);
            fs::create_dir_all(&path).at(&path)?;
        }
        let borrowed = dir.join("borrowed");
        write(
            &dir.join("objects/info/alternates"),
            &[borrowed.as_os_str().as_encoded_bytes(), b"\n"].concat(),
        )?;
        write(
            &dir.join("config"),
            bare_config(repository, repository.refs()).as_bytes(),
        )?;
        objects(&repository.common().path().join("objects"), &borrowed)?;
        for entry in fs::read_dir(own.path()).at(own.path())?.flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b"sharedindex.") {
                link(&entry.path(), &dir.join(name))?;
            }
        }
        borrower.copy(own, "HEAD", MOST_HEAD)?;
        if repository.common().path().join("shallow").exists() {
            borrower.copy(repository.common(), "shallow", MOST_SHALLOW)?;
        }
        borrower.side(match repository.refs() {
            RefStorage::Files => Side::Common,
            RefStorage::Tables => Side::Own,
        })?;
        Ok(borrower)
    }

    /// The repository itself.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where what is made for the copy lies.
    pub(super) fn made(&self) -> PathBuf {
        self.dir.join("made")
    }

    /// Runs git in it.
    pub(super) fn git(&self, arguments: &[&str], stdin: &str) -> Result<Ended, Failure> {
        let index = self.index.as_deref();
        let ended = self
            .program
            .run(&self.dir, index, arguments, stdin, self.cancel)?;
        Ok(ended)
    }

    /// Returns the branch that `HEAD` names, unless it is detached.
    pub(super) fn branch(&self) -> Result<Option<String>, Failure> {
        let asked = self.git(&["symbolic-ref", "--quiet", "HEAD"], "")?;
        match asked.code {
            Some(1) => Ok(None),
            _ => Ok(Some(asked.text("read HEAD")?)),
        }
    }

    /// Turns from the worktree's refs to those of the repository.
    pub(super) fn turn_to_common(&self) -> Result<(), Failure> {
        match self.repository.refs() {
            RefStorage::Files => Ok(()),
            RefStorage::Tables => self.side(Side::Common),
        }
    }

    /// Copies a small file of the repository, at most `most` bytes of it.
    fn copy(&self, from: &WorkspaceDir, name: &str, most: u64) -> Result<(), Failure> {
        let broken = |error: PathError| {
            Failure::new(FailureKind::Workspace, error).context(format!("the repository's {name}"))
        };
        let path = RelPath::new(name)
            .map_err(|error| Failure::new(FailureKind::Internal, error).context(name.to_owned()))?;
        let mut file = from.open_file(path).map_err(broken)?;
        let path = self.dir.join(name);
        let mut copy = fs::File::create(&path).at(&path)?;
        io::copy(&mut io::Read::take(&mut file, most), &mut copy).at(&path)?;
        Ok(())
    }

    /// Links refs. Git reads `HEAD` of tables out of those of the worktree.
    fn side(&self, side: Side) -> Result<(), Failure> {
        let repository = self.repository;
        match repository.refs() {
            RefStorage::Files => {
                let common = repository.common().path();
                link(&common.join("refs"), &self.dir.join("refs"))?;
                if is_file(&common.join("packed-refs")) {
                    link(&common.join("packed-refs"), &self.dir.join("packed-refs"))?;
                }
            }
            RefStorage::Tables => {
                let from = match side {
                    Side::Own => repository.own().path(),
                    Side::Common => repository.common().path(),
                };
                let tables = self.dir.join("reftable");
                if fs::symlink_metadata(&tables).is_ok() {
                    fs::remove_file(&tables).at(&tables)?;
                }
                link(&from.join("reftable"), &tables)?;
                let refs = self.dir.join("refs");
                fs::create_dir_all(&refs).at(&refs)?;
            }
        }
        Ok(())
    }
}

/// Links packs and directories of loose objects, less what is a link itself: that could lead
/// to the objects of any project. `info` is not linked, so neither are alternates.
fn objects(from: &Path, to: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(from).at(from)?.flatten() {
        let name = entry.file_name();
        let is_loose = name.len() == 2 && name.as_encoded_bytes().is_ascii();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_dir {
            continue;
        }
        if name == "pack" {
            for pack in fs::read_dir(entry.path()).at(entry.path())?.flatten() {
                if pack.file_type().is_ok_and(|kind| kind.is_file()) {
                    link(&pack.path(), &to.join("pack").join(pack.file_name()))?;
                }
            }
        } else if is_loose && all_files(&entry.path()) {
            link(&entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}

fn all_files(dir: &Path) -> bool {
    let is_file = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
    };
    fs::read_dir(dir).is_ok_and(|mut entries| entries.all(is_file))
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn link(to: &Path, at: &Path) -> Result<(), PathError> {
    symlink(to, at).at(at)
}

pub(super) fn write(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    Ok(fs::write(path, contents).at(path)?)
}
