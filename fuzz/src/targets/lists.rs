//! The lists between host and porter, and the trailer: what is read is what would be
//! written, byte for byte, so that there is one way to say each thing.

use lazaret_protocol::testing::{MESSAGES, Message, given_up, sealed, unsealed};
use lazaret_protocol::{Checksum, TRAILER_BYTES, Trailer};

use crate::input::Input;

/// The bytes are the message, the count of its records, and the records; magic, count and
/// digest are put around them. Once more as they are, without any of that.
pub(crate) fn read(bytes: &[u8]) {
    let mut input = Input(bytes);
    let message = &MESSAGES[usize::from(input.byte()) % MESSAGES.len()];
    let count = u64::from(input.byte());
    let sample = (message.samples)().swap_remove(0);
    let (magic, ..) = unsealed(&sample).expect("a frame");
    read_one(message, &sealed(magic, input.0, count));
    read_one(message, input.0);
}

fn read_one(message: &Message, mut frame: &[u8]) {
    match (message.reread)(&mut frame) {
        // Paths may be shortened against the one before in more than one way; nothing else.
        Ok(written) => {
            let again = (message.reread)(&mut &written[..]);
            assert_eq!(again.as_ref(), Ok(&written), "{}", message.name);
        }
        Err(error) => assert!(!error.chars().any(char::is_control), "{error:?}"),
    }
}

/// The bytes are a trailer, filled up with NUL.
pub(crate) fn trailer(bytes: &[u8]) {
    let mut block = [0; TRAILER_BYTES];
    let length = bytes.len().min(TRAILER_BYTES);
    block[..length].copy_from_slice(&bytes[..length]);
    if let Ok(trailer) = Trailer::parse(&block) {
        assert_eq!(trailer.encode(), block);
    }
}

pub(crate) fn trailers() -> Vec<Vec<u8>> {
    let trailer = Trailer {
        entries: 3,
        bytes: 17,
        stream: Checksum::of(b""),
    };
    let block = trailer.encode();
    let end = block
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(block.len());
    vec![block[..end].to_vec()]
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (kind, message) in MESSAGES.iter().enumerate() {
        let mut samples = (message.samples)();
        if message.name == "survey" {
            samples.extend(given_up());
        }
        for sample in samples {
            let (_, records, count) = unsealed(&sample).expect("a frame");
            seeds.push([&[kind as u8, count as u8], records].concat());
        }
    }
    seeds
}
