//! Finds files that two parts of a combined image have in one place with different contents.
//!
//! A component with `paths` is installed on the base alone, so nothing else notices that its layer
//! hides a file of another one. Two components of one declaration are its author's choice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use lazaret_tree::escape;

use crate::image::archive::LayerSource;
use crate::layer::stack::LayerStack;
use crate::spec::combine_error::CombineError;
use crate::{BuildError, Builder, ComponentRequest, ImageSpec};

/// What a layer has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Member {
    Dir,
    File { offset: u64, size: u64 },
    Link(Vec<u8>),
}

/// A place in a file.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a Path,
    offset: u64,
}

/// A component's layer.
struct Placed<'a> {
    choice: &'a ComponentRequest,
    file: &'a Path,
    members: BTreeMap<Vec<u8>, Member>,
}

impl Builder<'_> {
    /// Looks whether the components of a combined image fit together.
    ///
    /// # Errors
    /// [`CombineError::Path`].
    pub(crate) fn refuse_overlaps(
        &self,
        spec: &ImageSpec,
        stack: &LayerStack,
    ) -> Result<(), BuildError> {
        if !spec.name.is_combined() {
            return Ok(());
        }
        let parts: Vec<_> = spec
            .name
            .parts()
            .map(|part| self.catalog.components_of(part))
            .collect();
        let failed = |source| BuildError::Assemble {
            image: spec.name.to_string(),
            source,
        };
        let first = stack.layers.len().saturating_sub(spec.components.len());
        let layers = stack.layers.iter().skip(first).zip(&spec.components);
        let mut below: Vec<Placed<'_>> = Vec::new();
        for (layer, choice) in layers {
            let LayerSource::File(file) = &layer.source else {
                continue;
            };
            let placed = Placed {
                choice,
                file,
                members: members(file).map_err(failed)?,
            };
            for other in &below {
                let names = [&choice.component, &other.choice.component].map(|name| name.as_str());
                let of_one = |part: &BTreeSet<&str>| names.iter().all(|name| part.contains(name));
                // The later of two without `paths` saw what the earlier one installed.
                let saw = !self.has_paths(choice) && !self.has_paths(other.choice);
                if saw || parts.iter().any(of_one) {
                    continue;
                }
                if let Some(path) = placed.differs_from(other).map_err(failed)? {
                    return Err(BuildError::Combine(CombineError::Path {
                        one: other.choice.image.to_string(),
                        other: choice.image.to_string(),
                        path: escape(path).to_string(),
                    }));
                }
            }
            below.push(placed);
        }
        Ok(())
    }

    fn has_paths(&self, choice: &ComponentRequest) -> bool {
        let component = self.catalog.component(&choice.component);
        component.is_some_and(|component| !component.paths.is_empty())
    }
}

impl Placed<'_> {
    /// Returns the first path at which the two have different things.
    fn differs_from(&self, other: &Self) -> io::Result<Option<&[u8]>> {
        for (path, member) in &self.members {
            let Some(there) = other.members.get(path) else {
                continue;
            };
            let is_same = match (member, there) {
                (Member::File { size, .. }, Member::File { size: other, .. }) if size != other => {
                    false
                }
                (Member::File { offset, size }, Member::File { offset: there, .. }) => {
                    let [here, there] = [(self.file, *offset), (other.file, *there)]
                        .map(|(file, offset)| Place { file, offset });
                    same_bytes(here, there, *size)?
                }
                (member, there) => member == there,
            };
            if !is_same {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

fn members(layer: &Path) -> io::Result<BTreeMap<Vec<u8>, Member>> {
    let mut members = BTreeMap::new();
    let mut archive = tar::Archive::new(File::open(layer)?);
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        let path = entry.path_bytes();
        let path = path.strip_suffix(b"/").unwrap_or(&path).to_vec();
        let member = match entry.header().entry_type() {
            tar::EntryType::Directory => Member::Dir,
            tar::EntryType::Regular => Member::File {
                offset: entry.raw_file_position(),
                size: entry.size(),
            },
            _ => Member::Link(entry.link_name_bytes().unwrap_or_default().into_owned()),
        };
        members.insert(path, member);
    }
    Ok(members)
}

/// Whether `size` bytes at two places are the same.
fn same_bytes(one: Place<'_>, other: Place<'_>, size: u64) -> io::Result<bool> {
    let open = |place: Place<'_>| {
        let mut file = File::open(place.file)?;
        file.seek(SeekFrom::Start(place.offset))?;
        io::Result::Ok(BufReader::new(file).take(size))
    };
    let (mut one, mut other) = (open(one)?, open(other)?);
    let (mut left, mut right) = ([0; 8192], [0; 8192]);
    loop {
        let read = one.read(&mut left)?;
        let Some((left, right)) = left.get(..read).zip(right.get_mut(..read)) else {
            return Ok(false);
        };
        other.read_exact(right)?;
        if left != right {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::writer::{Attributes, LayerWriter};

    fn layer(dir: &Path, name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let mut layer = LayerWriter::new(Vec::new());
        layer.dir(b"usr", Attributes::root(0o755)).unwrap();
        for (path, text) in files {
            let size = text.len() as u64;
            let attributes = Attributes::root(0o755);
            layer
                .file(path.as_bytes(), attributes, size, text.as_bytes())
                .unwrap();
        }
        let (bytes, _) = layer.finish().unwrap();
        let path = dir.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn layers_differ_where_a_path_has_other_content() {
        let dir = tempfile::tempdir().unwrap();
        let choice = ComponentRequest {
            component: "x".parse().unwrap(),
            image: "x".parse().unwrap(),
            line: 1,
            version: None,
            source: None,
            packages: Vec::new(),
        };
        let one = layer(dir.path(), "one", &[("usr/a", "same"), ("usr/b", "here")]);
        for (name, files, expected) in [
            ("same", [("usr/a", "same"), ("usr/c", "more")], None),
            (
                "other",
                [("usr/a", "same"), ("usr/b", "HERE")],
                Some("usr/b"),
            ),
            (
                "longer",
                [("usr/a", "same!"), ("usr/b", "here")],
                Some("usr/a"),
            ),
        ] {
            let other = layer(dir.path(), name, &files);
            let [one, other] = [&one, &other].map(|file| Placed {
                choice: &choice,
                file,
                members: members(file).unwrap(),
            });
            let found = other.differs_from(&one).unwrap();
            assert_eq!(found, expected.map(str::as_bytes), "{name}");
        }
    }
}
