//! The `tar` crate as a second reader: what we accept, it reads the same.
//!
//! Where two readers disagree, one of them can be shown what the other will not do
//! (docs/design/threats.md, section 8, c). So what they disagree about must be an error of ours.

use std::io::Read as _;

use lazaret_protocol::{Member, MemberKind, MemberPath, StreamLimits};
use lazaret_transfer::StreamEnd;
use lazaret_tree::Mode;

use super::stream::{Manifest, manifest, stream_of};

/// The target.
pub(crate) fn same(bytes: &[u8]) {
    let (_, stream) = stream_of(bytes);
    agrees(&stream, "");
}

/// Reads a stream twice; 1 if we accept it, and then the tar crate must agree.
///
/// # Panics
/// When it does not.
#[track_caller]
pub fn agrees(stream: &[u8], context: &str) -> u64 {
    let Ok(manifest) = manifest(stream, StreamLimits::DEFAULT, StreamEnd::Plain) else {
        return 0;
    };
    let ours: Vec<_> = manifest.iter().map(render).collect();
    let theirs = read_by_tar_crate(stream);
    assert_eq!(ours, theirs, "{context}");
    1
}

fn render((member, body): &<Manifest as IntoIterator>::Item) -> String {
    let Member { path, kind, .. } = member;
    let target = |path: &MemberPath| path.as_bytes().escape_ascii().to_string();
    let kind = match kind {
        MemberKind::File {
            mode: Mode::Plain, ..
        } => format!("file {}", body.escape_ascii()),
        MemberKind::File {
            mode: Mode::Executable,
            ..
        } => format!("program {}", body.escape_ascii()),
        MemberKind::Dir => "dir".to_owned(),
        MemberKind::Fifo => "fifo".to_owned(),
        MemberKind::Hard { target: of, .. } => format!("hard {}", target(of)),
        MemberKind::Symlink { target: Ok(to) } => format!("link {}", to.as_str().escape_debug()),
        MemberKind::Symlink { target: Err(_) } => "link".to_owned(),
    };
    format!("{} {kind}", path.as_bytes().escape_ascii())
}

fn read_by_tar_crate(stream: &[u8]) -> Vec<String> {
    let mut archive = tar::Archive::new(stream);
    let mut lines = Vec::new();
    for entry in archive.entries().expect("a reader") {
        let Ok(mut entry) = entry else {
            lines.push("error".to_owned());
            break;
        };
        let mut body = Vec::new();
        entry.read_to_end(&mut body).expect("its bytes are there");
        let clean = |name: &[u8]| {
            name.strip_prefix(b"./")
                .unwrap_or(name)
                .escape_ascii()
                .to_string()
        };
        let link = entry
            .link_name_bytes()
            .map(|name| name.into_owned())
            .unwrap_or_default();
        let executable = entry.header().mode().expect("a mode") & 0o100 != 0;
        let kind = match entry.header().entry_type() {
            tar::EntryType::Regular if executable => format!("program {}", body.escape_ascii()),
            tar::EntryType::Regular => format!("file {}", body.escape_ascii()),
            tar::EntryType::Directory => "dir".to_owned(),
            tar::EntryType::Fifo => "fifo".to_owned(),
            tar::EntryType::Link => format!("hard {}", clean(&link)),
            tar::EntryType::Symlink => match std::str::from_utf8(&link) {
                Ok(to) if !to.chars().any(char::is_control) => {
                    format!("link {}", to.escape_debug())
                }
                _ => "link".to_owned(),
            },
            other => format!("{other:?}"),
        };
        let name = entry.path_bytes().into_owned();
        if name == b"./" {
            continue;
        }
        let name = if kind == "dir" {
            name.strip_suffix(b"/").unwrap_or(&name)
        } else {
            &name
        };
        // A second name of a FIFO is as odd as the first: one more FIFO to us.
        let linked = kind
            .strip_prefix("hard ")
            .map(|target| format!("{target} fifo"));
        let kind = match linked {
            Some(fifo) if lines.contains(&fifo) => "fifo".to_owned(),
            _ => kind,
        };
        lines.push(format!("{} {kind}", clean(name)));
    }
    lines
}
