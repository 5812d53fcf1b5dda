//! Messages, read as if an attacker had written them.

use lazaret_protocol::testing::{
    MESSAGES, given_up, identity, receipt, survey, tree, unsealed, update_receipt, update_request,
    written,
};
use lazaret_protocol::{
    HashPolicy, ProtectedKind, Protection, Receipt, RecordError, StreamLimits, Survey,
    SurveyRequest, UpdateReceipt, UpdateRequest, VolumeIdentity, Wanted, Writers, read_list,
    read_tree, read_wanted, write_list, write_wanted,
};
use lazaret_tests::Random;
use lazaret_tree::RelPathBuf;

const LIMITS: StreamLimits = StreamLimits::DEFAULT;

fn path(text: &str) -> RelPathBuf {
    text.parse().expect("a path")
}

#[test]
fn every_message_comes_back_whole_or_not_at_all() {
    MESSAGES.iter().for_each(|message| message.check());
}

#[test]
fn a_message_is_no_other_message() {
    for message in MESSAGES {
        for sample in (message.samples)() {
            for other in MESSAGES.iter().filter(|other| other.name != message.name) {
                let error = (other.reread)(&mut &sample[..]).expect_err("another message");
                assert!(error.starts_with("not a "), "{error}");
            }
        }
    }
    let error = read_tree(&mut &b"lztree 2 and more"[..]).expect_err("newer");
    assert_eq!(error.to_string(), "not a tree of version 1");
}

#[test]
fn noise_is_refused_without_a_panic() {
    let random = &mut Random::new(7);
    for message in MESSAGES {
        let sample = (message.samples)().swap_remove(0);
        let (magic, ..) = unsealed(&sample).expect("a frame");
        for _ in 0..3000 {
            let mut noise = magic.to_vec();
            for _ in 0..random.below(200) {
                noise.push(match random.below(3) {
                    0 => b"tidflogmwnEBNFxrsqeuca"[random.below(22)],
                    1 => random.below(4) as u8,
                    _ => random.below(256) as u8,
                });
            }
            (message.reread)(&mut &noise[..]).expect_err("noise");
        }
    }
}

/// Every list in one row: out of order, and the same path twice.
#[test]
fn paths_out_of_order_and_twice_are_refused() {
    const MAGIC: [u8; 8] = *b"lztest 1";
    for names in [["b", "a"], ["a", "a"], ["a-b", "a/b"]] {
        let paths = names.map(path);
        let known = paths.clone().map(|path| (path, identity(1, 0, 0)));
        let list = written(|out| {
            let records = known.iter().map(|(path, identity)| (&**path, identity));
            write_list(out, MAGIC, records)
        });
        let read = read_list::<VolumeIdentity, Vec<_>>(&mut &list[..], MAGIC, "test");
        assert_order(read, names);

        let request = SurveyRequest {
            limits: LIMITS,
            writers: Writers::Stopped,
            hash_policy: HashPolicy::All,
            known: known.to_vec(),
        };
        let list = written(|out| request.write_to(out));
        assert_order(SurveyRequest::read_from(&mut &list[..]), names);

        let wanted = known.map(|(path, identity)| Wanted {
            path,
            identity,
            digest: None,
        });
        let list = written(|out| write_wanted(&wanted, out));
        assert_order(read_wanted(&mut &list[..]), names);

        let request = UpdateRequest {
            remove: paths.to_vec(),
            ..UpdateRequest::default()
        };
        let list = written(|out| request.write_to(out));
        assert_order(UpdateRequest::read_from(&mut &list[..]), names);

        let receipt = UpdateReceipt {
            stayed: paths.to_vec(),
            ..update_receipt()
        };
        let sorted = UpdateRequest {
            remove: vec![path("a"), path("a/b"), path("a-b"), path("b")],
            ..update_request()
        };
        let list = written(|out| receipt.write_to(out));
        assert_order(UpdateReceipt::read_from(&mut &list[..], &sorted), names);
    }
}

#[track_caller]
fn assert_order<T>(read: Result<T, RecordError>, names: [&str; 2]) {
    match read {
        Err(RecordError::Malformed { what }) => assert_eq!(what, "the order", "{names:?}"),
        Err(error) => panic!("{names:?}: {error}"),
        Ok(_) => panic!("{names:?} was read"),
    }
}

