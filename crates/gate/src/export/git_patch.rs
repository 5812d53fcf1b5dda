//! A patch that `git apply` takes, for exactly the changes that may be applied.
//!
//! Each file is read twice: once for its object id, its digest and whether it is text, once
//! to be written. So memory does not grow with contents that are too large to compare.
//!
//! - Text up to that size is compared line by line; everything else becomes a
//!   `GIT binary patch` with both sides in full, so that it can be reversed too.
//! - A change of type is a deletion and a creation, as git does it.
//! - What git does not track, an empty directory, is named before the first `diff --git`.
//! - If the old contents are gone, the patch creates the new file in full; that is said there
//!   too.
//! - Object ids are SHA-1. In a repository with SHA-256, git applies the text of such a
//!   patch, and refuses its binary parts.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use lazaret_tree::{Blobs as _, Digest, Entry, RelPath, RelPathBuf, escape};
use lazaret_validator::Outcome;

use super::base85::Lines;
use super::blob::{Blob, Form, Summed, target};
use super::quote;
use super::report_input::{ReportInput, ReportItem, words};
use crate::case::Case;
use crate::contents::checked;
use crate::file_diff::{FileDiff, Hunk};
use crate::file_side::{ContentsError, open_old, same_contents};

/// Why a patch can't be written.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// New contents can't be read.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// Old contents are not what they were a moment ago.
    #[error("{} changed while the patch was written", shown(.path))]
    Changed {
        /// Where.
        path: RelPathBuf,
        /// How that shows.
        source: io::Error,
    },
    /// The writer fails, at one change.
    #[error("the patch of {} can't be written", shown(.path))]
    Part {
        /// Where.
        path: RelPathBuf,
        /// Why.
        source: io::Error,
    },
    /// The writer fails.
    #[error("the patch can't be written")]
    Write(#[source] io::Error),
}

fn shown(path: &RelPath) -> String {
    escape(path.as_str().as_bytes())
}

/// Writes the patch.
///
/// # Errors
/// When contents can't be read, or the writer fails.
pub fn write(input: &ReportInput<'_>, case: &Case, out: &mut dyn Write) -> Result<(), PatchError> {
    let mut parts = Vec::new();
    let mut remarks = Vec::new();
    for item in &input.items {
        match plan(input, item, case)? {
            Planned::Parts(planned) => parts.extend(planned),
            Planned::InFull(part) => {
                remarks.push(Remark::new("in full", item, "the old version is gone"));
                parts.push(part);
            }
            Planned::LeftOut(why, because_of) => remarks.push(Remark {
                because_of,
                ..Remark::new("left out", item, why)
            }),
            Planned::Implied => {}
        }
    }
    // git makes directories for files, and no others.
    for (index, item) in input.items.iter().enumerate() {
        let is_new = input.may_apply(item) && item.elsewhere().after == Some(Entry::Dir);
        let filled = input.items[index + 1..]
            .iter()
            .take_while(|below| below.path().starts_with(item.path()))
            .any(|below| input.may_apply(below) && below.elsewhere().after.is_some());
        if is_new && !filled {
            let why = "an empty directory, which git does not keep";
            remarks.push(Remark::new("left out", item, why));
        }
    }
    let failed = PatchError::Write;
    header(input, &remarks, out).map_err(failed)?;
    for part in &parts {
        part.write(case, out)?;
    }
    out.flush().map_err(failed)
}

/// One line about what the patch does not do, or not as one would think.
struct Remark<'a> {
    what: &'static str,
    item: &'a ReportItem<'a>,
    why: &'static str,
    because_of: Option<&'a [u8]>,
}

impl<'a> Remark<'a> {
    fn new(what: &'static str, item: &'a ReportItem<'a>, why: &'static str) -> Self {
        Self {
            what,
            item,
            why,
            because_of: None,
        }
    }
}

