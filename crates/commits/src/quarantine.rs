//! `Quarantine`: a bare repository of ours that takes a pack in (GIT-20).
//!
//! It borrows the user's objects through `objects/info/alternates`, so what the user has already
//! is found and never sent. Nothing is ever written to the user's repository from here.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lazaret_transfer::{ObjectId, RefStorage, Repository};
use lazaret_tree::{AtPath as _, PathError};

use crate::git::{Git, GitError, IsCancelled};
use crate::limits::{MAX_OBJECTS, MAX_PACK_BYTES, ProcessLimits};
use crate::objects::ObjectReader;
use crate::preloaded::Preloaded;
use crate::user_objects::UserObjects;

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
    /// The new objects, in the order of their packs.
    in_order: Vec<ObjectId>,
    /// The small ones of them, once one was needed.
    preloaded: OnceLock<Arc<Preloaded>>,
    /// The packs, without the ending of their names, if all of them passed every check.
    sound: Vec<PathBuf>,
    is_sound: bool,
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
            in_order: Vec::new(),
            preloaded: OnceLock::new(),
            sound: Vec::new(),
            is_sound: true,
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
        let Some(Indexed { pack, strictness }) = taken? else {
            return Ok(());
        };
        let all = self.list(&pack.with_extension("idx"), is_cancelled)?;
        let user = UserObjects {
            git: &self.git,
            dir: &self.dir,
            objects: &self.borrowed,
        };
        let known = user.among(&all, is_cancelled)?;
        let new = all.into_iter().filter(|id| !known.contains(id));
        self.in_order.extend(new);
        self.new.extend(&self.in_order);
        self.preloaded = OnceLock::new();
        self.is_sound &= strictness == Strictness::Fsck;
        self.sound.push(pack);
        Ok(())
    }

    /// Indexes a pack; `None` for a pack of nothing.
    fn index(
        &self,
        pack: &mut dyn Read,
        file: &mut File,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Option<Indexed>, QuarantineError> {
        let mut head = [0; HEAD_BYTES];
        pack.read_exact(&mut head)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => QuarantineError::NoPack,
                _ => QuarantineError::Source(error),
            })?;
        let [b'P', b'A', b'C', b'K', 0, 0, 0, 2 | 3, count @ ..] = head else {
            return Err(QuarantineError::NoPack);
        };
        match u32::from_be_bytes(count) {
            0 => return Ok(None),
            count if usize::try_from(count).is_ok_and(|count| count <= MAX_OBJECTS) => {}
            count => return Err(QuarantineError::ManyObjects(count)),
        }
        let size = format!("--max-input-size={MAX_PACK_BYTES}");
        let index = |source: &mut dyn Read, strictness: &[&str]| {
            let arguments = [&["index-pack", "--stdin", &size], strictness].concat();
            let call = self.git.call(&self.dir, &arguments);
            (call.limits(ProcessLimits::HOSTILE)).run(source, is_cancelled)
        };
        // It is indexed while it arrives, and kept in case that it is indexed once more.
        let mut tee = Tee::new(pack, file);
        let mut whole = head.chain(&mut tee);
        let strict = index(&mut whole, &["--strict"]);
        // Git may have ended before it read everything.
        drop(io::copy(&mut whole, &mut io::sink()));
        let Tee { bytes, failure, .. } = tee;
        match failure {
            Some(error) => return Err(QuarantineError::Source(error)),
            None if bytes > MAX_PACK_BYTES => return Err(QuarantineError::TooLarge),
            None if is_cancelled() => return Err(GitError::Cancelled.into()),
            None => {}
        }
        let (mut ended, mut passed) = (strict?, Strictness::Fsck);
        if !ended.is_success() {
            rewind(file)?;
            passed = Strictness::Format;
            ended = index(&mut head.chain(&mut *file), &[])?;
        }
        let said = ended.text("index the pack")?;
        let name = said.rsplit('\t').next().unwrap_or_default();
        Ok(Some(Indexed {
            pack: self.dir.join(format!("objects/pack/pack-{name}.pack")),
            strictness: passed,
        }))
    }

    /// Lists the objects of a pack, in its order.
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
        let objects = listed.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let offset: u64 = words.next()?.parse().ok()?;
            Some((offset, ObjectId::from_hex(words.next()?.as_bytes())?))
        });
        let mut objects: Vec<(u64, ObjectId)> = objects.collect();
        objects.sort_unstable();
        Ok(objects.into_iter().map(|(_, id)| id).collect())
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
        let read = || Preloaded::read(&self.git, &self.dir, &self.in_order, &|| false);
        let preloaded = self.preloaded.get_or_init(|| Arc::new(read()));
        ObjectReader::start(&self.git, &self.dir, Arc::clone(preloaded))
    }

    /// Whether every new object is among these.
    pub(crate) fn is_within(&self, ids: &HashSet<ObjectId>) -> bool {
        self.new.is_subset(ids)
    }

    /// Returns the packs that hold everything that came in, if git has objected to nothing of it.
    pub(crate) fn sound_packs(&self) -> Option<&[PathBuf]> {
        self.is_sound.then_some(&self.sound)
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

/// Passes a pack on, and writes it to a file. It ends above the limit of a pack.
struct Tee<'a> {
    source: io::Take<&'a mut dyn Read>,
    file: &'a mut File,
    /// How many bytes came.
    bytes: u64,
    failure: Option<io::Error>,
}

impl<'a> Tee<'a> {
    fn new(source: &'a mut dyn Read, file: &'a mut File) -> Self {
        Self {
            source: source.take(MAX_PACK_BYTES + 1),
            file,
            bytes: 0,
            failure: None,
        }
    }
}

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failure.is_some() {
            return Ok(0);
        }
        let read = self.source.read(buffer).and_then(|count| {
            let read = buffer.get(..count).unwrap_or_default();
            self.file.write_all(read).map(|()| count)
        });
        match read {
            Ok(count) => {
                self.bytes += count as u64;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failure = Some(error);
                Err(kind.into())
            }
        }
    }
}

/// A pack that was indexed.
struct Indexed {
    /// Its file.
    pack: PathBuf,
    strictness: Strictness,
}

/// What a pack has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// Every object passes `git fsck`, and what it names is there.
    Fsck,
    /// It is a pack.
    Format,
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
