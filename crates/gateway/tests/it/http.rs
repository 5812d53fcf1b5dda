//! Plain HTTP at the proxy and by `Host`, and everything that is no strict request.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};

use lazaret_egress::Port;

use crate::world::{Plan, Server, World, all, head};

/// A server that keeps what it was sent, and answers the first request.
fn upstream(answer: &'static str) -> (Server, Arc<Mutex<Vec<String>>>) {
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&requests);
    let server = Server::start(move |mut stream| {
        let request = head(&mut stream);
        keep.lock().expect("requests").push(request);
        stream.write_all(answer.as_bytes()).expect("written");
    });
    (server, requests)
}

fn world(port: u16) -> World {
    let mut plan = Plan::allowing(&[format!("up.test:{port}"), format!("two.test:{port}")]);
    plan.port = Port::new(port).expect("a port");
    let world = plan.start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    world.dns.answer("two.test", &["127.0.0.1"]);
    world
}

#[test]
fn a_plain_request_is_sent_on_without_what_is_for_the_proxy() {
    let (server, requests) = upstream(
        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nhi",
    );
    let port = server.port();
    let world = world(port);
    let answer = all(world.say(&format!(
        "GET HTTP://UP.test:{port}/a?b=c HTTP/1.1\r\nHost: up.TEST.:{port}\r\nProxy-Authorization: Basic eA==\r\n\
         Proxy-Connection: keep-alive\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 3\r\nTE: trailers\r\nUpgrade: h2c\r\nAccept: */*\r\n\r\n"
    )));
    let request = requests.lock().expect("requests")[0].replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(request.replace('\r', ""), @"
    GET /a?b=c HTTP/1.1
    host: up.test:PORT
    accept: */*
    connection: close
    ");
    insta::assert_snapshot!(answer.replace('\r', ""), @"
    HTTP/1.1 200 OK
    Content-Length: 2
    Connection: close

    hi
    ");
}

#[test]
fn requests_by_host_are_judged_by_it() {
    let (server, requests) = upstream("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    let port = server.port();
    let world = world(port);
    let ask = |host: &str, target: &str| {
        let mut stream = world.connect("http.sock");
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("written");
        all(stream).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(ask("up.test", "/a"), "HTTP/1.1 200 OK");
    assert_eq!(ask(&format!("up.test:{port}"), "/a"), "HTTP/1.1 200 OK");
    assert_eq!(ask("other.test", "/a"), "HTTP/1.1 403 Forbidden");
    assert_eq!(ask("127.0.0.1", "/a"), "HTTP/1.1 403 Forbidden");
    assert_eq!(ask("up.test:1", "/a"), "HTTP/1.1 400 Bad Request");
    assert_eq!(
        ask("up.test", "http://other.test/"),
        "HTTP/1.1 400 Bad Request"
    );
    assert_eq!(ask("", "/a"), "HTTP/1.1 400 Bad Request");
    assert_eq!(requests.lock().expect("requests").len(), 2);
}

#[test]
fn net_13_what_could_be_read_in_two_ways_is_refused_and_logged() {
    let (server, requests) = upstream("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let port = server.port();
    let world = world(port);
    let get = format!("GET http://up.test:{port}/ HTTP/1.1\r\n");
    let post = format!("POST http://up.test:{port}/ HTTP/1.1\r\n");
    let host = format!("Host: up.test:{port}\r\n");
    let cases = [
        ("Host mismatch", format!("{get}Host: other.test\r\n\r\n")),
        (
            "Host with another port",
            format!("{get}Host: up.test:1\r\n\r\n"),
        ),
        ("no Host", format!("{get}\r\n")),
        ("Host twice", format!("{get}{host}{host}\r\n")),
        (
            "length and coding",
            format!("{post}{host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ),
        (
            "two lengths",
            format!("{post}{host}Content-Length: 3\r\nContent-Length: 3\r\n\r\n"),
        ),
        (
            "length list",
            format!("{post}{host}Content-Length: 3, 3\r\n\r\n"),
        ),
        (
            "length with sign",
            format!("{post}{host}Content-Length: +3\r\n\r\n"),
        ),
        (
            "length in hex",
            format!("{post}{host}Content-Length: 0x3\r\n\r\n"),
        ),
        (
            "length negative",
            format!("{post}{host}Content-Length: -1\r\n\r\n"),
        ),
        (
            "length beyond 64 bits",
            format!("{post}{host}Content-Length: 99999999999999999999\r\n\r\n"),
        ),
        (
            "other coding",
            format!("{post}{host}Transfer-Encoding: gzip, chunked\r\n\r\n"),
        ),
        (
            "coding in quotes",
            format!("{post}{host}Transfer-Encoding: \"chunked\"\r\n\r\n"),
        ),
        (
            "coding twice",
            format!("{post}{host}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ),
        (
            "coding in 1.0",
            format!(
                "POST http://up.test:{port}/ HTTP/1.0\r\n{host}Transfer-Encoding: chunked\r\n\r\n"
            ),
        ),
        ("folded field", format!("{get}{host}X: a\r\n b\r\n\r\n")),
        (
            "space before colon",
            format!("{get}{host}Content-Length : 3\r\n\r\n"),
        ),
        ("no colon", format!("{get}{host}Content-Length\r\n\r\n")),
        ("no name", format!("{get}{host}: x\r\n\r\n")),
        ("bare LF", format!("{get}{host}X: a\nY: b\r\n\r\n")),
        (
            "LF alone",
            format!("GET http://up.test:{port}/ HTTP/1.1\nHost: up.test:{port}\n\n"),
        ),
        ("bare CR", format!("{get}{host}X: a\rY: b\r\n\r\n")),
        ("NUL", format!("{get}{host}X: a\0b\r\n\r\n")),
        ("escape", format!("{get}{host}X: \x1b[2J\r\n\r\n")),
        (
            "userinfo",
            format!("GET http://up.test@other.test:{port}/ HTTP/1.1\r\n{host}\r\n"),
        ),
        (
            "fragment",
            format!("GET http://up.test:{port}/#a HTTP/1.1\r\n{host}\r\n"),
        ),
        (
            "space in target",
            format!("GET http://up.test:{port}/ a HTTP/1.1\r\n{host}\r\n"),
        ),
        (
            "two spaces",
            format!("GET  http://up.test:{port}/ HTTP/1.1\r\n{host}\r\n"),
        ),
        (
            "not ASCII",
            format!("GET http://up.test:{port}/\u{e4} HTTP/1.1\r\n{host}\r\n"),
        ),
        ("empty line first", format!("\r\n{get}{host}\r\n")),
        (
            "version 2",
            format!("GET http://up.test:{port}/ HTTP/2.0\r\n{host}\r\n"),
        ),
        ("version 0.9", format!("GET http://up.test:{port}/\r\n\r\n")),
        (
            "lower-case version",
            format!("GET http://up.test:{port}/ http/1.1\r\n{host}\r\n"),
        ),
        (
            "https",
            format!("GET https://up.test:{port}/ HTTP/1.1\r\n{host}\r\n"),
        ),
        ("origin form", format!("GET / HTTP/1.1\r\n{host}\r\n")),
        (
            "connection takes framing away",
            format!("{post}{host}Connection: content-length\r\nContent-Length: 3\r\n\r\n"),
        ),
        (
            "CONNECT with a body",
            format!("CONNECT up.test:{port} HTTP/1.1\r\n{host}Content-Length: 3\r\n\r\n"),
        ),
        (
            "CONNECT with other Host",
            format!("CONNECT up.test:{port} HTTP/1.1\r\nHost: other.test:{port}\r\n\r\n"),
        ),
        (
            "CONNECT with path",
            format!("CONNECT up.test:{port}/ HTTP/1.1\r\n{host}\r\n"),
        ),
        (
            "CONNECT with scheme",
            format!("CONNECT http://up.test:{port} HTTP/1.1\r\n{host}\r\n"),
        ),
        (
            "many fields",
            format!("{get}{host}{}\r\n", "X: 1\r\n".repeat(300)),
        ),
    ];
    for (what, request) in &cases {
        let answer = all(world.say(request));
        let first = answer.lines().next().unwrap_or_default();
        assert!(first.starts_with("HTTP/1.1 4"), "{what}: {answer:?}");
    }
    assert_eq!(server.seen(), 0);
    assert_eq!(*requests.lock().expect("requests"), Vec::<String>::new());
    crate::world::wait("denials", || denials(&world) == cases.len());
}

fn denials(world: &World) -> usize {
    let denied = |event: &lazaret_egress::Event| {
        matches!(
            event,
            lazaret_egress::Event::Decision {
                verdict: lazaret_egress::Verdict::Denied,
                ..
            }
        )
    };
    world.events().iter().filter(|event| denied(event)).count()
}

/// Serves one request whose body it reads to the end, and keeps all bytes.
fn keeper() -> (Server, Arc<Mutex<Vec<u8>>>) {
    let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
    let keep = Arc::clone(&bytes);
    let server = Server::start(move |mut stream| {
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).unwrap_or(0);
            let mut kept = keep.lock().expect("bytes");
            kept.extend_from_slice(&buffer[..count]);
            if count == 0 || kept.ends_with(b"END") || kept.ends_with(b"0\r\n\r\n") {
                break;
            }
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .expect("written");
        // Whatever else would come has the time to come: the end of the connection.
        let mut rest = Vec::new();
        let _end = stream.read_to_end(&mut rest);
        keep.lock().expect("bytes").extend_from_slice(&rest);
    });
    (server, bytes)
}

#[test]
fn net_13_nothing_follows_the_body_of_a_request() {
    for body in [
        "Content-Length: 3\r\n\r\nEND",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nEND\r\n0\r\n\r\n",
    ] {
        let (server, bytes) = keeper();
        let port = server.port();
        let world = world(port);
        let request =
            format!("POST http://up.test:{port}/ HTTP/1.1\r\nHost: up.test:{port}\r\n{body}");
        let second = "GET /second HTTP/1.1\r\nHost: two.test\r\n\r\n";
        let mut stream = world.say(&format!("{request}{second}"));
        let answer = head(&mut stream);
        assert!(answer.contains("Connection: close"), "{answer}");
        let _written = stream.write_all(second.as_bytes());
        drop(stream);
        world.event("end", |event| {
            matches!(event, lazaret_egress::Event::Closed { .. })
        });
        let bytes = String::from_utf8_lossy(&bytes.lock().expect("bytes")).into_owned();
        assert!(bytes.contains("END"), "{bytes}");
        assert!(!bytes.contains("second"), "{bytes}");
    }
}

#[test]
fn net_13_chunks_are_framed_plainly_or_not_at_all() {
    for body in [
        "3;ext=1\r\nEND\r\n0\r\n\r\n",
        "+3\r\nEND",
        "0x3\r\nEND",
        " 3\r\nEND",
        "3\nEND",
        "3\r\nEND!",
        "3\r\nENDX\n",
        "0\r\nTrailer: x\r\n\r\n",
        "fffffffffffffffff\r\nEND",
        "\r\nEND",
        "g\r\n",
    ] {
        let (server, bytes) = keeper();
        let port = server.port();
        let world = world(port);
        let stream = world.say(&format!(
            "POST http://up.test:{port}/ HTTP/1.1\r\nHost: up.test:{port}\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
        ));
        assert_eq!(all(stream), "", "{body}");
        world.event("end", |event| {
            matches!(event, lazaret_egress::Event::Closed { reason: Some(reason), .. } if reason.code() == "net.bad_request")
        });
        let bytes = String::from_utf8_lossy(&bytes.lock().expect("bytes")).into_owned();
        assert!(!bytes.contains("END"), "{body}: {bytes}");
    }
}

#[test]
fn net_16_where_a_redirect_leads_is_judged_again() {
    let (server, requests) =
        upstream("HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n");
    let port = server.port();
    let world = world(port);
    let answer = all(world.say(&format!(
        "GET http://up.test:{port}/ HTTP/1.1\r\nHost: up.test:{port}\r\n\r\n"
    )));
    assert!(
        answer.starts_with("HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\n"),
        "{answer}"
    );
    // The gateway follows nothing by itself; a client that does asks again.
    let answer = world.answer("GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n");
    assert_eq!(answer, "HTTP/1.1 403 Forbidden");
    assert_eq!(world.denial("other.test"), "net.not_listed");
    assert_eq!(requests.lock().expect("requests").len(), 1);
}

#[test]
fn an_interim_answer_passes_before_the_answer() {
    let (server, _requests) = upstream(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nconnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
    );
    let port = server.port();
    let world = world(port);
    let answer = all(world.say(&format!(
        "POST http://up.test:{port}/ HTTP/1.1\r\nHost: up.test:{port}\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n"
    )));
    let expected = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    assert_eq!(answer, expected);
}
