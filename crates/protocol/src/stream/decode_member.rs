//! `assemble`: header and PAX records become one member.

use lazaret_tree::{Adjustment, FindingCode, Mode, escape, finding_code};

use super::limit_counter::LimitCounter;
use super::member::{Member, MemberKind, MemberPath};
use super::name_table::{Kind, NameTable};
use super::names::{self, NameOf};
use super::pax::Pax;
use super::ustar::{Flag, Header};
use crate::StreamError;

/// Joins header and PAX records, judges the name against everything before it, and
/// counts the member; `None` for the root.
pub(super) fn decode_member(
    header: &Header<'_>,
    pax: Pax,
    counter: &mut LimitCounter,
) -> Result<Option<Member>, StreamError> {
    let raw = match pax.path {
        Some(path) => path,
        None => header.name()?,
    };
    let of = match header.flag {
        Flag::Dir => NameOf::Dir,
        _ => NameOf::Other,
    };
    let path = names::member(&raw, of)?;
    let name = path.as_ref().map_or(&b"./"[..], MemberPath::as_bytes);
    let size = size(header, pax.size, name)?;
    let linkname = linkname(header, pax.linkpath.as_deref(), name)?;
    let mode = header.mode()?;
    let mtime = match pax.mtime {
        Some(mtime) => mtime,
        None => header.mtime()?,
    };
    let Some(path) = path else {
        counter.names.add_root(&raw)?;
        return Ok(None);
    };
    let name = path.as_bytes();
    let kind = match header.flag {
        Flag::File => {
            let mode = Mode::from_unix(mode);
            MemberKind::File { mode, size }
        }
        Flag::Dir => MemberKind::Dir,
        Flag::Symlink => {
            let target = names::link_target(linkname, name)?;
            MemberKind::Symlink { target }
        }
        Flag::Hard => hard_link(linkname, name, &counter.names)?,
        Flag::Fifo => MemberKind::Fifo,
        Flag::Device => {
            return Err(StreamError::Device {
                name: name.to_vec(),
            });
        }
        // Read by the caller, never a member.
        Flag::Pax => return Err(StreamError::PaxStacked),
    };
    counter.count(name, &kind, linkname)?;
    let notes = notes(name, &kind, mode, pax.dropped.first());
    for note in &notes {
        counter.charge(note.name.len() + note.reason.len())?;
    }
    Ok(Some(Member {
        path,
        kind,
        mtime,
        notes,
    }))
}

/// The size, from one place or from two that agree (TAR-16, -17).
fn size(header: &Header<'_>, pax: Option<u64>, name: &[u8]) -> Result<u64, StreamError> {
    let size = match (header.size()?, pax) {
        (size, None) | (0, Some(size)) => size,
        (one, Some(other)) if one == other => one,
        _ => {
            return Err(StreamError::SizeConflict {
                name: name.to_vec(),
            });
        }
    };
    if size > 0 && header.flag != Flag::File {
        return Err(StreamError::SizeNonfile {
            name: name.to_vec(),
        });
    }
    Ok(size)
}

/// The link target; empty for what is no link.
fn linkname<'a>(
    header: &Header<'a>,
    pax: Option<&'a [u8]>,
    name: &[u8],
) -> Result<&'a [u8], StreamError> {
    let linkname = match pax {
        Some(linkpath) => linkpath,
        None => header.linkname()?,
    };
    let is_link = matches!(header.flag, Flag::Hard | Flag::Symlink);
    if !is_link && (pax.is_some() || !linkname.is_empty()) {
        return Err(StreamError::LinknameNonlink {
            name: name.to_vec(),
        });
    }
    Ok(linkname)
}

fn hard_link(linkname: &[u8], name: &[u8], names: &NameTable) -> Result<MemberKind, StreamError> {
    let target = names::hard_target(linkname, name)?;
    let name = name.to_vec();
    match names.find(target.as_bytes()) {
        Some(Kind::File { size }) => Ok(MemberKind::Hard { target, size }),
        // A second name of a FIFO is as odd as the first.
        Some(Kind::Fifo) => Ok(MemberKind::Fifo),
        Some(Kind::Symlink | Kind::Dir | Kind::Implied) => Err(StreamError::HardNonfile { name }),
        None => Err(StreamError::HardForward { name }),
    }
}

fn notes(name: &[u8], kind: &MemberKind, mode: u32, dropped: Option<&Vec<u8>>) -> Vec<Adjustment> {
    let mut notes = Vec::new();
    let mut note = |code: &'static FindingCode, reason| {
        let name = name.to_vec();
        notes.push(Adjustment { name, code, reason });
    };
    if mode & 0o7000 != 0 && matches!(kind, MemberKind::File { .. } | MemberKind::Dir) {
        note(
            finding_code::MODE_SPECIAL,
            format!("mode {mode:04o}: the special bits are dropped"),
        );
    }
    if let Some(key) = dropped {
        note(
            finding_code::PAX_XATTR,
            format!("{} and all other attributes are dropped", escape(key)),
        );
    }
    if let MemberKind::Hard { target, .. } = kind {
        note(
            finding_code::LINK_HARD,
            format!(
                "a hard link to {} becomes a copy",
                escape(target.as_bytes())
            ),
        );
    }
    notes
}
