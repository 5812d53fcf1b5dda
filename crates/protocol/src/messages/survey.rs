//! `Survey`: what in the volume differs from what is known of it.

use std::io::{self, Read, Write};

use lazaret_tree::{Digest, FindingCode, finding_code};

use crate::records::{FormatTag, RecordError, RecordReader, RecordWriter};
use crate::{StreamError, StreamLimits, VolumeIdentity};

const MAGIC: FormatTag = *b"lzsurv 3";

/// Everything that differs from what is known, in the order of the walk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// What is new or changed.
    pub found: Vec<FoundEntry>,
    /// Raw paths that are no longer there.
    pub gone: Vec<Vec<u8>>,
}

/// One entry that is new or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEntry {
    /// The raw path below the root.
    pub name: Vec<u8>,
    /// What lies there.
    pub kind: FoundKind,
}

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundKind {
    /// A directory.
    Dir {
        /// What tells it from any later state.
        identity: VolumeIdentity,
    },
    /// A regular file.
    File {
        /// What tells it from any later state; its size and its mode are the file's.
        identity: VolumeIdentity,
        /// How many names it has.
        links: u32,
        /// BLAKE3 of the contents; `None` where the request did without.
        digest: Option<Digest>,
    },
    /// A symbolic link.
    Symlink {
        /// What tells it from any later state.
        identity: VolumeIdentity,
        /// Its raw target.
        target: Vec<u8>,
    },
    /// Neither file nor directory nor link.
    Special(SpecialType),
    /// A cache directory that was not there before; not entered.
    Cache,
    /// Anything with a name that lazaret does not carry; not read, not entered.
    BadName,
}

/// What a file system can hold beside files, directories and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpecialType {
    /// A FIFO.
    Fifo,
    /// A Unix socket.
    Socket,
    /// A character or block device.
    Device,
    /// A type that this program does not know.
    Unknown,
}

impl SpecialType {
    /// Returns the byte that stands for it in a record.
    pub fn tag(self) -> u8 {
        match self {
            Self::Fifo => b'p',
            Self::Socket => b's',
            Self::Device => b'b',
            Self::Unknown => b'?',
        }
    }

    /// Reads what [`SpecialType::tag`] returned.
    pub fn from_tag(tag: u8) -> Option<Self> {
        let all = [Self::Fifo, Self::Socket, Self::Device, Self::Unknown];
        all.into_iter().find(|odd| odd.tag() == tag)
    }

    /// Returns the stable code of a refusal.
    pub fn code(self) -> &'static FindingCode {
        match self {
            Self::Fifo => finding_code::TYPE_FIFO,
            Self::Socket => finding_code::TYPE_SOCKET,
            Self::Device => finding_code::TYPE_DEVICE,
            Self::Unknown => finding_code::TYPE_UNKNOWN,
        }
    }

    /// Names the type.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "neither file, nor directory, nor link",
        }
    }
}

/// Why there is no survey.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// The list is broken.
    #[error(transparent)]
    Wire(#[from] RecordError),
    /// The porter gave up: the volume holds more than the limits allow.
    #[error(transparent)]
    Limit(StreamError),
    /// A name that no file system can hold.
    #[error("the survey has an impossible name: {}", lazaret_tree::escape(.name))]
    Name {
        /// The name.
        name: Vec<u8>,
    },
    /// The list contradicts itself or the baseline.
    #[error("the survey contradicts itself at {}", lazaret_tree::escape(.name))]
    Contradiction {
        /// Where.
        name: Vec<u8>,
    },
}

impl SurveyError {
    /// Returns the stable code, such as `limit.file_bytes`.
    pub fn code(&self) -> &'static FindingCode {
        match self {
            Self::Wire(error) => error.code(),
            Self::Limit(error) => error.code(),
            Self::Name { .. } => finding_code::SURVEY_NAME,
            Self::Contradiction { .. } => finding_code::SURVEY_CONTRADICTION,
        }
    }
}

