//! `Quarantine`: a bare repository of ours that takes a pack in (GIT-20).
//!
//! It borrows the user's objects through `objects/info/alternates`, so what the user has already
//! is found and never sent. Nothing is ever written to the user's repository from here.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use lazaret_transfer::{ObjectId, RefStorage, Repository};
use lazaret_tree::{AtPath as _, PathError};

use crate::git::{Git, GitError, IsCancelled};
use crate::limits::{MAX_OBJECTS, MAX_PACK_BYTES, ProcessLimits};
use crate::objects::ObjectReader;

/// The head of a pack: `PACK`, a version, and the number of objects (gitformat-pack).
const HEAD_BYTES: usize = 12;

/// Why a pack is not taken in.
#[derive(Debug, thiserror::Error)]
pub enum QuarantineError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The source of the pack, or the disk that it goes to, failed.
    #[error("the pack can't be taken in")]
    Source(#[source] io::Error),
    /// Git failed, or refuses the pack.
    #[error(transparent)]
    Git(#[from] GitError),
    /// It is too large.
    #[error("the pack is larger than {MAX_PACK_BYTES} bytes")]
    TooLarge,
    /// It has too many objects.
    #[error("the pack has {0} objects; at most {MAX_OBJECTS} are taken")]
    ManyObjects(u32),
    /// It ends before its head does, or is none.
    #[error("what came is no pack")]
    NoPack,
}

/// The repository, and what is new in it.
#[derive(Debug)]
pub struct Quarantine {
    git: Git,
    dir: PathBuf,
    /// The user's objects.
    borrowed: PathBuf,
    is_sha256: bool,
    new: HashSet<ObjectId>,
}

impl Quarantine {
    /// Makes one in `dir`, which it empties, beside the user's repository.
    ///
    /// # Errors
    /// The disk's.
    pub fn create(git: Git, dir: &Path, repository: &Repository) -> Result<Self, QuarantineError> {
        match fs::remove_dir_all(dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).at(dir)?,
            _ => {}
        }
        for part in ["objects/info", "objects/pack", "refs"] {
            let path = dir.join(part);
            fs::create_dir_all(&path).at(&path)?;
        }
        let borrowed = repository.common().path().join("objects");
        let quarantine = Self {
            git,
            dir: dir.to_owned(),
            borrowed,
            is_sha256: repository.is_sha256(),
            new: HashSet::new(),
        };
        let alternates = [quarantine.borrowed.as_os_str().as_encoded_bytes(), b"\n"].concat();
        quarantine.write("objects/info/alternates", &alternates)?;
        quarantine.write("HEAD", b"ref: refs/heads/none\n")?;
        let config = bare_config(repository, RefStorage::Files);
        // What is landed is asked for by its id.
        let config = format!("{config}[uploadpack]\n\tallowAnySHA1InWant = true\n");
        quarantine.write("config", config.as_bytes())?;
        copy_shallow(repository, dir)?;
        Ok(quarantine)
    }

    /// Takes a pack in: to disk, and then into the index under limits.
    ///
    /// A pack with an object that `git fsck` objects to is indexed all the same, so that the
    /// good tips beside it can come home: the examination names what is bad, and landing runs
    /// fsck once more.
    ///
    /// # Errors
    /// When it is cut, too large, or not in the format; [`GitError::Cancelled`].
    pub fn take_in(
        &mut self,
        pack: &mut dyn Read,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), QuarantineError> {
        let path = self.dir.join("incoming.pack");
        let mut file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .at(&path)?;
        let taken = self.index(pack, &mut file, is_cancelled);
        fs::remove_file(&path).at(&path)?;
        let Some(index) = taken? else {
            return Ok(());
        };
        let all = self.list(&index, is_cancelled)?;
        let known = self.known(&all, is_cancelled)?;
        self.new
            .extend(all.into_iter().filter(|id| !known.contains(id)));
        Ok(())
    }

    /// Indexes a pack, and returns the path of its index; `None` for a pack of nothing.
    fn index(
        &self,
        pack: &mut dyn Read,
        file: &mut File,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Option<PathBuf>, QuarantineError> {
        let copied = io::copy(&mut pack.take(MAX_PACK_BYTES + 1), file);
        match copied.map_err(QuarantineError::Source)? {
            copied if copied > MAX_PACK_BYTES => return Err(QuarantineError::TooLarge),
            _ if is_cancelled() => return Err(GitError::Cancelled.into()),
            _ => {}
        }
        let mut head = [0; HEAD_BYTES];
        rewind(file)?;
        file.read_exact(&mut head)
            .map_err(|_| QuarantineError::NoPack)?;
        let [b'P', b'A', b'C', b'K', 0, 0, 0, 2 | 3, count @ ..] = head else {
            return Err(QuarantineError::NoPack);
        };
        match u32::from_be_bytes(count) {
            0 => return Ok(None),
            count if usize::try_from(count).is_ok_and(|count| count <= MAX_OBJECTS) => {}
            count => return Err(QuarantineError::ManyObjects(count)),
        }
        let size = format!("--max-input-size={MAX_PACK_BYTES}");
        let mut indexed = None;
        for strictness in [&["--strict"][..], &[]] {
            rewind(file)?;
            let arguments = [&["index-pack", "--stdin", &size], strictness].concat();
            let call = self.git.call(&self.dir, &arguments);
            let ended = call
                .limits(ProcessLimits::HOSTILE)
                .run(file, is_cancelled)?;
            let is_done = ended.is_success();
            indexed = Some(ended);
            if is_done {
                break;
            }
        }
        let said = indexed.map(|ended| ended.text("index the pack"));
        let said = said.transpose()?.unwrap_or_default();
        let name = said.rsplit('\t').next().unwrap_or_default();
        Ok(Some(self.dir.join(format!("objects/pack/pack-{name}.idx"))))
    }

    /// Lists the objects of a pack.
    fn list(
        &self,
        index: &Path,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<ObjectId>, QuarantineError> {
        let format = match self.is_sha256 {
            true => "--object-format=sha256",
            false => "--object-format=sha1",
        };
        let mut file = File::open(index).at(index)?;
        let call = self.git.call(&self.dir, &["show-index", format]);
        let listed = call.run(&mut file, is_cancelled)?.text("list the pack")?;
        let ids = listed.lines().filter_map(|line| line.split(' ').nth(1));
        Ok(ids
            .filter_map(|id| ObjectId::from_hex(id.as_bytes()))
            .collect())
    }

    /// Returns which of these the user has.
    fn known(
        &self,
        ids: &[ObjectId],
        is_cancelled: IsCancelled<'_>,
    ) -> Result<HashSet<ObjectId>, QuarantineError> {
        let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let call = self.git.call(&self.dir, &["cat-file", "--batch-check"]);
        let call = call.env("GIT_OBJECT_DIRECTORY", &self.borrowed);
        let listed = call
            .run(&mut asked.as_bytes(), is_cancelled)?
            .text("look for the objects in your repository")?;
        let there = listed.lines().filter(|line| !line.ends_with(" missing"));
        let ids = there.filter_map(|line| line.split(' ').next());
        Ok(ids
            .filter_map(|id| ObjectId::from_hex(id.as_bytes()))
            .collect())
    }

    /// Whether an object came in and the user has it not.
    pub fn is_new(&self, id: &ObjectId) -> bool {
        self.new.contains(id)
    }

    /// Starts to read objects, of the user's too.
    ///
    /// # Errors
    /// When git can't be run.
    pub fn reader(&self) -> Result<ObjectReader, GitError> {
        ObjectReader::start(&self.git, &self.dir)
    }

    /// Returns where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the git that works in it.
    pub fn git(&self) -> &Git {
        &self.git
    }

    fn write(&self, name: &str, contents: &[u8]) -> Result<(), PathError> {
        let path = self.dir.join(name);
        let mut file = File::create(&path).at(&path)?;
        file.write_all(contents).at(&path)
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        // What stays is thrown away by the next one, or with the session.
        drop(fs::remove_dir_all(&self.dir));
    }
}

fn rewind(file: &mut File) -> Result<(), QuarantineError> {
    file.rewind().map_err(QuarantineError::Source)
}

/// Returns the configuration of a bare repository for the objects of another: its formats, and
/// nothing else.
pub fn bare_config(like: &Repository, refs: RefStorage) -> String {
    let mut extensions = String::new();
    if like.is_sha256() {
        extensions.push_str("\tobjectFormat = sha256\n");
    }
    if refs == RefStorage::Tables {
        extensions.push_str("\trefStorage = reftable\n");
    }
    let version = u8::from(!extensions.is_empty());
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n[extensions]\n{extensions}"
    )
}

/// Copies the list of commits at which a shallow history ends.
pub(crate) fn copy_shallow(repository: &Repository, dir: &Path) -> Result<(), PathError> {
    let (from, to) = (
        repository.common().path().join("shallow"),
        dir.join("shallow"),
    );
    match fs::copy(&from, &to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map(drop).at(&from),
    }
}
