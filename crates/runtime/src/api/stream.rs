//! The bridge from a blocking `Read` to a request's body.
//!
//! A failing reader must fail the upload: the engine would take a short archive for a
//! whole one. If both ends fail, the reader's cause is the one that is reported.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use tokio::sync::mpsc;

/// Bytes per chunk: large enough that the chunk's own cost does not show.
const CHUNK: usize = 256 << 10;

/// Chunks under way.
const CHUNKS: usize = 4;

/// Takes the chunks to the request.
pub(super) type Sender = mpsc::Sender<io::Result<Bytes>>;

/// Returns a body and the end that fills it.
pub(super) fn body() -> (
    Sender,
    impl futures_util::Stream<Item = io::Result<Bytes>> + Send + 'static,
) {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let stream = stream::unfold(receiver, |mut receiver: mpsc::Receiver<_>| async move {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    (sender, stream)
}

/// Moves a reader into a body until its end, or until the request is over.
///
/// # Errors
/// The reader's. The body has been told, so that the request fails too.
pub(super) fn fill(sender: Sender, reader: &mut dyn Read) -> io::Result<()> {
    loop {
        let mut chunk = BytesMut::zeroed(CHUNK);
        match read_full(reader, &mut chunk) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                chunk.truncate(length);
                if sender.blocking_send(Ok(chunk.freeze())).is_err() {
                    // The engine answered early; its answer says why.
                    return Ok(());
                }
            }
            Err(error) => {
                let told = io::Error::new(error.kind(), "the reader failed");
                // Gone already is as good.
                drop(sender.blocking_send(Err(told)));
                return Err(error);
            }
        }
    }
}

/// Reads until the buffer is full or the reader ends.
fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
