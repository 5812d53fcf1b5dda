//! `Frames`: two output streams on one connection.
//!
//! One byte for the stream, three of nothing, four of length (big-endian), then the bytes
//! (Docker's API, "Attach to a container", stream format).

use std::io;
use std::sync::mpsc::SyncSender;

use bytes::Bytes;

/// Length of a frame's header.
const HEADER: usize = 8;

/// The most that an engine says itself, in bytes.
const WORDS: usize = 64 << 10;

/// Takes frames apart, wherever the pieces that come of them begin and end.
///
/// What comes at once for one stream is handed over at once, however small an engine's frames
/// are: Podman's are 8 KiB.
#[derive(Debug)]
pub(super) struct Frames<'a> {
    stdout: &'a SyncSender<Bytes>,
    stderr: &'a SyncSender<Bytes>,
    header: [u8; HEADER],
    /// How much of the header is there.
    filled: usize,
    stream: Stream,
    /// What is still to come of the frame.
    left: usize,
    words: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
    /// Podman reports a failure of its own this way.
    Engine,
}

impl Stream {
    fn of(byte: u8) -> io::Result<Self> {
        match byte {
            0 | 1 => Ok(Self::Stdout),
            2 => Ok(Self::Stderr),
            3 => Ok(Self::Engine),
            other => {
                let message = format!("a frame of the unknown stream {other}");
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
        }
    }
}

impl<'a> Frames<'a> {
    /// Hands over to these queues.
    pub(super) fn new(stdout: &'a SyncSender<Bytes>, stderr: &'a SyncSender<Bytes>) -> Self {
        Self {
            stdout,
            stderr,
            header: [0; HEADER],
            filled: 0,
            stream: Stream::Stdout,
            left: 0,
            words: Vec::new(),
        }
    }

    /// Takes what came.
    ///
    /// # Errors
    /// An unknown stream, or what the engine says instead of a process.
    pub(super) fn take(&mut self, mut came: &[u8]) -> io::Result<()> {
        let mut piece = Vec::with_capacity(came.len());
        while !came.is_empty() {
            if self.left == 0 {
                let before = self.stream;
                came = self.take_header(came)?;
                if self.stream != before {
                    self.hand_over(before, std::mem::take(&mut piece));
                }
                continue;
            }
            let (now, later) = came.split_at(self.left.min(came.len()));
            self.left -= now.len();
            came = later;
            match self.stream {
                Stream::Stdout | Stream::Stderr => piece.extend_from_slice(now),
                Stream::Engine => self.listen(now)?,
            }
        }
        self.hand_over(self.stream, piece);
        Ok(())
    }

    /// Takes what is there of a header, and returns what follows.
    fn take_header<'b>(&mut self, came: &'b [u8]) -> io::Result<&'b [u8]> {
        let wanted = HEADER - self.filled;
        let (now, later) = came.split_at(wanted.min(came.len()));
        for (at, byte) in self.header.iter_mut().skip(self.filled).zip(now) {
            *at = *byte;
        }
        self.filled += now.len();
        if self.filled == HEADER {
            let [stream, _, _, _, length @ ..] = self.header;
            self.stream = Stream::of(stream)?;
            self.left = u32::from_be_bytes(length) as usize;
            self.filled = 0;
        }
        Ok(later)
    }

    fn hand_over(&self, stream: Stream, piece: Vec<u8>) {
        let queue = match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
            Stream::Engine => return,
        };
        if !piece.is_empty() {
            // A queue without a reader: its bytes are dropped, the other
            // stream and the exit code still matter.
            drop(queue.send(Bytes::from(piece)));
        }
    }

    /// Keeps what the engine says, and fails with it once that is all.
    fn listen(&mut self, words: &[u8]) -> io::Result<()> {
        self.words.extend_from_slice(words);
        match self.left == 0 || self.words.len() > WORDS {
            true => Err(self.engine_words()),
            false => Ok(()),
        }
    }

    fn engine_words(&self) -> io::Error {
        io::Error::other(String::from_utf8_lossy(&self.words).into_owned())
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// When that is inside a frame.
    pub(super) fn end(&self) -> io::Result<()> {
        match (self.left, self.filled) {
            (0, 0) => Ok(()),
            _ if !self.words.is_empty() => Err(self.engine_words()),
            _ => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the connection ended inside a frame",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn frame(stream: u8, bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![stream, 9, 9, 9];
        frame.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        frame.extend(bytes);
        frame
    }

    /// Returns the pieces of both streams, and how it ended, where `bytes` come `size` at once.
    fn taken(bytes: &[u8], size: usize) -> (Vec<Bytes>, Vec<Bytes>, Option<String>) {
        let (to_stdout, stdout) = sync_channel(1000);
        let (to_stderr, stderr) = sync_channel(1000);
        let mut frames = Frames::new(&to_stdout, &to_stderr);
        let mut pieces = bytes.chunks(size);
        let ended = pieces.try_for_each(|piece| frames.take(piece));
        let ended = ended.and_then(|()| frames.end());
        drop((to_stdout, to_stderr));
        let ended = ended.err().map(|error| error.to_string());
        (
            stdout.into_iter().collect(),
            stderr.into_iter().collect(),
            ended,
        )
    }

    #[test]
    fn what_came_at_once_for_one_stream_is_one_piece() {
        let came = [
            frame(1, b"a"),
            frame(0, b"bc"),
            frame(1, b""),
            frame(2, b""),
            frame(1, b"d"),
            frame(2, b"e"),
            frame(2, b"f"),
        ]
        .concat();
        let (stdout, stderr, ended) = taken(&came, came.len());
        assert_eq!(
            (stdout, ended),
            (vec![Bytes::from("abc"), Bytes::from("d")], None)
        );
        assert_eq!(stderr, ["ef"]);
    }

    #[test]
    fn frames_may_come_in_any_pieces_and_end_only_between_two() {
        let whole = [frame(1, b"out"), frame(2, b"err"), frame(1, b"more")];
        let ends: Vec<usize> = (0..=3).map(|n| whole[..n].concat().len()).collect();
        let came = whole.concat();
        for size in 1..=came.len() {
            let (stdout, stderr, ended) = taken(&came, size);
            assert_eq!(
                (stdout.concat(), stderr.concat(), ended),
                (b"outmore".to_vec(), b"err".to_vec(), None),
                "{size}"
            );
        }
        for cut in 0..came.len() {
            let (_, _, ended) = taken(&came[..cut], 5);
            let is_cut = ended.as_deref() == Some("the connection ended inside a frame");
            assert_eq!(is_cut, !ends.contains(&cut), "{cut}: {ended:?}");
        }
    }

    #[test]
    fn what_an_engine_says_itself_is_an_error() {
        let came = [
            frame(1, b"out"),
            frame(3, b"no such exec"),
            frame(1, b"late"),
        ]
        .concat();
        for size in [1, 7, came.len()] {
            let (stdout, _, ended) = taken(&came, size);
            assert_eq!(stdout.concat(), b"out", "{size}");
            assert_eq!(ended.as_deref(), Some("no such exec"), "{size}");
        }
        let (_, _, ended) = taken(&came[..20], 20);
        assert_eq!(ended.as_deref(), Some("n"));
        let (_, _, ended) = taken(&frame(4, b"what"), 3);
        assert_eq!(ended.as_deref(), Some("a frame of the unknown stream 4"));
    }
}
