//! `Ground`: what is believed to lie where an update writes.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use lazaret_tree::{RelPath, RelPathBuf};

use super::malformed;
use crate::records::{FrameReader, FrameWriter, Magic};
use crate::{VolumeIdentity, WireError};

const MAGIC: Magic = *b"lzgrnd 1";
/// One byte each.
const HOLDS: u8 = b'y';
const DIFFERS: u8 = b'n';

/// What lies at one path of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    /// Nothing.
    Nothing,
    /// A directory, whatever it holds.
    Dir,
    /// A file or a link that still has this identity.
    Entry(VolumeIdentity),
    /// Something that only a survey can tell of: nothing holds that rests on it.
    Unclear,
}

/// All that an update rests on, by path. Where it holds, the update does what it would have
/// been told to do after a survey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground(pub BTreeMap<RelPathBuf, Lies>);

impl Ground {
    /// Writes it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = FrameWriter::new(out, MAGIC);
        for (path, lies) in &self.0 {
            let path = path.as_str().as_bytes();
            match lies {
                Lies::Nothing => drop(frame.tag(b'n')?.path(path)?),
                Lies::Dir => drop(frame.tag(b'd')?.path(path)?),
                Lies::Unclear => drop(frame.tag(b'u')?.path(path)?),
                Lies::Entry(identity) => identity.write_to(frame.tag(b'e')?.path(path)?),
            }
        }
        frame.finish()
    }

    /// Reads what [`Self::write_to`] wrote. It may read bytes that follow too, so the writer
    /// has to wait for the answer before it sends more.
    ///
    /// # Errors
    /// When it is cut off, changed, or not in path order.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, WireError> {
        let mut frame = FrameReader::new(input, MAGIC, "ground of version 1")?;
        let mut ground: BTreeMap<RelPathBuf, Lies> = BTreeMap::new();
        while let Some(tag) = frame.tag()? {
            let path = RelPath::from_bytes(frame.path()?);
            let path = path.map_err(|_| malformed("a path"))?.to_owned();
            if ground
                .last_key_value()
                .is_some_and(|(last, _)| *last >= path)
            {
                return Err(malformed("the order"));
            }
            let lies = match tag {
                b'n' => Lies::Nothing,
                b'd' => Lies::Dir,
                b'u' => Lies::Unclear,
                b'e' => Lies::Entry(VolumeIdentity::read_from(&mut frame)?),
                _ => return Err(malformed("a tag")),
            };
            ground.insert(path, lies);
        }
        Ok(Self(ground))
    }
}

/// What a porter says of a ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroundAnswer {
    /// All of it is so.
    Holds,
    /// Something is not: only a survey can tell what to do.
    Differs,
}

impl GroundAnswer {
    /// Writes it, and flushes: the host waits for it.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_to(self, out: &mut dyn Write) -> io::Result<()> {
        let byte = match self {
            Self::Holds => HOLDS,
            Self::Differs => DIFFERS,
        };
        out.write_all(&[byte])?;
        out.flush()
    }

    /// Reads what [`Self::write_to`] wrote.
    ///
    /// # Errors
    /// When there is none.
    pub fn read_from(input: &mut dyn Read) -> Result<Self, WireError> {
        let mut answer = [0];
        input
            .read_exact(&mut answer)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => WireError::Truncated,
                _ => WireError::Read(error),
            })?;
        match answer {
            [HOLDS] => Ok(Self::Holds),
            [DIFFERS] => Ok(Self::Differs),
            _ => Err(malformed("neither yes nor no")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileTime;

    fn ground() -> Ground {
        let time = FileTime {
            seconds: -7,
            nanos: 8,
        };
        let identity = VolumeIdentity {
            ino: 1,
            size: 2,
            mode: 3,
            mtime: time,
            ctime: time,
        };
        let lies = [
            ("a", Lies::Dir),
            ("a/b", Lies::Entry(identity)),
            ("a/c", Lies::Nothing),
            ("a/d", Lies::Unclear),
        ];
        Ground(
            lies.map(|(path, lies)| (path.parse().expect("a path"), lies))
                .into(),
        )
    }

    #[test]
    fn reads_what_it_writes() {
        for ground in [ground(), Ground::default()] {
            let mut bytes = Vec::new();
            ground.write_to(&mut bytes).expect("to memory");
            assert_eq!(Ground::read_from(&mut &bytes[..]).expect("whole"), ground);
            for length in 0..bytes.len() {
                Ground::read_from(&mut bytes.get(..length).expect("shorter"))
                    .expect_err("it is cut off");
            }
        }
    }

    #[test]
    fn an_answer_is_yes_or_no() {
        for answer in [GroundAnswer::Holds, GroundAnswer::Differs] {
            let mut bytes = Vec::new();
            answer.write_to(&mut bytes).expect("to memory");
            assert_eq!(
                GroundAnswer::read_from(&mut &bytes[..]).expect("one"),
                answer
            );
        }
        for nonsense in [&b""[..], b"Y", b"\0"] {
            GroundAnswer::read_from(&mut &nonsense[..]).expect_err("neither");
        }
    }
}
