//! The streams of a process inside: the bare socket after an upgrade.
//!
//! Both output streams arrive in [frames](Frames). A thread takes them
//! apart into two bounded queues; when one is full the socket is read no further, so that a reader that is too
//! slow stops the process inside, not this one's memory.
//!
//! The socket's end says nothing about the process: an engine that dies looks the same.
//! So the exec's record is asked for, and only a process that has ended makes the end of
//! its streams an end of file. What this can't see is a relay between us and a living
//! engine that closes a connection in good order while the process goes on and ends:
//! streams that matter carry their own end (a trailer, a count).

use std::io::{self, BufRead, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as Socket;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::frames::Frames;
use crate::EngineError;

/// Bytes read from the socket at once, and the longest piece of a queue.
const CHUNK: usize = 64 << 10;

/// Pieces that wait in a queue: with [`CHUNK`], 1 MiB for each stream.
const PIECES: usize = 16;

/// Asks the engine how the process ended; waits until it has.
pub(super) type ExitQuery = Box<dyn FnOnce() -> Result<i32, EngineError> + Send>;

/// How the streams ended.
#[derive(Debug, Clone)]
enum End {
    /// The process ended with this code.
    Code(i32),
    /// The connection, or the engine, was lost.
    Lost(String),
}

/// Shared by the writer, both readers and the control; the last one closes the socket.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    end: Arc<ExitCell>,
}

#[derive(Debug, Default)]
struct ExitCell {
    end: Mutex<Option<End>>,
    changed: Condvar,
}

/// The parts of a process's streams.
pub(super) struct Streams {
    pub(super) stdin: StdinWriter,
    pub(super) stdout: OutputReader,
    pub(super) stderr: OutputReader,
    pub(super) connection: Arc<Connection>,
}

/// Writes to the process; dropped, it ends the process's input.
#[derive(Debug)]
pub(super) struct StdinWriter {
    connection: Arc<Connection>,
    socket: Socket,
}

/// Reads one stream of the process.
#[derive(Debug)]
pub(super) struct OutputReader {
    connection: Arc<Connection>,
    pieces: Receiver<Bytes>,
    piece: Bytes,
}

/// Takes an upgraded socket over.
///
/// # Errors
/// When the socket can't be duplicated or no thread can be started.
pub(super) fn attach(socket: Socket, first: Bytes, exit_query: ExitQuery) -> io::Result<Streams> {
    let (to_stdout, stdout) = sync_channel(PIECES);
    let (to_stderr, stderr) = sync_channel(PIECES);
    let source = socket.try_clone()?;
    let writer = socket.try_clone()?;
    let ended = socket.try_clone()?;
    let end = Arc::new(ExitCell::default());
    let connection = Arc::new(Connection {
        socket,
        end: Arc::clone(&end),
    });
    std::thread::Builder::new()
        .name("lazaret-attach".to_owned())
        .spawn(move || {
            let mut source = source_of(first, source);
            let found = match demultiplex(&mut source, &to_stdout, &to_stderr) {
                Ok(()) => match exit_query() {
                    Ok(code) => End::Code(code),
                    Err(error) => End::Lost(error.to_string()),
                },
                Err(error) => End::Lost(error.to_string()),
            };
            // Before the queues close: a reader at its end looks here.
            end.set(found);
            // Docker reads the input of a process that has ended no further and leaves its
            // half of the connection open: a writer would wait for minutes.
            drop(ended.shutdown(Shutdown::Both));
            drop((to_stdout, to_stderr));
        })?;
    let reader = |pieces| OutputReader {
        connection: Arc::clone(&connection),
        pieces,
        piece: Bytes::new(),
    };
    Ok(Streams {
        stdin: StdinWriter {
            connection: Arc::clone(&connection),
            socket: writer,
        },
        stdout: reader(stdout),
        stderr: reader(stderr),
        connection,
    })
}

impl Connection {
    /// Waits until the streams have ended and returns the process's exit code.
    pub(super) fn wait(&self, verb: &'static str) -> Result<i32, EngineError> {
        match self.end.wait() {
            End::Code(code) => Ok(code),
            End::Lost(message) => Err(EngineError::Lost { verb, message }),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Wakes the thread; a socket that is closed already needs no more.
        drop(self.socket.shutdown(Shutdown::Both));
    }
}

impl ExitCell {
    fn lock(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, end: End) {
        *self.lock() = Some(end);
        self.changed.notify_all();
    }

