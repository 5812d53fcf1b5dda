//! The archive's files as a Debian package (deb(5)): where Debian has programs, completions and
//! manual pages.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use flate2::{Compression, GzBuilder};

use super::archive::files;

/// What the package is made from.
#[derive(Debug)]
pub(super) struct Package<'a> {
    /// The staged files of the archive.
    pub(super) stage: &'a Path,
    /// The version, without Debian's revision.
    pub(super) version: &'a str,
    /// The triple that the program is built for.
    pub(super) triple: &'a str,
    /// The time of every entry, in seconds since 1970.
    pub(super) mtime: u64,
}

/// A file of the package, with its path below `/`.
struct Entry {
    path: PathBuf,
    bytes: Vec<u8>,
    mode: u32,
}

impl Package<'_> {
    /// Names the file.
    ///
    /// # Errors
    /// Debian has no name for the architecture.
    pub(super) fn file_name(&self) -> Result<String> {
        Ok(format!(
            "lazaret_{}_{}.deb",
            self.version,
            self.architecture()?
        ))
    }

    fn architecture(&self) -> Result<&'static str> {
        match self.triple.split('-').next() {
            Some("x86_64") => Ok("amd64"),
            Some("aarch64") => Ok("arm64"),
            _ => bail!("Debian's name for {} is not known here", self.triple),
        }
    }

    /// Writes the package.
    ///
    /// # Errors
    /// A file can't be read or written.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let entries = self.entries()?;
        let control = [Entry {
            path: PathBuf::from("control"),
            bytes: self.control(&entries)?.into_bytes(),
            mode: 0o644,
        }];
        let members = [
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.gz", self.tar(&control)?),
            ("data.tar.gz", self.tar(&entries)?),
        ];
        let file = File::create(path).with_context(|| path.display().to_string())?;
        write_ar(file, &members, self.mtime)
    }

    fn control(&self, entries: &[Entry]) -> Result<String> {
        let bytes: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
        Ok(format!(
            "Package: lazaret\n\
             Version: {}\n\
             Architecture: {}\n\
             Maintainer: The lazaret developers <lazaret@example.invalid>\n\
             Installed-Size: {}\n\
             Recommends: podman | docker.io | docker-ce, git\n\
             Suggests: gh\n\
             Section: devel\n\
             Priority: optional\n\
             Description: run coding agents and untrusted commands in a hardened container\n \
             The project is copied in, never mounted. Changes come back only through a gate\n \
             that collects, judges and shows them, and applies them in one transaction.\n",
            self.version,
            self.architecture()?,
            bytes.div_ceil(1024),
        ))
    }

    /// Reads the staged files, each for its place in the package.
    fn entries(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for file in files(self.stage)? {
            let Some(path) = place(&file) else {
                continue;
            };
            let bytes = fs::read(self.stage.join(&file))?;
            let bytes = match path.extension().is_some_and(|end| end == "gz") {
                true => gzip(&bytes)?,
                false => bytes,
            };
            let mode = match path == Path::new("usr/bin/lazaret") {
                true => 0o755,
                false => 0o644,
            };
            entries.push(Entry { path, bytes, mode });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// A `tar.gz` with the directories of the entries, each once.
    fn tar(&self, entries: &[Entry]) -> Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut made: Vec<&Path> = Vec::new();
        for entry in entries {
            let mut above: Vec<&Path> = entry.path.ancestors().skip(1).collect();
            above.reverse();
            for dir in above {
                if dir.as_os_str().is_empty() || made.contains(&dir) {
                    continue;
                }
                made.push(dir);
                let mut header = self.header(0, 0o755);
                header.set_entry_type(tar::EntryType::Directory);
                tar.append_data(&mut header, dir, &[][..])?;
            }
            let mut header = self.header(entry.bytes.len(), entry.mode);
            tar.append_data(&mut header, &entry.path, &entry.bytes[..])?;
        }
        gzip(&tar.into_inner()?)
    }

    fn header(&self, size: usize, mode: u32) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(size as u64);
        header.set_mode(mode);
        header.set_mtime(self.mtime);
        header.set_uid(0);
        header.set_gid(0);
        header
    }
}

