//! The lists between host and porter, and the trailer: what is read is what would be
//! written, byte for byte, so that there is one way to say each thing.

use lazaret_protocol::{
    Checksum, Receipt, StreamLimits, Survey, SurveyRequest, TRAILER_BYTES, Trailer, read_tree,
    read_wanted, write_tree, write_wanted,
};
use lazaret_tree::Digest;

use crate::input::Input;

const MAGICS: [&[u8; 8]; 5] = [
    b"lztree 1",
    b"lzrcpt 3",
    b"lzsurv 3",
    b"lzask  4",
    b"lzwant 3",
];

/// The bytes are the kind of list, the count of its records, and the records; magic, count
/// and digest are put around them. Once more as they are, without any of that.
pub(crate) fn read(bytes: &[u8]) {
    let mut input = Input(bytes);
    let kind = usize::from(input.byte()) % MAGICS.len();
    let count = input.byte();
    read_one(kind, &sealed(kind, count, input.0));
    read_one(kind, input.0);
}

/// Puts magic, end and digest around records.
pub(crate) fn sealed(kind: usize, count: u8, records: &[u8]) -> Vec<u8> {
    let mut list = MAGICS[kind].to_vec();
    list.extend_from_slice(records);
    list.push(0);
    list.extend_from_slice(&u64::from(count).to_le_bytes());
    let digest = Digest::of(&list);
    list.extend_from_slice(digest.as_bytes());
    list
}

fn read_one(kind: usize, list: &[u8]) {
    let mut reader = list;
    let mut again = Vec::new();
    let read = match kind {
        0 => read_tree(&mut reader)
            .map(|tree| write_tree(&tree, &mut again))
            .ok(),
        1 => Receipt::read_from(&mut reader, 1000)
            .map(|receipt| receipt.write_to(&mut again))
            .ok(),
        2 => Survey::read_from(&mut reader, &StreamLimits::DEFAULT)
            .map(|survey| survey.write_to(&mut again))
            .map_err(|error| {
                let message = error.to_string();
                assert!(!message.chars().any(char::is_control), "{message:?}");
            })
            .ok(),
        3 => SurveyRequest::read_from(&mut reader)
            .map(|request| request.write_to(&mut again))
            .ok(),
        _ => read_wanted(&mut reader)
            .map(|wanted| write_wanted(&wanted, &mut again))
            .ok(),
    };
    if let Some(written) = read {
        written.expect("to memory");
        // Paths may be shortened against the one before in more than one way; nothing else.
        let mut reader = &again[..];
        let mut twice = Vec::new();
        match kind {
            0 => {
                let tree = read_tree(&mut reader).expect("our own");
                assert_eq!(Some(&tree), read_tree(&mut &list[..]).ok().as_ref());
                write_tree(&tree, &mut twice)
            }
            1 => {
                let receipt = Receipt::read_from(&mut reader, 1000).expect("our own");
                receipt.write_to(&mut twice)
            }
            2 => {
                let limits = &StreamLimits::DEFAULT;
                let survey = Survey::read_from(&mut reader, limits).expect("our own");
                survey.write_to(&mut twice)
            }
            3 => {
                let request = SurveyRequest::read_from(&mut reader).expect("our own");
                request.write_to(&mut twice)
            }
            _ => write_wanted(&read_wanted(&mut reader).expect("our own"), &mut twice),
        }
        .expect("to memory");
        assert_eq!(twice, again);
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
    let digest = [7; 32];
    let path = |tag: u8, name: &[u8]| {
        let mut record = vec![tag, 0, 0, name.len() as u8, 0];
        record.extend_from_slice(name);
        record
    };
    let list = |kind: u8, count: u8, records: &[&[u8]]| {
        let mut bytes = vec![kind, count];
        records
            .iter()
            .for_each(|record| bytes.extend_from_slice(record));
        bytes
    };
    let size = 5_u64.to_le_bytes();
    let mode = 0o644_u32.to_le_bytes();
    let time = [0_u8; 12];
    let total = [&b"t"[..], &1_u64.to_le_bytes(), &size, &digest].concat();
    let stat = [&size[..], &size, &mode, &time, &time].concat();
    let identity = [&path(b'i', b"a")[..], &stat].concat();
    let limits = [&b"m"[..], &[255; 40]].concat();
    vec![
        list(
            0,
            3,
            &[
                &path(b'd', b"d"),
                &path(b'f', b"d/f"),
                &size,
                &digest,
                &path(b'l', b"l"),
                b"\x03\0../",
            ],
        ),
        list(1, 2, &[&total, &identity]),
        list(
            2,
            4,
            &[
                &path(b'd', b"d"),
                &stat,
                &path(b'f', b"f"),
                &stat,
                &mode,
                &digest,
                &path(b'o', b"p"),
                b"p",
                &path(b'g', b"gone"),
            ],
        ),
        list(2, 1, &[b"E", &size]),
        list(3, 2, &[&limits, &identity]),
        list(4, 1, &[&path(b'w', b"a"), &size, &digest]),
    ]
}
