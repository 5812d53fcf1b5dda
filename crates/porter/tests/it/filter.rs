//! The porter's own filter of system calls, as the environment of a container asks for it.

use std::process::Output;

/// Connects to a port of the loopback where nothing listens, with a variable.
fn dial(filter: Option<&str>) -> Output {
    let mut dial = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), ["dial", "1"]);
    if let Some(filter) = filter {
        dial = dial.env("LAZARET_FILTER", filter);
    }
    let output = dial.stdin_null().stderr_capture().unchecked().run();
    output.expect("it was built")
}

#[track_caller]
fn check(filter: Option<&str>, expected: &str) {
    let output = dial(filter);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains(expected), "{said}");
}

#[test]
fn con_18_a_porter_with_the_filter_makes_no_socket() {
    check(None, "refused");
    check(Some("unix-sockets"), "Operation not permitted");
}

#[test]
fn con_18_an_unknown_filter_stops_the_porter() {
    check(Some("other"), "there is no filter `other`");
    check(Some(""), "there is no filter ``");
}
