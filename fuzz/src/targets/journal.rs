//! The journal: no panic, and what is read is what would be written.

use lazaret_protocol::FormatTag;
use lazaret_protocol::testing::{sealed, unsealed};
use lazaret_transfer::fuzz;

use crate::input::Input;

const MAGIC: FormatTag = *b"lzjrnl 2";

/// The bytes are the count of the records, and the records; magic, count and digest are put
/// around them. Once more as they are, without any of that.
pub(crate) fn parsed(bytes: &[u8]) {
    parse(bytes);
    let mut input = Input(bytes);
    let count = u64::from(input.byte());
    parse(&sealed(&MAGIC, input.0, count));
}

fn parse(bytes: &[u8]) {
    match fuzz::journal(bytes) {
        Ok(again) => assert_eq!(fuzz::journal(&again), Ok(again.clone())),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let whole = fuzz::journals();
    let records = whole.iter().map(|journal| {
        let (_, records, count) = unsealed(journal).expect("a frame");
        [&[count as u8], records].concat()
    });
    let others = [&b"lazaret-journal 1\n"[..], b"lzjrnl 3"];
    records
        .chain(whole.iter().cloned())
        .chain(others.map(<[u8]>::to_vec))
        .collect()
}