/// Returns where Debian has a file of the archive; what has no place in a package is left out.
fn place(file: &Path) -> Option<PathBuf> {
    let text = file.to_str()?;
    let path = match text {
        "lazaret" => "usr/bin/lazaret".to_owned(),
        "completions/lazaret.bash" => "usr/share/bash-completion/completions/lazaret".to_owned(),
        "completions/lazaret.fish" => "usr/share/fish/vendor_completions.d/lazaret.fish".to_owned(),
        "completions/lazaret.zsh" => "usr/share/zsh/vendor-completions/_lazaret".to_owned(),
        "CHANGELOG.md" => "usr/share/doc/lazaret/changelog.gz".to_owned(),
        "THIRD-PARTY.txt" => "usr/share/doc/lazaret/copyright".to_owned(),
        "SHA256SUMS" => return None,
        _ => match text.strip_prefix("man/") {
            Some(page) => format!("usr/share/man/{page}.gz"),
            None => format!("usr/share/doc/lazaret/{text}"),
        },
    };
    Some(PathBuf::from(path))
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    // gzip's own header would hold the time of now.
    let mut gzip = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    Ok(gzip.finish()?)
}

/// Writes an archive in the format of ar(5): a header of 60 bytes for each member, and an even
/// number of bytes.
fn write_ar(mut out: impl std::io::Write, members: &[(&str, Vec<u8>)], mtime: u64) -> Result<()> {
    out.write_all(b"!<arch>\n")?;
    for (name, bytes) in members {
        let size = bytes.len();
        writeln!(
            out,
            "{name:<16}{mtime:<12}{:<6}{:<6}{:<8}{size:<10}`",
            0, 0, "100644"
        )?;
        out.write_all(bytes)?;
        if size % 2 == 1 {
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_archive_has_one_place() {
        for (file, place_of) in [
            ("lazaret", Some("usr/bin/lazaret")),
            (
                "man/man1/lazaret-run.1",
                Some("usr/share/man/man1/lazaret-run.1.gz"),
            ),
            (
                "completions/lazaret.zsh",
                Some("usr/share/zsh/vendor-completions/_lazaret"),
            ),
            (
                "docs/how-to/claude.md",
                Some("usr/share/doc/lazaret/docs/how-to/claude.md"),
            ),
            ("LICENSE-MIT", Some("usr/share/doc/lazaret/LICENSE-MIT")),
            ("SHA256SUMS", None),
        ] {
            assert_eq!(
                place(Path::new(file)).as_deref(),
                place_of.map(Path::new),
                "{file}"
            );
        }
    }

    #[test]
    fn the_package_is_the_same_each_time_and_has_deb_s_members_in_order() {
        let stage = tempdir();
        fs::create_dir_all(stage.join("man/man1")).unwrap();
        fs::write(stage.join("lazaret"), "program").unwrap();
        fs::write(stage.join("man/man1/lazaret.1"), "page").unwrap();
        let package = Package {
            stage: &stage,
            version: "1.2.3",
            triple: "aarch64-unknown-linux-gnu",
            mtime: 1_700_000_000,
        };
        assert_eq!(package.file_name().unwrap(), "lazaret_1.2.3_arm64.deb");
        let (one, two) = (stage.join("one"), stage.join("two"));
        package.write(&one).unwrap();
        let bytes = fs::read(&one).unwrap();
        fs::remove_file(&one).unwrap();
        package.write(&two).unwrap();
        assert_eq!(bytes, fs::read(&two).unwrap());
        let names: Vec<_> = members(&bytes).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
        let data = members(&bytes).remove(2).1;
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(&data[..]));
        let listed: Vec<_> = tar
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().unwrap().display().to_string();
                format!("{:o} {path}", entry.header().mode().unwrap())
            })
            .collect();
        assert_eq!(
            listed,
            [
                "755 usr",
                "755 usr/bin",
                "755 usr/bin/lazaret",
                "755 usr/share",
                "755 usr/share/man",
                "755 usr/share/man/man1",
                "644 usr/share/man/man1/lazaret.1.gz",
            ]
        );
        fs::remove_dir_all(stage).unwrap();
    }

    fn tempdir() -> PathBuf {
        let dir = std::env::temp_dir().join(format!("lazaret-deb-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn members(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut rest = bytes.strip_prefix(b"!<arch>\n").unwrap();
        let mut members = Vec::new();
        while !rest.is_empty() {
            let (header, after) = rest.split_at(60);
            let header = std::str::from_utf8(header).unwrap();
            let size: usize = header[48..58].trim().parse().unwrap();
            members.push((header[..16].trim().to_owned(), after[..size].to_vec()));
            rest = &after[size + size % 2..];
        }
        members
    }
}
