//! Requests and answers pass as they come, and whole.

use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::mpsc;

use lazaret_egress::Scheme;
use lazaret_tests::model::{Authority, Request};

use super::{Gateway, HOST, OK, PATIENCE, Vendor, has_key, post};

/// An event is at the workload before the vendor sends the next.
#[test]
fn an_answer_is_passed_on_as_it_comes() {
    let authority = Authority::new("a vendor's");
    let (go_on, seen) = mpsc::channel::<()>();
    let seen = Mutex::new(seen);
    let vendor = Vendor::start(&authority, HOST, move |stream| {
        let _request = Request::read(stream)?;
        let to = stream.get_mut();
        to.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")?;
        for number in 0..5 {
            to.write_all(format!("data: event {number}\n\n").as_bytes())?;
            to.flush()?;
            let seen = seen.lock().expect("no thread panicked");
            seen.recv_timeout(PATIENCE).expect("the event was seen");
        }
        Ok(())
    });
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let mut stream = gateway.connect();
    stream.write_all(&post("", "{}")).expect("the broker reads");
    let mut answer = String::new();
    for number in 0..5 {
        while !answer.contains(&format!("event {number}\n\n")) {
            let mut piece = [0; 4096];
            let read = stream.read(&mut piece).expect("it comes in time");
            assert!(read > 0, "{answer}");
            answer += &String::from_utf8_lossy(&piece[..read]);
        }
        go_on.send(()).expect("the vendor waits");
    }
}

#[test]
fn a_request_is_passed_on_as_it_comes() {
    let authority = Authority::new("a vendor's");
    let (saw, seen) = mpsc::channel();
    let saw = Mutex::new(saw);
    let vendor = Vendor::start(&authority, HOST, move |stream| {
        let mut all = Vec::new();
        let mut piece = [0; 4096];
        while !all.ends_with(b"0\r\n\r\n") {
            let read = stream.read(&mut piece)?;
            all.extend_from_slice(&piece[..read]);
            if String::from_utf8_lossy(&all).contains("first") {
                let _gone = saw.lock().expect("no thread panicked").send(());
            }
        }
        stream.get_mut().write_all(OK.as_bytes())
    });
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let mut stream = gateway.connect();
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n",
        )
        .expect("the broker reads");
    seen.recv_timeout(PATIENCE).expect("the vendor has it");
    stream
        .write_all(b"6\r\nsecond\r\n0\r\nX-Api-Key: own\r\n\r\n")
        .expect("the broker reads");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("it is answered");
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[test]
fn a_connection_serves_one_request_after_the_other() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let two = [post("", "one"), post("", "two")].concat();
    let answer = gateway.say(&two);
    assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{answer}");
    for body in ["one", "two"] {
        let request = requests.recv_timeout(PATIENCE).expect("it came");
        assert_eq!(request.body, body.as_bytes());
        assert!(has_key(&request, Scheme::Raw));
    }
}

#[test]
fn a_workload_that_asks_first_is_answered_first() {
    let authority = Authority::new("a vendor's");
    let (vendor, requests) = Vendor::answering(&authority, OK);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let mut stream = gateway.connect();
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
        )
        .expect("the broker reads");
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).expect("it is told to go on");
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").expect("the broker reads");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("it is answered");
    assert_eq!(&answer, b"HTTP/1.1 200");
    let request = requests.recv_timeout(PATIENCE).expect("it came");
    assert_eq!(request.body, b"body");
    assert_eq!(request.header("expect"), None);
    let answer = gateway.say(&post("Expect: the-unexpected\r\n", ""));
    assert!(answer.starts_with("HTTP/1.1 417 "), "{answer}");
}

#[test]
fn an_answer_that_breaks_off_is_not_taken_for_whole() {
    for (name, answer) in [
        (
            "a length",
            "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        ),
        (
            "a chunk",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n64\r\nhalf",
        ),
        (
            "no last chunk",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        ),
    ] {
        let authority = Authority::new("a vendor's");
        let vendor = Vendor::start(&authority, HOST, move |stream| {
            let _request = Request::read(stream)?;
            stream.get_mut().write_all(answer.as_bytes())
        });
        let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
        let answer = gateway.say(&post("", "{}"));
        assert!(answer.contains("half"), "{name}: {answer}");
        assert!(!answer.ends_with("0\r\n\r\n"), "{name}: {answer}");
    }
}

#[test]
fn interim_answers_and_answers_without_a_body_are_understood() {
    let authority = Authority::new("a vendor's");
    let (vendor, _requests) = Vendor::answering(
        &authority,
        "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    );
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let answer = gateway.say(&[post("", "a"), post("", "b")].concat());
    assert_eq!(answer.matches("HTTP/1.1 204 ").count(), 2, "{answer}");
    assert!(
        !answer.contains("103") && !answer.contains("chunked"),
        "{answer}"
    );

    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n";
    let (vendor, _requests) = Vendor::answering(&authority, head);
    let gateway = Gateway::new(vendor.port, &authority, Scheme::Raw);
    let answer = gateway.say(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );
}
