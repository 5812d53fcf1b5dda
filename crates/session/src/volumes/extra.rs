//! `ExtraDirs`: other directories of the host, in a volume that a command can only read.
//!
//! The volume is the session's, and mounted below its workspace. It is copied anew for a start that
//! finds another digest than the one before. A `.gitignore` at its root keeps it out of the
//! commits of the workspace.

use std::io::Read as _;

use lazaret_image_builder::Pinned;
use lazaret_protocol::{FileTime, Receipt, StreamWriter, Trailer, Verb};
use lazaret_runtime::{
    Access, ContainerLease, ContainerSpec, HardenedSpec, Limits, Role, Spawner, Unenforceable,
    VolumeMount,
};
use lazaret_transfer::{FileSelector, Hashing, Skipped, WalkError, WorkspaceDir, pack, walk};
use lazaret_tree::{Digest, EXTRA_DIR, Mode, RelPath, RelPathBuf, Tree, diff};

use super::error::VolumeError;
use super::provide::LARGEST_FILE;
use crate::context::{SessionContext, WORKSPACE};
use crate::engine::containers::base;
use crate::engine::lasting_volume::LastingVolume;
use crate::event::Event;
use crate::porter::conversation::{
    ANSWER_CAP, FromPorter, PorterCall, PorterError, ToPorter, until_exit,
};

/// Another directory of the host.
#[derive(Debug)]
pub struct ExtraDir {
    /// Its name inside, one component.
    pub name: RelPathBuf,
    /// It.
    pub dir: WorkspaceDir,
    /// What of it goes in.
    pub selector: FileSelector,
}

/// Other directories of the host, read once.
#[derive(Debug)]
pub struct ExtraDirs {
    dirs: Vec<ReadDir>,
    digest: Digest,
}

#[derive(Debug)]
struct ReadDir {
    extra: ExtraDir,
    digest: Digest,
    skipped: Vec<Skipped>,
}

impl ExtraDirs {
    /// Reads all of them.
    ///
    /// # Errors
    /// The first entry that can't be read, or that changes meanwhile.
    pub fn read(mut dirs: Vec<ExtraDir>) -> Result<Self, WalkError> {
        dirs.sort_by(|a, b| a.name.cmp(&b.name));
        let mut text = String::new();
        let mut read = Vec::new();
        for extra in dirs {
            let mut walked = walk(&extra.dir, &extra.selector, Hashing::parallel())?;
            let digest = digest(&walked.tree);
            text.push_str(&format!("{} {}\n", digest.to_hex(), extra.name));
            for skipped in &mut walked.skipped {
                let place = format!("{EXTRA_DIR}/{}/", extra.name);
                skipped.name.splice(..0, place.into_bytes());
            }
            read.push(ReadDir {
                extra,
                digest,
                skipped: walked.skipped,
            });
        }
        Ok(Self {
            dirs: read,
            digest: Digest::of(text.as_bytes()),
        })
    }

    /// Returns what tells this state of them from every other.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns where they lie inside.
    pub fn target() -> String {
        format!("{WORKSPACE}/{EXTRA_DIR}")
    }

    /// Copies them into an empty volume.
    ///
    /// # Errors
    /// The engine's, the porter's, or that one has changed since it was read.
    pub(super) fn copy(
        &self,
        cx: &SessionContext<'_>,
        volume: &LastingVolume<'_>,
        porter: &Pinned,
    ) -> Result<(), VolumeError> {
        let spec = copier(cx, volume, porter)?;
        let container = &spec.spec().name;
        // One that is there was left by a launcher that died.
        cx.engine.remove_container(container)?;
        let lease = ContainerLease::create(&cx.engine, &spec)?;
        let _killed = cx.kill_on_cancel(container);
        cx.engine.start_container(container)?;
        // As long as it lives, so does the container.
        let spawner = cx.spawner(container);
        receive(cx, &spawner, WORKSPACE, |out| self.write_frame(out))?;
        for dir in &self.dirs {
            let root = format!("{WORKSPACE}/{}", dir.extra.name);
            receive(cx, &spawner, &root, |out| dir.write(out))?;
            cx.events.event(Event::LeftOut(&dir.skipped));
        }
        Ok(lease.release()?)
    }

    /// Writes what they lie in.
    fn write_frame(&self, out: ToPorter<'_>) -> Result<Trailer, VolumeError> {
        let stream_error = |error| VolumeError::Porter(PorterError::Stream(error));
        let mut stream = StreamWriter::new(out);
        let written = stream.contents(
            RelPath::new(".gitignore").unwrap_or_else(|_| unreachable!("one plain name")),
            Mode::Plain,
            b"*\n",
            FileTime::default(),
        );
        written.map_err(stream_error)?;
        for dir in &self.dirs {
            stream.dir(&dir.extra.name).map_err(stream_error)?;
        }
        stream.finish().map_err(stream_error)
    }
}

impl ReadDir {
    fn write(&self, out: ToPorter<'_>) -> Result<Trailer, VolumeError> {
        let ExtraDir {
            dir,
            selector,
            name,
        } = &self.extra;
        let packed = pack(dir, selector, out, &mut |_| {})?;
        let sent = packed.manifest.tree().map_err(VolumeError::Receipt)?;
        match digest(&sent) == self.digest {
            true => Ok(packed.trailer),
            false => Err(VolumeError::ExtraChanged { name: name.clone() }),
        }
    }
}

/// Has the porter write a stream into an empty directory, and checks its receipt.
fn receive(
    cx: &SessionContext<'_>,
    spawner: &Spawner,
    root: &str,
    write: impl FnOnce(ToPorter<'_>) -> Result<Trailer, VolumeError>,
) -> Result<(), VolumeError> {
    let root = root.to_owned();
    let process = cx.carry_by(spawner, Verb::Receive { root })?;
    let call = PorterCall {
        name: "receive",
        container: spawner.container(),
    };
    until_exit(cx, call, process, |out, answers: FromPorter<'_>| {
        let sent = write(out)?;
        out.flush().map_err(PorterError::Stream)?;
        let mut answers = answers.take(ANSWER_CAP);
        let receipt =
            Receipt::read_from(&mut answers, sent.entries).map_err(VolumeError::Receipt)?;
        match receipt.arrived == sent {
            true => Ok(()),
            false => Err(VolumeError::OtherReceipt),
        }
    })
}

/// Hardens the container that writes into the volume.
fn copier(
    cx: &SessionContext<'_>,
    volume: &LastingVolume<'_>,
    porter: &Pinned,
) -> Result<HardenedSpec, Unenforceable> {
    let base = base(volume.owner, Role::Importer, porter);
    let spec = ContainerSpec {
        name: volume.owner.extra_copier(),
        volumes: vec![VolumeMount {
            volume: volume.name.clone(),
            target: WORKSPACE.to_owned(),
            access: Access::ReadWrite,
        }],
        limits: Limits {
            fsize: LARGEST_FILE,
            ..base.limits.clone()
        },
        ..base
    };
    HardenedSpec::new(spec, &cx.info)
}

/// Returns what tells a tree from every other.
fn digest(tree: &Tree) -> Digest {
    diff(&Tree::new(), tree).digest()
}