impl Survey {
    /// Writes the survey.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        for FoundEntry { name, kind } in &self.found {
            match kind {
                FoundKind::Dir { identity } => {
                    frame.tag(b'd')?.path(name)?.identity(identity);
                }
                FoundKind::File {
                    identity,
                    links,
                    digest,
                } => {
                    let tag = if digest.is_some() { b'f' } else { b'u' };
                    let record = frame.tag(tag)?.path(name)?.identity(identity);
                    record.u32(*links);
                    if let Some(digest) = digest {
                        record.digest(digest);
                    }
                }
                FoundKind::Symlink { identity, target } => {
                    let record = frame.tag(b'l')?.path(name)?;
                    record.identity(identity).bytes(target)?;
                }
                FoundKind::Special(odd) => {
                    frame.tag(b'o')?.path(name)?.u8(odd.tag());
                }
                FoundKind::Cache => {
                    frame.tag(b'c')?.path(name)?;
                }
                FoundKind::BadName => {
                    frame.tag(b'n')?.path(name)?;
                }
            }
        }
        for name in &self.gone {
            frame.tag(b'g')?.path(name)?;
        }
        frame.finish()
    }

    /// Writes, in place of a survey, the limit that ended it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_given_up(error: &StreamError, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = RecordWriter::new(out, MAGIC);
        match error {
            StreamError::TooManyEntries { limit } => {
                frame.tag(b'E')?.u64(*limit);
            }
            StreamError::TooManyBytes { limit } => {
                frame.tag(b'B')?.u64(*limit);
            }
            StreamError::TooManyNames { limit } => {
                frame.tag(b'N')?.u64(*limit);
            }
            StreamError::FileTooBig { name, size, limit } => {
                frame.tag(b'F')?.path(name)?.u64(*size).u64(*limit);
            }
            other => return Err(io::Error::other(other.to_string())),
        }
        frame.finish()
    }

    /// Reads a survey and holds it to `limits` again.
    ///
    /// # Errors
    /// When it is cut off or changed, or tells of more than the limits.
    pub fn read_from(input: &mut dyn Read, limits: &StreamLimits) -> Result<Self, SurveyError> {
        let mut frame = RecordReader::new(input, MAGIC, "survey of version 3")?;
        let mut survey = Self::default();
        let (mut entries, mut bytes, mut names) = (0, 0_u64, 0);
        while let Some(tag) = frame.tag()? {
            let given_up = match tag {
                b'E' => Some(StreamError::TooManyEntries {
                    limit: frame.u64()?,
                }),
                b'B' => Some(StreamError::TooManyBytes {
                    limit: frame.u64()?,
                }),
                b'N' => Some(StreamError::TooManyNames {
                    limit: frame.u64()?,
                }),
                b'F' => Some(StreamError::FileTooBig {
                    name: frame.path()?.to_vec(),
                    size: frame.u64()?,
                    limit: frame.u64()?,
                }),
                _ => None,
            };
            if let Some(error) = given_up {
                return Err(SurveyError::Limit(error));
            }
            let name = frame.path()?.to_vec();
            names += name.len() as u64;
            if names > limits.name_bytes {
                let limit = limits.name_bytes;
                return Err(SurveyError::Limit(StreamError::TooManyNames { limit }));
            }
            let kind = match tag {
                b'g' => {
                    survey.gone.push(name);
                    continue;
                }
                b'd' => FoundKind::Dir {
                    identity: frame.identity()?,
                },
                b'f' | b'u' => {
                    let identity = frame.identity()?;
                    let links = frame.u32()?;
                    let digest = match tag {
                        b'f' => Some(frame.digest()?),
                        _ => None,
                    };
                    let size = identity.size;
                    if size > limits.file_bytes {
                        let limit = limits.file_bytes;
                        let error = StreamError::FileTooBig { name, size, limit };
                        return Err(SurveyError::Limit(error));
                    }
                    bytes = bytes.saturating_add(size);
                    FoundKind::File {
                        identity,
                        links,
                        digest,
                    }
                }
                b'l' => FoundKind::Symlink {
                    identity: frame.identity()?,
                    target: frame.bytes()?.to_vec(),
                },
                b'o' => {
                    let odd = SpecialType::from_tag(frame.u8()?);
                    FoundKind::Special(odd.ok_or(RecordError::malformed("a type"))?)
                }
                b'c' => FoundKind::Cache,
                b'n' => FoundKind::BadName,
                _ => return Err(RecordError::malformed("a tag").into()),
            };
            if !survey.gone.is_empty() {
                return Err(RecordError::malformed("the order").into());
            }
            entries += 1;
            if entries > limits.entries {
                let limit = limits.entries;
                return Err(SurveyError::Limit(StreamError::TooManyEntries { limit }));
            }
            if bytes > limits.total_bytes {
                let limit = limits.total_bytes;
                return Err(SurveyError::Limit(StreamError::TooManyBytes { limit }));
            }
            survey.found.push(FoundEntry { name, kind });
        }
        Ok(survey)
    }
}