/// A stream follows on the same pipe.
#[test]
fn an_order_is_read_and_not_a_byte_more() {
    let mut pipe = written(|out| update_request().write_to(out));
    let length = pipe.len();
    pipe.extend_from_slice(b"stream");
    let mut rest = &pipe[..];
    let read = UpdateRequest::read_from(&mut rest).expect("whole");
    assert_eq!(read, update_request());
    assert_eq!(rest, b"stream");
    for length in 0..length {
        UpdateRequest::read_from(&mut &pipe[..length]).expect_err("cut off");
    }
    for bit in 0..length * 8 {
        let mut changed = pipe[..length].to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        UpdateRequest::read_from(&mut &changed[..]).expect_err("changed");
    }
}

#[test]
fn an_update_receipt_for_something_else_is_refused() {
    let refused = |receipt: &UpdateReceipt| {
        let written = written(|out| receipt.write_to(out));
        let read = UpdateReceipt::read_from(&mut &written[..], &update_request());
        read.map_err(|error| error.code().id)
    };
    assert_eq!(refused(&update_receipt()), Ok(update_receipt()));
    let mut stayed = update_receipt();
    stayed.stayed = vec![path("c")];
    assert_eq!(refused(&stayed), Err("list.malformed"));
    let mut fewer = update_receipt();
    fewer.written.identities.pop_last();
    fewer.written.arrived.entries -= 1;
    assert_eq!(refused(&fewer), Err("list.malformed"));
}

#[test]
fn a_receipt_has_the_entries_that_it_promises_and_no_more_than_were_sent() {
    let read = |promised: u64, sent: u64| {
        let mut receipt = receipt();
        receipt.arrived.entries = promised;
        let list = written(|out| receipt.write_to(out));
        let read = Receipt::read_from(&mut &list[..], sent);
        read.map(|_| ()).map_err(|error| error.code().id)
    };
    assert_eq!(read(3, 3), Ok(()));
    assert_eq!(read(3, 2), Err("limit.list"));
    assert_eq!(read(4, 9), Err("list.malformed"));
    assert_eq!(read(2, 9), Err("list.malformed"));
    assert_eq!(read(0, 9), Err("list.malformed"));
    assert_eq!(read(u64::MAX, u64::MAX), Err("list.malformed"));
}

#[test]
fn the_host_holds_a_survey_to_its_own_limits() {
    let list = written(|out| survey().write_to(out));
    let code = |limits: StreamLimits| {
        Survey::read_from(&mut &list[..], &limits).map_err(|error| error.code().id)
    };
    let entries = StreamLimits {
        entries: 5,
        ..LIMITS
    };
    assert_eq!(code(entries), Err("limit.entries"));
    let total_bytes = StreamLimits {
        total_bytes: 0,
        ..LIMITS
    };
    assert_eq!(code(total_bytes), Err("limit.total_bytes"));
    let file_bytes = StreamLimits {
        file_bytes: 0,
        ..LIMITS
    };
    assert_eq!(code(file_bytes), Err("limit.file_bytes"));
    let name_bytes = StreamLimits {
        name_bytes: 9,
        ..LIMITS
    };
    assert_eq!(code(name_bytes), Err("limit.names"));
}

#[test]
fn a_survey_that_was_given_up_names_the_limit() {
    let messages = given_up().into_iter().map(|list| {
        let error = Survey::read_from(&mut &list[..], &LIMITS).expect_err("given up");
        error.to_string()
    });
    assert_eq!(
        messages.collect::<Vec<_>>(),
        [
            "more than 3 entries",
            "more than 3 bytes in all",
            "the names alone are more than 3 bytes",
            "big: 4 bytes are more than 3",
        ]
    );
}

#[test]
fn what_makes_no_sense_to_protect_is_refused() {
    use ProtectedKind::{Dir, File, Shared};
    let refused = |root, entries: &[(&str, ProtectedKind)]| {
        let entries = entries.iter().map(|(name, kind)| (path(name), *kind));
        let entries = entries.collect();
        let list = written(|out| Protection { root, entries }.write_to(out));
        Protection::read_from(&mut &list[..]).is_err()
    };
    assert!(!refused(
        Shared,
        &[("a", Shared), ("a/b", Dir), ("a/b/c", File)]
    ));
    assert!(refused(File, &[]));
    assert!(refused(Dir, &[]));
    assert!(refused(Shared, &[("a/b", File)]));
    assert!(refused(Shared, &[("a", File), ("a/b", File)]));
    assert!(refused(Shared, &[("a", Dir), ("a/b", Shared)]));
}

#[test]
fn the_same_tree_becomes_the_same_bytes() {
    let write = || written(|out| lazaret_protocol::write_tree(&tree(), out));
    assert_eq!(write(), write());
}
