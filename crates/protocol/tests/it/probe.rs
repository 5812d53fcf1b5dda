//! Probe requests, as arguments.

use std::collections::BTreeSet;

use lazaret_protocol::testing::probe_request;
use lazaret_protocol::{IdMapping, ProbeRequest};

fn pairs() -> Vec<(String, String)> {
    let pairs = probe_request(IdMapping::Mapped).to_pairs().into_iter();
    pairs.map(|(key, value)| (key.to_owned(), value)).collect()
}

#[test]
fn a_request_is_read_as_it_was_written_in_any_order() {
    assert_eq!(
        ProbeRequest::parse(pairs()),
        Ok(probe_request(IdMapping::Mapped))
    );
    let keys: BTreeSet<_> = pairs().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), 20);
    let mut backwards = pairs();
    backwards.sort_by(|one, two| two.0.cmp(&one.0));
    assert_eq!(
        ProbeRequest::parse(backwards),
        Ok(probe_request(IdMapping::Mapped))
    );
}

#[test]
fn a_request_of_another_build_is_refused() {
    let with = |key: &str, value: &str| {
        let mut pairs = pairs();
        pairs.push((key.to_owned(), value.to_owned()));
        ProbeRequest::parse(pairs).map_err(|error| error.to_string())
    };
    let error = |text: &str| Err(text.to_owned());
    assert_eq!(with("colour", "red"), error("unexpected argument `colour`"));
    assert_eq!(
        with("uid", "1"),
        error("uid: expected one value, found `1`")
    );
    assert_eq!(
        with("na", "CON-99"),
        error("na: expected NAME and NUMBER, found `CON-99`")
    );
    assert_eq!(
        with("tmpfs", "/tmp"),
        error("tmpfs: expected NAME and NUMBER, found `/tmp`")
    );
    for number in 0..10 {
        let mut pairs = pairs();
        pairs.remove(number);
        ProbeRequest::parse(pairs).expect_err("one is missing");
    }
}