    fn wait(&self) -> End {
        let mut end = self.lock();
        loop {
            if let Some(end) = &*end {
                return end.clone();
            }
            end = self
                .changed
                .wait(end)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Write for StdinWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Drop for StdinWriter {
    fn drop(&mut self) {
        // Half a close: the output goes on. Fails only where it is closed already.
        drop(self.connection.socket.shutdown(Shutdown::Write));
    }
}

impl Read for OutputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.recv() {
                Ok(piece) => self.piece = piece,
                Err(_) => {
                    return match self.connection.end.wait() {
                        End::Code(_) => Ok(0),
                        End::Lost(message) => {
                            Err(io::Error::new(io::ErrorKind::ConnectionAborted, message))
                        }
                    };
                }
            }
        }
        let length = self.piece.len().min(buffer.len());
        let (now, later) = (self.piece.slice(..length), self.piece.slice(length..));
        if let Some(buffer) = buffer.get_mut(..length) {
            buffer.copy_from_slice(&now);
        }
        self.piece = later;
        Ok(length)
    }
}

/// The bytes that came with the answer's head, then the socket's, in large reads.
fn source_of(first: Bytes, socket: Socket) -> impl BufRead {
    io::Cursor::new(first).chain(io::BufReader::with_capacity(CHUNK, socket))
}

/// Takes frames apart until the source ends between two of them.
fn demultiplex(
    source: &mut impl BufRead,
    stdout: &SyncSender<Bytes>,
    stderr: &SyncSender<Bytes>,
) -> io::Result<()> {
    let mut frames = Frames::new(stdout, stderr);
    loop {
        let came = match source.fill_buf() {
            Ok([]) => return frames.end(),
            Ok(came) => came,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // Podman closes the connection of a process that ended before it had read all of
            // its input, and the kernel makes a reset of that. Whether it did end is asked.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return frames.end(),
            Err(error) => return Err(error),
        };
        let length = came.len();
        frames.take(came)?;
        source.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(stream: u8, bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![stream, 0, 0, 0];
        frame.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        frame.extend(bytes);
        frame
    }

    fn pair() -> (Socket, Socket) {
        Socket::pair().unwrap()
    }

    fn read_all(mut reader: OutputReader) -> (Vec<u8>, Option<String>) {
        let mut bytes = Vec::new();
        let error = reader.read_to_end(&mut bytes).err();
        (bytes, error.map(|error| error.to_string()))
    }

    #[test]
    fn frames_are_taken_apart_and_the_end_is_asked_for() {
        let (socket, mut far) = pair();
        let streams = attach(socket, frame(1, b"a").into(), Box::new(|| Ok(7))).unwrap();
        far.write_all(&[frame(2, b"err"), frame(1, b""), frame(1, b"bc")].concat())
            .unwrap();
        drop(far);
        assert_eq!(read_all(streams.stdout), (b"abc".to_vec(), None));
        assert_eq!(read_all(streams.stderr), (b"err".to_vec(), None));
        assert_eq!(streams.connection.wait("wait").unwrap(), 7);
    }

    #[test]
    fn flt_06_a_writer_does_not_wait_for_a_process_that_has_ended() {
        let (socket, far) = pair();
        let streams = attach(socket, Bytes::new(), Box::new(|| Ok(1))).unwrap();
        // As Docker does it: its output ends, its input is neither read nor closed.
        far.shutdown(Shutdown::Write).unwrap();
        let mut stdin = streams.stdin;
        let error = loop {
            if let Err(error) = stdin.write_all(&[0; CHUNK]) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(streams.connection.wait("wait").unwrap(), 1);
    }

    #[test]
    fn flt_06_input_that_was_not_read_does_not_hide_how_a_process_ended() {
        let (socket, mut far) = pair();
        let mut input = socket.try_clone().unwrap();
        input.write_all(b"more than it wanted").unwrap();
        far.write_all(&frame(2, b"no space")).unwrap();
        // With input that is still unread this is a reset, as Podman makes it.
        drop(far);
        let streams = attach(socket, Bytes::new(), Box::new(|| Ok(5))).unwrap();
        assert_eq!(read_all(streams.stderr), (b"no space".to_vec(), None));
        assert_eq!(streams.connection.wait("wait").unwrap(), 5);
    }

    #[test]
    fn a_broken_connection_is_an_error_for_every_reader() {
        // Between frames: the engine is asked, and is gone.
        let (socket, mut far) = pair();
        let exit_query: ExitQuery = Box::new(|| {
            Err(EngineError::Lost {
                verb: "inspect exec",
                message: "gone".to_owned(),
            })
        });
        let streams = attach(socket, Bytes::new(), exit_query).unwrap();
        far.write_all(&frame(1, b"part")).unwrap();
        drop(far);
        let gone = Some("inspect exec: lost the engine: gone".to_owned());
        assert_eq!(read_all(streams.stdout), (b"part".to_vec(), gone.clone()));
        assert_eq!(read_all(streams.stderr), (Vec::new(), gone));
        streams.connection.wait("wait").unwrap_err();

        // Inside one: no poll is needed.
        let (socket, mut far) = pair();
        let streams = attach(socket, Bytes::new(), Box::new(|| Ok(0))).unwrap();
        far.write_all(&frame(1, b"whole")[..10]).unwrap();
        drop(far);
        let (_, error) = read_all(streams.stdout);
        assert_eq!(
            error.as_deref(),
            Some("the connection ended inside a frame")
        );
    }

    #[test]
    fn dropping_stdin_is_half_a_close() {
        let (socket, mut far) = pair();
        let mut streams = attach(socket, Bytes::new(), Box::new(|| Ok(0))).unwrap();
        streams.stdin.write_all(b"in").unwrap();
        drop(streams.stdin);
        let mut input = Vec::new();
        far.read_to_end(&mut input).unwrap();
        assert_eq!(input, b"in");
        far.write_all(&frame(1, b"out")).unwrap();
        drop(far);
        assert_eq!(read_all(streams.stdout), (b"out".to_vec(), None));
    }

    #[test]
    fn a_slow_reader_stops_the_sender() {
        let (socket, mut far) = pair();
        let streams = attach(socket, Bytes::new(), Box::new(|| Ok(0))).unwrap();
        far.set_write_timeout(Some(std::time::Duration::from_millis(200)))
            .unwrap();
        let piece = frame(1, &[b'x'; CHUNK]);
        let mut sent = 0;
        while far.write_all(&piece).is_ok() {
            sent += 1;
            assert!(sent < 10 * PIECES, "nothing held the sender back");
        }
        drop(streams);
    }

    #[test]
    fn dropping_everything_closes_the_socket() {
        let (socket, mut far) = pair();
        drop(attach(socket, Bytes::new(), Box::new(|| Ok(0))).unwrap());
        assert_eq!(far.read(&mut [0; 1]).unwrap(), 0);
    }
}
