//! Transfers that break off, and volumes that change under them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use lazaret_protocol::FoundKind;
use lazaret_protocol::{HashPolicy, StreamLimits};
use lazaret_tests::tree_text;
use lazaret_transfer::{BlobStore, StreamEnd, unpack};
use rustix::time::{ClockId, clock_gettime};

use crate::exporting::list;
use crate::session::{PROJECT, Session, packed, porter, print};

#[test]
fn flt_16_surveys_of_a_still_volume_are_equal() {
    let workspace = tree_text::temp(PROJECT);
    let session = Session::start(workspace.path());
    for number in 0..300 {
        session.edit(&format!("f new/{number} *{}", number * 100));
    }
    let first = session.survey(StreamLimits::DEFAULT).expect("a survey");
    for _ in 0..3 {
        let again = session.survey(StreamLimits::DEFAULT);
        assert_eq!(again.expect("a survey"), first);
    }
}

#[test]
fn a_file_that_changed_since_the_survey_ends_the_stream() {
    let workspace = tree_text::temp(PROJECT);
    let session = Session::start(workspace.path());
    session.edit("f a \"new\"\nf b \"also\"");
    let wanted = session.look().wanted(&session.baseline);
    let list = list(&wanted);
    let volume = session.volume.path();
    for (edit, reason) in [
        (
            "f b \"ALSO\"",
            "porter: export: b: changed since the survey",
        ),
        (
            "f b \"longer\"",
            "porter: export: b: changed since the survey",
        ),
        ("- b", "porter: export: b: changed since the survey"),
        ("l b -> a", "porter: export: b: changed since the survey"),
        ("- b\np b", "porter: export: b: changed since the survey"),
        ("- b\nd b/", "porter: export: b: changed since the survey"),
    ] {
        let (porter, survey) = session.ask(StreamLimits::DEFAULT, HashPolicy::All);
        survey.expect("a survey");
        tree_text::build(edit, volume);
        let said = porter.send(&list);
        assert_eq!((said.code, said.stderr.trim_end()), (125, reason), "{edit}");
        let store = tempfile::tempdir().expect("a temporary directory");
        let quarantine = BlobStore::create(&store.path().join("q")).expect("private");
        let mut stream = &said.stdout[..];
        let limits = StreamLimits::DEFAULT;
        unpack(&mut stream, limits, &quarantine, StreamEnd::Trailer).expect_err("no trailer");
    }
}

#[test]
fn flt_04_no_receipt_without_the_whole_stream() {
    let workspace = tree_text::temp("f a \"x\"\nd b/\nf b/c *2000\nl d -> a");
    let (_, stream) = packed(workspace.path());
    let receive = |stream: &[u8]| {
        let volume = tempfile::tempdir().expect("a temporary directory");
        porter("receive", volume.path(), stream).failed()
    };
    for blocks in 0..stream.len() / 512 {
        receive(&stream[..blocks * 512]);
        receive(&stream[..blocks * 512 + 100]);
    }
    assert_eq!(
        receive(&stream[..1024]),
        "porter: receive: the stream has no end mark [stream.no_eof]"
    );
    // A bit in a body is found by the checksum only.
    let mut changed = stream.clone();
    changed[512] ^= 1;
    assert_eq!(
        receive(&changed),
        "porter: receive: what arrived is not what was sent [trailer.stream]"
    );
}

#[test]
fn receive_wants_an_empty_directory_and_sorted_plain_members() {
    let workspace = tree_text::temp("f a \"x\"");
    let (_, stream) = packed(workspace.path());
    let full = tree_text::temp("f other \"x\"");
    assert_eq!(
        porter("receive", full.path(), &stream).failed(),
        "porter: receive: the directory is not empty"
    );
    assert_eq!(tree_text::dump(full.path()), "f other \"x\"\n");
    let missing = full.path().join("missing");
    let said = porter("receive", &missing, &stream).failed();
    assert!(
        said.ends_with("No such file or directory (os error 2)"),
        "{said}"
    );
    let link = full.path().join("link");
    std::os::unix::fs::symlink("/tmp", &link).expect("ours");
    porter("receive", &link, &stream).failed();
}

#[test]
fn broken_requests_are_refused() {
    let root = tree_text::temp("");
    let broken = [&b""[..], b"nonsense", &[0; 4096], &[0xff; 100_000]];
    for bytes in broken {
        for verb in ["export", "receive"] {
            porter(verb, root.path(), bytes).failed();
        }
        let session = Session::start(root.path());
        let (porter, survey) = session.ask(StreamLimits::DEFAULT, HashPolicy::All);
        survey.expect("a survey");
        porter.send(bytes).failed();
    }
}

#[test]
fn unreadable_modes_do_not_stop_a_survey_that_may_read() {
    let workspace = tree_text::temp("f dir/a \"x\"");
    let session = Session::start(workspace.path());
    session.edit("f dir/b \"x\"\nm 0 dir/b\nm 0 dir");
    if fs::read_dir(session.volume.path().join("dir")).is_ok() {
        assert_eq!(print(&session), "+ dir/b");
    }
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(session.volume.path().join("dir"), mode).expect("ours");
}

/// A write after the answer must not share a clock tick with a reported ctime: the host could not
/// tell the two apart later.
#[test]
fn no_time_that_is_told_is_still_running() {
    let workspace = tree_text::temp("f a \"x\"");
    let session = Session::start(workspace.path());
    for round in 0..30 {
        session.edit(&format!("f a \"{round}\"\nd d{round}/\nl l{round} -> a"));
        let survey = session.survey(StreamLimits::DEFAULT).expect("a survey");
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let now = (
            now.tv_sec,
            u32::try_from(now.tv_nsec).expect("a part of a second"),
        );
        for found in &survey.found {
            let (FoundKind::Dir { identity }
            | FoundKind::File { identity, .. }
            | FoundKind::Symlink { identity, .. }) = &found.kind
            else {
                panic!("{found:?}");
            };
            assert!((identity.ctime.seconds, identity.ctime.nanos) < now);
        }
    }
}