/// What becomes of one item.
enum Planned<'a> {
    Parts(Vec<Part<'a>>),
    /// A file whose old contents are gone: only the new ones can be written.
    InFull(Part<'a>),
    /// A directory: git makes and removes those by itself.
    Implied,
    /// Why, and the other path that is to blame.
    LeftOut(&'static str, Option<&'a [u8]>),
}

fn plan<'a>(
    input: &ReportInput<'_>,
    item: &ReportItem<'a>,
    case: &Case,
) -> Result<Planned<'a>, PatchError> {
    if input.outcome == Outcome::Rejected {
        return Ok(Planned::LeftOut("the batch is rejected", None));
    }
    if !input.may_apply(item) {
        let (_, why, path) = words(item.state());
        return Ok(Planned::LeftOut(why, path));
    }
    let change = item.elsewhere();
    let path = &*change.path;
    if same_contents(change) {
        let [old, new] =
            [&change.before, &change.after].map(|side| side.as_ref().map(Blob::unread));
        return Ok(Planned::Parts(vec![Part::new(path, old, new)]));
    }
    let old = match change.before.as_ref().filter(|entry| **entry != Entry::Dir) {
        None => None,
        Some(entry) => match Blob::old(entry, path, case) {
            Some(blob) => Some(blob),
            None => {
                return Ok(match Blob::new(change.after.as_ref(), case)? {
                    Some(new) => Planned::InFull(Part::new(path, None, Some(new))),
                    None => {
                        Planned::LeftOut("its old version is gone, so it can't be deleted", None)
                    }
                });
            }
        },
    };
    let new = Blob::new(change.after.as_ref(), case)?;
    let same_type = |old: &Blob<'_>, new: &Blob<'_>| old.is_link() == new.is_link();
    Ok(match (old, new) {
        (None, None) => Planned::Implied,
        (Some(old), Some(new)) if !same_type(&old, &new) => Planned::Parts(vec![
            Part::new(path, Some(old), None),
            Part::new(path, None, Some(new)),
        ]),
        (old, new) => Planned::Parts(vec![Part::new(path, old, new)]),
    })
}

