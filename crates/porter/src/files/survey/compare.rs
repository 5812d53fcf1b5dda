//! Comparing what is listed with what is known: both are in path order.

use std::iter::Peekable;
use std::sync::Arc;

use lazaret_protocol::{FoundEntry, FoundKind, SpecialType};
use lazaret_protocol::{HashPolicy, StreamError, Survey, SurveyRequest, VolumeIdentity, Wanted};
use lazaret_tree::{RelPath, RelPathBuf};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::SurveyFailure;
use super::hash::{Changed, hash_all};
use super::list::{Listed, Listing, Sink};
use crate::files::lifts::Lifts;
use crate::files::root::Root;

/// Takes a listing of the whole volume in.
pub(super) fn compare(
    root: &Root,
    request: &SurveyRequest,
    listing: Listing,
    lifts: &Arc<Lifts>,
) -> Result<Survey, SurveyFailure> {
    let mut comparison = Comparison {
        root,
        request,
        lifts,
        known: request.known.iter().peekable(),
        survey: Survey::default(),
        changed: Vec::new(),
        entries: 0,
        name_bytes: 0,
        total_bytes: 0,
    };
    listing.take_in(&mut comparison)?;
    comparison.gone_before(None);
    let Comparison {
        mut survey,
        changed,
        ..
    } = comparison;
    for (index, hashed) in hash_all(root, &changed)? {
        if let FoundKind::File {
            digest, identity, ..
        } = &mut survey.found[index].kind
        {
            *digest = Some(hashed.digest);
            *identity = hashed.identity;
        }
    }
    Ok(survey)
}

struct Comparison<'a> {
    root: &'a Root,
    request: &'a SurveyRequest,
    lifts: &'a Arc<Lifts>,
    known: Peekable<std::slice::Iter<'a, (RelPathBuf, VolumeIdentity)>>,
    survey: Survey,
    changed: Vec<Changed>,
    entries: u64,
    name_bytes: u64,
    total_bytes: u64,
}

impl Sink for Comparison<'_> {
    fn listed(&mut self, listed: Listed) -> Result<(), SurveyFailure> {
        let path = match &listed.path {
            Ok(path) => path.clone(),
            Err(name) => {
                self.count(name)?;
                self.found(name, FoundKind::BadName);
                return Ok(());
            }
        };
        let name = path.as_str().as_bytes();
        self.count(name)?;
        let known = self.known(&path);
        match listed.kind {
            FileType::Directory => self.directory(&path, &listed, known),
            _ if known == Some(listed.identity) => Ok(()),
            FileType::RegularFile => self.file(path, &listed, known),
            FileType::Symlink => {
                let target = self.target(&path)?;
                self.charge(target.len())?;
                let identity = listed.identity;
                self.found(name, FoundKind::Symlink { identity, target });
                Ok(())
            }
            odd => {
                self.found(name, FoundKind::Special(special_type(odd)));
                Ok(())
            }
        }
    }
}

impl Comparison<'_> {
    fn directory(
        &mut self,
        path: &RelPath,
        listed: &Listed,
        known: Option<VolumeIdentity>,
    ) -> Result<(), SurveyFailure> {
        let (name, identity) = (path.as_str().as_bytes(), listed.identity);
        let was_dir = known.is_some_and(is_dir);
        // What is built inside must not cost the batch its limits.
        if listed.is_cache && !was_dir {
            self.found(name, FoundKind::Cache);
            return Ok(());
        }
        // Its times tell of its entries, and those are visited anyway.
        if known.map(|known| known.mode) != Some(identity.mode) {
            self.found(name, FoundKind::Dir { identity });
        }
        if !listed.is_cache {
            return Ok(());
        }
        // It was sent in, so it is looked at, whatever it has become.
        let inside = self.root.open_dir(path).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOENT | Errno::NOTDIR => SurveyFailure::changed(path),
            errno => SurveyFailure::read(name, errno),
        })?;
        Listing::of(inside, name.to_vec(), Arc::clone(self.lifts)).take_in(self)
    }

    fn file(
        &mut self,
        path: RelPathBuf,
        listed: &Listed,
        known: Option<VolumeIdentity>,
    ) -> Result<(), SurveyFailure> {
        let Listed {
            identity, links, ..
        } = *listed;
        let limits = &self.request.limits;
        let size = identity.size;
        let name = path.as_str().as_bytes().to_vec();
        if size > limits.file_bytes {
            let limit = limits.file_bytes;
            return Err(StreamError::FileTooBig { name, size, limit }.into());
        }
        self.total_bytes = self.total_bytes.saturating_add(size);
        if self.total_bytes > limits.total_bytes {
            let limit = limits.total_bytes;
            return Err(StreamError::TooManyBytes { limit }.into());
        }
        // One that is fetched in any case is read then.
        let is_fetched = known.is_none() && Wanted::covers(&path, size);
        if self.request.hash_policy == HashPolicy::All || !is_fetched {
            self.changed.push(Changed {
                index: self.survey.found.len(),
                path,
                identity,
            });
        }
        self.survey.found.push(FoundEntry {
            name,
            kind: FoundKind::File {
                identity,
                links,
                digest: None,
            },
        });
        Ok(())
    }

    /// Reads a link's target. Fails if a process has replaced the link, or a directory above it,
    /// since the listing.
    fn target(&self, path: &RelPath) -> Result<Vec<u8>, SurveyFailure> {
        let link = self.root.open_any(path);
        let target = link.and_then(|link| rustix::fs::readlinkat(link, c"", Vec::new()));
        match target {
            Ok(target) => Ok(target.into_bytes()),
            Err(Errno::LOOP | Errno::NOENT | Errno::NOTDIR | Errno::INVAL) => {
                Err(SurveyFailure::changed(path))
            }
            Err(errno) => Err(SurveyFailure::read(path.as_str().as_bytes(), errno)),
        }
    }

    fn found(&mut self, name: &[u8], kind: FoundKind) {
        let name = name.to_vec();
        self.survey.found.push(FoundEntry { name, kind });
    }

    fn count(&mut self, name: &[u8]) -> Result<(), SurveyFailure> {
        self.entries += 1;
        let limit = self.request.limits.entries;
        if self.entries > limit {
            return Err(StreamError::TooManyEntries { limit }.into());
        }
        self.charge(name.len())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), SurveyFailure> {
        self.name_bytes += bytes as u64;
        let limit = self.request.limits.name_bytes;
        match self.name_bytes > limit {
            true => Err(StreamError::TooManyNames { limit }.into()),
            false => Ok(()),
        }
    }

    /// Returns what is known of `path`, and notes what is known of paths before it
    /// that were not met.
    fn known(&mut self, path: &RelPath) -> Option<VolumeIdentity> {
        self.gone_before(Some(path));
        let known = self.known.next_if(|(known, _)| **known == *path);
        known.map(|(_, identity)| *identity)
    }

    fn gone_before(&mut self, path: Option<&RelPath>) {
        let before = |known: &RelPath| path.is_none_or(|path| known < path);
        while let Some((gone, _)) = self.known.next_if(|(known, _)| before(known)) {
            self.survey.gone.push(gone.as_str().as_bytes().to_vec());
        }
    }
}

fn is_dir(identity: VolumeIdentity) -> bool {
    FileType::from_raw_mode(identity.mode) == FileType::Directory
}

fn special_type(file_type: FileType) -> SpecialType {
    match file_type {
        FileType::Fifo => SpecialType::Fifo,
        FileType::Socket => SpecialType::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => SpecialType::Device,
        _ => SpecialType::Unknown,
    }
}
