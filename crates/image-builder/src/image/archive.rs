//! `Archive`: an image as the stream that `docker load` takes.
//!
//! `<config>.json`, one `<layer>.tar` for each layer, and `manifest.json`, which
//! names them (the docker-archive format, "Image JSON" v1.2). Layers are read from
//! where they are: nothing is staged.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;

use serde::Serialize;

use crate::layer::writer::{EPOCH, LayerDigest, sha256};

const BLOCK: usize = 512;

/// A layer and where its bytes are.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// What it is for, for the image's history.
    pub(crate) purpose: String,
    /// What its bytes hash to.
    pub(crate) digest: LayerDigest,
    /// Where they are.
    pub(crate) source: LayerSource,
}

/// Where a layer's bytes are.
#[derive(Debug, Clone)]
pub(crate) enum LayerSource {
    /// In memory.
    Memory(Vec<u8>),
    /// In a file that holds nothing else.
    File(PathBuf),
}

/// An image as the stream that `docker load` takes.
#[derive(Debug)]
pub(crate) struct Archive {
    /// The image's id, `sha256:…`.
    pub(crate) id: String,
    /// Bytes in all.
    pub(crate) size: u64,
    segments: VecDeque<Segment>,
}

#[derive(Debug)]
enum Segment {
    Memory(Cursor<Vec<u8>>),
    File(io::Take<File>),
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest<'a> {
    config: String,
    repo_tags: [&'a str; 1],
    layers: Vec<String>,
}

impl Archive {
    /// Puts an image together from its configuration and its layers, lowest first.
    ///
    /// # Errors
    /// When a layer's file can't be opened or has not the size that it should have.
    pub(crate) fn assemble(config: Vec<u8>, tag: &str, layers: Vec<Layer>) -> io::Result<Self> {
        let config_hex = sha256(&config);
        let manifest = serde_json::to_vec(&[Manifest {
            config: format!("{config_hex}.json"),
            repo_tags: [tag],
            layers: layers
                .iter()
                .map(|layer| format!("{}.tar", layer.digest.hex))
                .collect(),
        }])?;
        let mut archive = Self {
            id: format!("sha256:{config_hex}"),
            size: 0,
            segments: VecDeque::new(),
        };
        archive.push_memory(&format!("{config_hex}.json"), config)?;
        for layer in layers {
            archive.push_layer(layer)?;
        }
        archive.push_memory("manifest.json", manifest)?;
        archive.push(
            Segment::Memory(Cursor::new(vec![0; 2 * BLOCK])),
            2 * BLOCK as u64,
        );
        Ok(archive)
    }

    fn push_layer(&mut self, layer: Layer) -> io::Result<()> {
        let name = format!("{}.tar", layer.digest.hex);
        match layer.source {
            LayerSource::Memory(bytes) => self.push_memory(&name, bytes),
            LayerSource::File(path) => {
                let size = layer.digest.size;
                let file = File::open(&path)?;
                let found = file.metadata()?.len();
                if found != size {
                    return Err(io::Error::other(format!(
                        "{} has {found} bytes, expected {size}",
                        path.display()
                    )));
                }
                self.push_header(&name, size)?;
                self.push(Segment::File(file.take(size)), size);
                self.push_padding(size);
                Ok(())
            }
        }
    }

    fn push_memory(&mut self, name: &str, bytes: Vec<u8>) -> io::Result<()> {
        let size = bytes.len() as u64;
        self.push_header(name, size)?;
        self.push(Segment::Memory(Cursor::new(bytes)), size);
        self.push_padding(size);
        Ok(())
    }

    fn push_header(&mut self, name: &str, size: u64) -> io::Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_path(name)?;
        header.set_size(size);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(EPOCH);
        header.set_cksum();
        self.push(
            Segment::Memory(Cursor::new(header.as_bytes().to_vec())),
            BLOCK as u64,
        );
        Ok(())
    }

    fn push_padding(&mut self, size: u64) {
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        self.push(
            Segment::Memory(Cursor::new(vec![0; padding as usize])),
            padding,
        );
    }

    fn push(&mut self, segment: Segment, size: u64) {
        self.size += size;
        self.segments.push_back(segment);
    }
}

impl Read for Archive {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(segment) = self.segments.front_mut() {
            let count = match segment {
                Segment::Memory(bytes) => bytes.read(buffer)?,
                Segment::File(file) => file.read(buffer)?,
            };
            if count > 0 {
                return Ok(count);
            }
            // A file that shrank since it was opened would shift everything after it.
            if let Segment::File(file) = segment
                && file.limit() > 0
            {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            self.segments.pop_front();
        }
        Ok(0)
    }
}
