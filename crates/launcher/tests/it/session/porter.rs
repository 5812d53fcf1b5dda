//! The porter's verbs in process, over a directory: as `crates/porter` does them, without
//! what makes those safe against an agent, which no test here plays.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use lazaret_protocol::Control;
use lazaret_protocol::{
    FileTime, HashPolicy, MemberKind, MemberPath, Members, Receipt, StreamLimits, StreamWriter,
    Survey, SurveyRequest, UpdateReceipt, UpdateRequest, VolumeIdentity, Wanted, read_wanted,
};
use lazaret_protocol::{FoundEntry, FoundKind};
use lazaret_tree::{Digest, Entry, RelPath, RelPathBuf, Tree};
use rustix::fs::FileType;

type Broken = Box<dyn std::error::Error>;

/// `porter receive`: returns the receipt, which the caller sends on.
pub(super) fn receive(volume: &Path, stdin: &mut dyn Read) -> Result<Receipt, Broken> {
    match fs::read_dir(volume)?.next() {
        None => arrive(volume, stdin),
        Some(_) => Err("the directory is not empty".into()),
    }
}

/// `porter update`.
pub(super) fn update(
    volume: &Path,
    stdin: &mut dyn Read,
    stdout: &mut dyn Write,
) -> Result<(), Broken> {
    survey(volume, stdin)?.write_to(stdout)?;
    let request = UpdateRequest::read_from(stdin)?;
    for path in request.remove.iter().rev() {
        let at = volume.join(path.as_str());
        match fs::symlink_metadata(&at)?.is_dir() {
            true => fs::remove_dir(&at)?,
            false => fs::remove_file(&at)?,
        }
    }
    let written = arrive(volume, stdin)?;
    let stayed = Vec::new();
    Ok(UpdateReceipt { written, stayed }.write_to(stdout)?)
}

/// Unpacks a stream over what is there.
fn arrive(volume: &Path, stdin: &mut dyn Read) -> Result<Receipt, Broken> {
    let mut members = Members::new(stdin, StreamLimits::DEFAULT);
    let mut entries = Vec::new();
    while let Some(member) = members.next()? {
        let MemberPath::Good(path) = member.path else {
            return Err("an odd name".into());
        };
        let at = volume.join(path.as_str());
        let entry = match member.kind {
            MemberKind::Dir => {
                fs::create_dir_all(&at)?;
                Entry::Dir
            }
            MemberKind::File { mode, size } => {
                let mut bytes = Vec::new();
                members.body().read_to_end(&mut bytes)?;
                fs::write(&at, &bytes)?;
                fs::set_permissions(&at, fs::Permissions::from_mode(mode.to_unix()))?;
                let digest = Digest::of(&bytes);
                Entry::File { mode, size, digest }
            }
            MemberKind::Symlink { target: Ok(target) } => {
                drop(fs::remove_file(&at));
                std::os::unix::fs::symlink(target.as_str(), &at)?;
                Entry::Symlink { target }
            }
            _ => return Err("not what a pack sends".into()),
        };
        entries.push((path, entry));
    }
    let arrived = members.finish_trailer()?;
    let tree: Tree = entries.into_iter().collect();
    let identities = tree
        .iter()
        .map(|(path, _)| Ok((path.to_owned(), identity(&volume.join(path.as_str()))?)))
        .collect::<io::Result<BTreeMap<RelPathBuf, _>>>()?;
    // A later write must not share a tick of the clock that ctime is taken from.
    lazaret_tests::clock::wait_past_tick();
    Ok(Receipt {
        arrived,
        identities,
    })
}

/// `porter probe`: a report in which every control holds.
pub(super) fn healthy_report() -> String {
    let reported = Control::ALL
        .iter()
        .filter(|control| **control <= Control::Terminal);
    let lines: Vec<String> = reported
        .map(|control| format!("{} pass as it should be\n", control.id()))
        .collect();
    let place = "place mnt=1,pid=2,net=3,ipc=4,uts=5,user=6,cgroup=7,root=8";
    format!("{}{place}\nend {}\n", lines.concat(), lines.len())
}

/// `porter survey`.
pub(super) fn survey(volume: &Path, stdin: &mut dyn Read) -> Result<Survey, Broken> {
    let request = SurveyRequest::read_from(stdin)?;
    let mut known = request.known.into_iter().collect();
    let mut survey = Survey::default();
    look((volume, ""), request.hash_policy, &mut known, &mut survey)?;
    survey.gone = known
        .into_keys()
        .map(|path| path.as_str().as_bytes().to_vec())
        .collect();
    Ok(survey)
}

fn look(
    (volume, below): (&Path, &str),
    hash_policy: HashPolicy,
    known: &mut BTreeMap<RelPathBuf, VolumeIdentity>,
    survey: &mut Survey,
) -> Result<(), Broken> {
    let mut names: Vec<String> = fs::read_dir(volume.join(below))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort_unstable();
    for name in names {
        let path = match below {
            "" => name,
            below => format!("{below}/{name}"),
        };
        let at = volume.join(&path);
        let now = identity(&at)?;
        let before = known.remove(RelPath::from_bytes(path.as_bytes())?);
        let kind = match FileType::from_raw_mode(now.mode) {
            FileType::Directory => {
                if before.map(|before| before.mode) != Some(now.mode) {
                    survey.found.push(FoundEntry {
                        name: path.clone().into_bytes(),
                        kind: FoundKind::Dir { identity: now },
                    });
                }
                look((volume, &path), hash_policy, known, survey)?;
                continue;
            }
            _ if before == Some(now) => continue,
            FileType::Symlink => FoundKind::Symlink {
                identity: now,
                target: fs::read_link(&at)?.into_os_string().into_encoded_bytes(),
            },
            _ => FoundKind::File {
                identity: now,
                links: 1,
                digest: match hash_policy {
                    HashPolicy::KnownOnly if before.is_none() && is_fetched(&path, now.size) => {
                        None
                    }
                    _ => Some(Digest::of(&fs::read(&at)?)),
                },
            },
        };
        let name = path.into_bytes();
        survey.found.push(FoundEntry { name, kind });
    }
    Ok(())
}

fn is_fetched(path: &str, size: u64) -> bool {
    RelPath::from_bytes(path.as_bytes()).is_ok_and(|path| Wanted::covers(path, size))
}

/// `porter send`; `altered` may change the bytes of a file on its way.
pub(super) fn send(
    volume: &Path,
    stdin: &mut dyn Read,
    stdout: &mut dyn Write,
    altered: impl Fn(&mut Vec<u8>),
) -> Result<(), Broken> {
    let mut stream = StreamWriter::new(stdout);
    for wanted in read_wanted(stdin)? {
        let at = volume.join(wanted.path.as_str());
        let mut bytes = fs::read(&at)?;
        altered(&mut bytes);
        let mode = lazaret_tree::Mode::from_unix(identity(&at)?.mode);
        stream.contents(&wanted.path, mode, &bytes, FileTime::default())?;
    }
    stream.finish()?;
    Ok(())
}

fn identity(path: &Path) -> io::Result<VolumeIdentity> {
    Ok(VolumeIdentity::from(&rustix::fs::lstat(path)?))
}
