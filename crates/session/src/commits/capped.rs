//! `Capped`: a stream of which no more than a number of bytes is read.

use std::io::{self, Read};

/// How a stream ended.
#[derive(Debug)]
pub(super) enum End {
    /// With all that there was.
    Whole,
    /// Cut off: there was more than the limit.
    TooLarge,
    /// With an error of the connection.
    Broken(io::Error),
}

/// Passes at most `limit` bytes on; more is an error, and so is everything after an error.
#[derive(Debug)]
pub(super) struct Capped<R> {
    inner: R,
    left: u64,
    end: Option<End>,
}

impl<R: Read> Capped<R> {
    pub(super) fn new(inner: R, limit: u64) -> Self {
        Self {
            inner,
            left: limit,
            end: None,
        }
    }

    /// Closes the stream, and returns how it ended; `None` where it had not ended yet.
    pub(super) fn into_end(self) -> Option<End> {
        self.end
    }

    fn finish(&mut self, end: End) -> io::Result<usize> {
        let told = match &end {
            End::Whole => Ok(0),
            End::TooLarge => Err(io::ErrorKind::FileTooLarge.into()),
            End::Broken(error) => Err(error.kind().into()),
        };
        self.end = Some(end);
        told
    }
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(end) = self.end.take() {
            return self.finish(end);
        }
        if buffer.is_empty() {
            return Ok(0);
        }
        match self.inner.read(buffer) {
            Ok(0) => self.finish(End::Whole),
            Ok(count) => match self.left.checked_sub(count as u64) {
                Some(left) => {
                    self.left = left;
                    Ok(count)
                }
                None => self.finish(End::TooLarge),
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => self.finish(End::Broken(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads to the end, and returns what arrived.
    fn read(from: impl Read, limit: u64) -> (Vec<u8>, Option<End>) {
        let mut capped = Capped::new(from, limit);
        let mut bytes = Vec::new();
        let first = capped.read_to_end(&mut bytes);
        let again = capped.read(&mut [0; 4]);
        assert_eq!(first.is_ok(), again.is_ok());
        (bytes, capped.into_end())
    }

    #[test]
    fn as_much_as_the_limit_arrives_and_one_byte_more_is_an_error() {
        let pack = [7; 100];
        assert!(matches!(read(&pack[..], 100), (bytes, Some(End::Whole)) if bytes == pack));
        let (bytes, end) = read(&pack[..], 99);
        assert!(matches!(end, Some(End::TooLarge)), "{end:?}");
        assert!(bytes.len() < 100);
        assert!(matches!(read(io::empty(), 0), (_, Some(End::Whole))));
    }

    #[test]
    fn a_connection_that_breaks_is_no_end_of_the_stream() {
        struct Breaking;
        impl Read for Breaking {
            fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("reset"))
            }
        }
        let (bytes, end) = read([1, 2].chain(Breaking), 100);
        assert_eq!(bytes, [1, 2]);
        assert!(matches!(end, Some(End::Broken(error)) if error.to_string() == "reset"));
    }

    #[test]
    fn what_is_read_in_part_has_no_end() {
        let mut capped = Capped::new(&[1, 2, 3][..], 3);
        capped.read_exact(&mut [0; 3]).unwrap();
        assert!(capped.into_end().is_none());
    }
}
