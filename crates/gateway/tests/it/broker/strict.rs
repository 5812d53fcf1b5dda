//! What the broker refuses to read or to do (NET-13, NET-14).

use std::io::{Read as _, Write as _};

use lazaret_egress::{Scheme, SessionLimits as Caps};
use lazaret_tests::model::{Authority, Request};

use super::{Gateway, HOST, OK, Vendor, post};

/// NET-13: what two readers could read differently is not sent on.
#[test]
fn net_13_what_could_be_read_in_two_ways_is_refused() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let head = |fields: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        (
            "both",
            head("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
        ),
        (
            "both, other order",
            head("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
        ),
        (
            "two lengths",
            head("Content-Length: 3\r\nContent-Length: 4\r\n"),
        ),
        (
            "two equal lengths",
            head("Content-Length: 3\r\nContent-Length: 3\r\n"),
        ),
        ("a list of lengths", head("Content-Length: 3, 3\r\n")),
        ("a sign", head("Content-Length: +3\r\n")),
        ("a negative length", head("Content-Length: -3\r\n")),
        ("hexadecimal", head("Content-Length: 0x3\r\n")),
        (
            "too large",
            head("Content-Length: 99999999999999999999\r\n"),
        ),
        ("no length", head("Content-Length:\r\n")),
        ("two codings", head("Transfer-Encoding: gzip, chunked\r\n")),
        ("another coding", head("Transfer-Encoding: xchunked\r\n")),
        (
            "chunked twice",
            head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        ),
        ("a fold", head("A: b\r\n c\r\n")),
        ("a fold at the start", head(" A: b\r\n")),
        ("a blank before the colon", head("Content-Length : 3\r\n")),
        ("no colon", head("A\r\n")),
        ("no name", head(": b\r\n")),
        ("a name in quotes", head("\"A\": b\r\n")),
        ("NUL", head("A: b\0c\r\n")),
        ("bare CR", head("A: b\rX: c\r\n")),
        ("bare LF", head("A: b\nTransfer-Encoding: chunked\r\n")),
        ("DEL", head("A: b\x7f\r\n")),
        ("no host", b"POST / HTTP/1.1\r\n\r\n".to_vec()),
        ("two hosts", head("Host: b\r\n")),
        (
            "two blanks",
            b"POST  / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        ),
        ("a tab", b"POST\t/ HTTP/1.1\r\nHost: a\r\n\r\n".to_vec()),
        (
            "a blank in the target",
            b"POST /a b HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        ),
        (
            "a fragment",
            b"POST /a#b HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        ),
        (
            "bytes in the target",
            b"POST /\xff HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        ),
        (
            "a small method",
            b"post / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        ),
        (
            "an empty line first",
            b"\r\nPOST / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        ),
    ];
    for (name, bytes) in cases {
        let answer = gateway.say(&bytes);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{name}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{name}: {answer}");
    }
    for version in ["HTTP/1.0", "HTTP/2.0", "HTTP/1.10", ""] {
        let answer = gateway.say(format!("GET / {version}\r\nHost: a\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 505 "), "{version}: {answer}");
    }
    assert!(requests.try_recv().is_err(), "the vendor saw nothing");
    assert!(gateway.log().contains("net.bad_request"));
}

/// A body that breaks off or lies leaves the vendor with an unfinished request.
#[test]
fn net_13_a_chunk_that_is_none_ends_the_request() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    for body in [
        "5;extension\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "5\r\nhel",
        "5\r\nhello\r\n",
    ] {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer = gateway.say(format!("{head}{body}").as_bytes());
        assert!(!answer.starts_with("HTTP/1.1 200 "), "{body:?}: {answer}");
    }
    // The vendor's reader ends with an error at each of them.
    assert!(requests.try_recv().is_err(), "no whole request came");
}

#[test]
fn what_the_broker_does_not_do_is_said() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let answer = gateway.say(&post(upgrade, ""));
    assert!(answer.starts_with("HTTP/1.1 501 "), "{answer}");
    assert!(answer.contains("not upgraded here"), "{answer}");
    // The answer to TRACE is the request, with the key.
    let answer = gateway.say(b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert!(requests.try_recv().is_err());
}

#[test]
fn an_answer_that_could_be_read_in_two_ways_is_not_passed_on() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nx: a\nb: c\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nok",
        "HTTP/1.1 20 OK\r\n\r\nok",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n",
        "ok",
        "",
    ] {
        let authority = Authority::new("a vendor's");
        let vendor = Vendor::start(&authority, HOST, move |stream| {
            let _request = Request::read(stream)?;
            stream.get_mut().write_all(answer.as_bytes())
        });
        let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
        let said = gateway.say(&post("", "{}"));
        assert!(said.starts_with("HTTP/1.1 502 "), "{answer:?}: {said}");
    }
}

#[test]
fn net_14_a_head_without_an_end_is_cut_off() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let caps = Caps {
        head_bytes: 2000,
        head_ms: 200,
        ..Caps::default()
    };
    let gateway = Gateway::with(vendor.port, &authority, Scheme::Raw, caps);
    let long = format!("A: {}\r\n", "b".repeat(4000));
    let answer = gateway.say(&post(&long, ""));
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    // One byte, and then nothing: no end of the workload's own ends it.
    let mut stream = gateway.connect();
    stream.write_all(b"P").expect("the broker reads");
    let mut answer = String::new();
    let _read = stream.read_to_string(&mut answer).expect("it is ended");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(requests.try_recv().is_err());
}

#[test]
fn net_14_what_the_broker_passes_counts() {
    let authority = Authority::new("a");
    let (vendor, _requests) = Vendor::answering(&authority, OK);
    let with = |sent_bytes, received_bytes| {
        let caps = Caps {
            sent_bytes,
            received_bytes,
            ..Caps::default()
        };
        Gateway::with(vendor.port, &authority, Scheme::Raw, caps)
    };
    let plenty = 1 << 20;
    let whole = with(plenty, plenty).say(&post("", "x"));
    assert!(whole.starts_with("HTTP/1.1 200"), "{whole}");
    // Not even the head; not the body.
    for sent in [10, 1000] {
        let gateway = with(sent, plenty);
        let answer = gateway.say(&post("", &"x".repeat(5000)));
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(gateway.log().contains("net.bytes"), "{}", gateway.log());
    }
    // What was received of an answer is not taken for a whole one.
    for received in [10, 46] {
        let gateway = with(plenty, received);
        let answer = gateway.say(&post("", "x"));
        assert!(
            !answer.contains("0\r\n\r\n") || answer.starts_with("HTTP/1.1 403"),
            "{answer}"
        );
        assert!(gateway.log().contains("net.bytes"), "{}", gateway.log());
    }
    // What one connection has moved, another can't.
    let gateway = with(1000, plenty);
    let answers: Vec<String> = (0..20).map(|_| gateway.say(&post("", "x"))).collect();
    let served = answers
        .iter()
        .filter(|answer| answer.starts_with("HTTP/1.1 200"))
        .count();
    assert!((1..10).contains(&served), "{served}");
    assert!(answers[19].starts_with("HTTP/1.1 403"), "{}", answers[19]);
}

#[test]
fn an_answer_that_upgrades_unasked_is_not_passed_on() {
    let authority = Authority::new("a vendor's");
    let upgrades =
        "HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let (vendor, _requests) = Vendor::answering(&authority, upgrades);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let answer = gateway.say(&post("", "x"));
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
}

#[test]
fn an_early_answer_arrives_though_the_workload_goes_on_sending() {
    let authority = Authority::new("a vendor's");
    let (vendor, _requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let answer = gateway.say(&post("Upgrade: other\r\n", &"x".repeat(1 << 20)));
    assert!(answer.starts_with("HTTP/1.1 501"), "{answer}");
}