/// Says what the patch is and what it leaves out. Every line starts so that git takes none
/// for a part of the patch, and names in it are escaped.
fn header(input: &ReportInput<'_>, remarks: &[Remark<'_>], out: &mut dyn Write) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let name = input.subject.name();
    writeln!(out, "# lazaret {version}: {}", escape(name.as_bytes()))?;
    writeln!(out, "# verdict: {}", input.outcome.as_str())?;
    for Remark {
        what,
        item,
        why,
        because_of,
    } in remarks
    {
        let name = escape(item.path().as_str().as_bytes());
        write!(out, "# {what}: {name}: {why}")?;
        if let Some(path) = because_of {
            write!(out, " {}", escape(path))?;
        }
        let codes: Vec<&str> = input
            .about(item)
            .iter()
            .map(|&index| input.findings[index].code)
            .collect();
        if !codes.is_empty() {
            write!(out, " ({})", codes.join(", "))?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

/// One `diff --git`.
#[derive(Debug)]
struct Part<'a> {
    path: &'a RelPath,
    old: Option<Blob<'a>>,
    new: Option<Blob<'a>>,
}

/// The id of no object.
const NO_ID: &str = "0000000000000000000000000000000000000000";

impl<'a> Part<'a> {
    fn new(path: &'a RelPath, old: Option<Blob<'a>>, new: Option<Blob<'a>>) -> Self {
        Self { path, old, new }
    }

    fn write(&self, case: &Case, out: &mut dyn Write) -> Result<(), PatchError> {
        let failed = |source: io::Error| PatchError::Part {
            path: self.path.to_owned(),
            source,
        };
        let (a, b) = (quote::name("a", self.path), quote::name("b", self.path));
        let id = |blob: &Option<Blob<'_>>| {
            blob.as_ref()
                .map_or(NO_ID.to_owned(), |blob| blob.id().to_owned())
        };
        let (old_id, new_id) = (id(&self.old), id(&self.new));
        let mut head = format!("diff --git {a} {b}\n");
        let mut mode_behind = String::new();
        match (&self.old, &self.new) {
            (None, Some(new)) => head.push_str(&format!("new file mode {}\n", new.mode())),
            (Some(old), None) => head.push_str(&format!("deleted file mode {}\n", old.mode())),
            (Some(old), Some(new)) if old.mode() != new.mode() => head.push_str(&format!(
                "old mode {}\nnew mode {}\n",
                old.mode(),
                new.mode()
            )),
            (Some(old), Some(_)) => mode_behind = format!(" {}", old.mode()),
            (None, None) => return Ok(()),
        }
        if old_id != new_id {
            head.push_str(&format!("index {old_id}..{new_id}{mode_behind}\n"));
        }
        out.write_all(head.as_bytes()).map_err(failed)?;
        if old_id == new_id {
            return Ok(());
        }
        let sides = [(Which::New, &self.new), (Which::Old, &self.old)];
        let mut blobs = sides.iter().filter_map(|(_, blob)| blob.as_ref());
        if blobs.any(|blob| blob.form() == Form::Binary) {
            out.write_all(b"GIT binary patch\n").map_err(failed)?;
            for (which, blob) in sides {
                self.literal(blob.as_ref(), which, case, out)?;
            }
            return Ok(());
        }
        let old = self.bytes(self.old.as_ref(), Which::Old, case)?;
        let new = self.bytes(self.new.as_ref(), Which::New, case)?;
        if old.is_empty() && new.is_empty() {
            return Ok(());
        }
        let (from, to) = (
            self.old.as_ref().map_or("/dev/null", |_| &a),
            self.new.as_ref().map_or("/dev/null", |_| &b),
        );
        write!(out, "--- {from}\n+++ {to}\n").map_err(failed)?;
        for hunk in FileDiff::new(&old, &new).hunks() {
            write_hunk(&hunk, out).map_err(failed)?;
        }
        Ok(())
    }

    /// Reads one side whole; nothing where nothing is there.
    fn bytes(
        &self,
        blob: Option<&Blob<'_>>,
        which: Which,
        case: &Case,
    ) -> Result<Vec<u8>, PatchError> {
        let Some(blob) = blob else {
            return Ok(Vec::new());
        };
        match blob.entry() {
            Entry::File { size, digest, .. } => {
                let reader = self.open(which, digest, case)?;
                checked(reader, digest, *size).map_err(|error| self.changed(error))
            }
            Entry::Symlink { .. } | Entry::Dir => Ok(target(blob.entry()).to_vec()),
        }
    }

    fn open<'c>(
        &self,
        which: Which,
        digest: &Digest,
        case: &'c Case,
    ) -> Result<Box<dyn Read + 'c>, PatchError> {
        match which {
            Which::New => Ok(case.contents.open(digest).map_err(ContentsError)?),
            Which::Old => open_old(case, self.path, digest).map_err(|error| self.changed(error)),
        }
    }

    /// It was there a moment ago.
    fn changed(&self, source: io::Error) -> PatchError {
        PatchError::Changed {
            path: self.path.to_owned(),
            source,
        }
    }

    /// Writes one side of a binary patch.
    fn literal(
        &self,
        blob: Option<&Blob<'_>>,
        which: Which,
        case: &Case,
        out: &mut dyn Write,
    ) -> Result<(), PatchError> {
        let size = blob.map_or(0, Blob::size);
        let write = |out: &mut dyn Write| -> Result<io::Result<()>, PatchError> {
            if let Err(error) = writeln!(out, "literal {size}") {
                return Ok(Err(error));
            }
            let mut encoder = ZlibEncoder::new(Lines::new(&mut *out), Compression::default());
            if let Some(blob) = blob {
                let copied = match blob.entry() {
                    Entry::File { size, digest, .. } => {
                        let reader = self.open(which, digest, case)?;
                        io::copy(&mut Summed::new(reader, *size, digest), &mut encoder)
                    }
                    Entry::Symlink { .. } | Entry::Dir => {
                        io::copy(&mut target(blob.entry()), &mut encoder)
                    }
                };
                match copied {
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        return Err(self.changed(error));
                    }
                    Err(error) => return Ok(Err(error)),
                    Ok(_) => {}
                }
            }
            let finished = encoder.finish().and_then(Lines::finish);
            Ok(finished.and_then(|out| out.write_all(b"\n")))
        };
        write(out)?.map_err(PatchError::Write)
    }
}

#[derive(Debug, Clone, Copy)]
enum Which {
    Old,
    New,
}

fn write_hunk(hunk: &Hunk<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", hunk.header())?;
    for line in &hunk.lines {
        write!(out, "{}", line.kind.as_char())?;
        out.write_all(line.bytes)?;
        out.write_all(b"\n")?;
        if !line.has_newline {
            out.write_all(b"\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}
