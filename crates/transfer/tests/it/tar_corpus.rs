//! Archives that others wrote: what is right must not be refused.

use lazaret_fuzz::targets::tar_crate::agrees;
use lazaret_protocol::FileTime;
use lazaret_transfer::StreamEnd;

use crate::stream::{manifest, outcome, rejected};

macro_rules! written_by {
    ($name:literal) => {
        include_bytes!(concat!(
            "../../../../tests/corpus/written-by/",
            $name,
            ".tar"
        ))
    };
}

const DIRECTORY: &str = r#"d d/
f d/a "hello\n"
d d/empty/
f d/hard "hello\n"
l d/link -> ../f
"#;

fn whole_tree() -> String {
    let long = "l".repeat(120);
    format!(
        "{DIRECTORY}d {long}/\nx {long}/f \"\"\nf old \"\"\nx run \"#!/bin/sh\\n\"\n\
         S link.hard d/hard\nS mode.special {long}/f\n"
    )
}

#[test]
fn archives_of_common_writers_are_accepted() {
    let whole = whole_tree();
    for stream in [
        &written_by!("gnu-pax")[..],
        written_by!("python-pax"),
        written_by!("podman-export"),
    ] {
        assert_eq!(outcome(stream), whole);
        assert_eq!(agrees(stream, "corpus"), 1);
    }
    let docker = &written_by!("docker-cp")[..];
    assert_eq!(outcome(docker), format!("{DIRECTORY}S link.hard d/hard\n"));
    assert_eq!(agrees(docker, "corpus"), 1);
    // ustar has no room for the long name nor for the time before 1970.
    let ustar = &written_by!("gnu-ustar")[..];
    let run = "x run \"#!/bin/sh\\n\"\n";
    assert_eq!(
        outcome(ustar),
        format!("{DIRECTORY}{run}S link.hard d/hard\n")
    );
    assert_eq!(agrees(ustar, "corpus"), 1);
    // GNU's own format gives fields other meanings.
    rejected(&written_by!("gnu-gnu")[..], "header.magic");
}

#[test]
fn times_before_1970_are_read() {
    // Podman had set it to 0 before it wrote its archive.
    for stream in [&written_by!("gnu-pax")[..], written_by!("python-pax")] {
        let members = manifest(stream, StreamEnd::Plain).unwrap();
        let old = members
            .iter()
            .find(|(member, _)| member.path.as_bytes() == b"old")
            .unwrap();
        // Half a second past the turn of the year.
        let expected = FileTime {
            seconds: -315_619_200,
            nanos: 500_000_000,
        };
        assert_eq!(old.0.mtime, expected);
    }
}
