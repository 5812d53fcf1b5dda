//! What is read of TLS: the name in the first flight, and nothing else.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};

use lazaret_egress::Port;
use lazaret_gateway::client_hello::{self as hello, ClientHello as Hello};

use crate::world::{Plan, Server, World, all};

/// The extension of names, with these in its list.
fn names(names: &[&[u8]]) -> Vec<u8> {
    let list: Vec<u8> = names
        .iter()
        .flat_map(|name| [&[0][..], &long(name)].concat())
        .collect();
    [&[0, 0][..], &long(&long(&list))].concat()
}

/// Bytes after their count in two bytes.
fn long(bytes: &[u8]) -> Vec<u8> {
    let count = u16::try_from(bytes.len()).expect("short");
    [&count.to_be_bytes()[..], bytes].concat()
}

/// A greeting with these extensions, in records of at most `most` bytes.
fn hello(extensions: &[u8], most: usize) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend_from_slice(&[7; 32]);
    body.extend_from_slice(&[0]);
    body.extend_from_slice(&long(&[0x13, 1]));
    body.extend_from_slice(&[1, 0]);
    body.extend_from_slice(&long(extensions));
    let count = u32::try_from(body.len()).expect("short").to_be_bytes();
    let message = [&[1][..], &count[1..], &body].concat();
    let records = message.chunks(most);
    records
        .flat_map(|record| [&[22, 3, 1][..], &long(record)].concat())
        .collect()
}

fn hello_for(name: &str) -> Vec<u8> {
    // Beside others, as in a real one: groups and Encrypted Client Hello.
    let extensions = [
        &[0, 10, 0, 4, 0, 2, 0, 29][..],
        &names(&[name.as_bytes()]),
        &[0xfe, 0x0d, 0, 3, 0, 1, 2],
    ];
    hello(&extensions.concat(), 16384)
}

fn read(bytes: &[u8]) -> String {
    match hello::read(bytes) {
        Ok(Hello::For(name)) => name.to_string(),
        Ok(Hello::Incomplete) => "incomplete".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn net_11_a_greeting_is_for_one_name_or_refused() {
    assert_eq!(read(&hello_for("UP.test")), "up.test");
    assert_eq!(read(&hello(&names(&[b"up.test"]), 3)), "up.test");
    let table = [
        ("no name", hello(&[0, 10, 0, 4, 0, 2, 0, 29], 16384)),
        ("no extensions at all", {
            let mut bytes = hello(&[], 16384);
            bytes.truncate(bytes.len() - 2);
            bytes[4] -= 2;
            bytes[8] -= 2;
            bytes
        }),
        (
            "two names",
            hello(&names(&[b"up.test", b"evil.test"]), 16384),
        ),
        (
            "the extension twice",
            hello(
                &[names(&[b"up.test"]), names(&[b"evil.test"])].concat(),
                16384,
            ),
        ),
        ("an empty list", hello(&names(&[]), 16384)),
        ("an empty name", hello(&names(&[b""]), 16384)),
        ("an address", hello_for("127.0.0.1")),
        ("an IPv6 address", hello_for("::1")),
        ("a NUL", hello_for("up.test\0.evil.test")),
        ("not ASCII", hello_for("b\u{fc}cher.test")),
        (
            "another type of name",
            hello(
                &[
                    0, 0, 0, 12, 0, 10, 1, 0, 7, b'u', b'p', b'.', b't', b'e', b's', b't',
                ],
                16384,
            ),
        ),
        (
            "a length beyond the end",
            hello(&[0, 0, 0, 99, 0, 10, 0, 0, 7, b'u'], 16384),
        ),
        ("a server's greeting", {
            let mut bytes = hello_for("up.test");
            bytes[5] = 2;
            bytes
        }),
        ("an empty record", vec![22, 3, 1, 0, 0]),
        ("a record too long", vec![22, 3, 1, 0x40, 1]),
        ("an alert", vec![21, 3, 1, 0, 2, 2, 40]),
        ("HTTP", b"GET / HTTP/1.1\r\n".to_vec()),
        ("something behind it in its record", {
            let mut bytes = hello_for("up.test");
            bytes.push(9);
            bytes[4] += 1;
            bytes
        }),
    ];
    let table: String = table
        .iter()
        .map(|(what, bytes)| format!("{what:<36} {}\n", read(bytes)))
        .collect();
    insta::assert_snapshot!(table, @"
    no name                              a TLS greeting without a name
    no extensions at all                 a TLS greeting without a name
    two names                            a malformed TLS greeting
    the extension twice                  a malformed TLS greeting
    an empty list                        a malformed TLS greeting
    an empty name                        a TLS greeting for what is no name: the name is empty
    an address                           a TLS greeting for what is no name: the name is an address; only names can be allowed
    an IPv6 address                      a TLS greeting for what is no name: the name is an address; only names can be allowed
    a NUL                                a TLS greeting for what is no name: the name holds a control character or white space
    not ASCII                            a TLS greeting for what is no name: the name has a character or a label that no host name has
    another type of name                 a malformed TLS greeting
    a length beyond the end              a malformed TLS greeting
    a server's greeting                  not TLS
    an empty record                      a malformed TLS greeting
    a record too long                    a malformed TLS greeting
    an alert                             not TLS
    HTTP                                 not TLS
    something behind it in its record    a malformed TLS greeting
    ");
}

#[test]
fn net_11_no_beginning_of_a_greeting_is_anything_else() {
    for bytes in [hello_for("up.test"), hello(&names(&[b"up.test"]), 5)] {
        for end in 0..bytes.len() {
            assert_eq!(hello::read(&bytes[..end]), Ok(Hello::Incomplete), "{end}");
        }
    }
}

/// A server that keeps what it is sent, and a world that leads TLS to it.
fn world() -> (Server, Arc<Mutex<Vec<u8>>>, World) {
    let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
    let keep = Arc::clone(&bytes);
    let server = Server::start(move |mut stream| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            keep.lock()
                .expect("bytes")
                .extend_from_slice(&buffer[..count]);
            stream.write_all(b"hello").expect("written");
        }
    });
    let port = server.port();
    let mut plan = Plan::allowing(&[format!("up.test:{port}"), format!("two.test:{port}")]);
    plan.port = Port::new(port).expect("a port");
    let world = plan.start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    world.dns.answer("two.test", &["127.0.0.1"]);
    (server, bytes, world)
}

#[test]
fn tls_without_a_proxy_is_led_by_its_name() {
    let (server, bytes, world) = world();
    let hello = hello_for("up.test");
    let mut stream = world.connect("tls.sock");
    // In two parts, as a network may deliver it.
    stream.write_all(&hello[..9]).expect("written");
    stream.write_all(&hello[9..]).expect("written");
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"hello");
    assert_eq!(*bytes.lock().expect("bytes"), hello);
    server.wait_for(1);
}

#[test]
fn net_11_tls_without_a_name_or_for_another_host_is_denied() {
    let (server, _bytes, world) = world();
    for (hello, host, code) in [
        (hello_for("other.test"), "other.test", "net.not_listed"),
        (hello(&[], 16384), "", "net.no_sni"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "", "net.not_tls"),
        (hello_for("127.0.0.1"), "", "net.literal"),
    ] {
        let mut stream = world.connect("tls.sock");
        stream.write_all(&hello).expect("written");
        let mut answer = Vec::new();
        let _end = stream.read_to_end(&mut answer);
        assert_eq!(answer, hello::UNRECOGNIZED_NAME, "{code}");
        world.event("denial", |event| {
            matches!(event, lazaret_egress::Event::Decision { host: asked, reason: Some(reason), .. }
                if asked == host && reason.code() == code)
        });
    }
    assert_eq!(server.seen(), 0);
}

#[test]
fn net_11_a_tunnel_carries_no_greeting_for_another_host() {
    let (server, bytes, world) = world();
    let target = format!("up.test:{}", server.port());
    for (hello, code) in [
        (hello_for("two.test"), "net.sni_mismatch"),
        (hello(&[], 16384), "net.no_sni"),
        (
            hello(&names(&[b"up.test", b"two.test"]), 16384),
            "net.not_tls",
        ),
    ] {
        let mut stream = world.tunnel(&target);
        // Byte by byte: no part of it may pass before the whole is known.
        for byte in hello {
            let _written = stream.write_all(&[byte]);
        }
        let mut answer = Vec::new();
        let _end = stream.read_to_end(&mut answer);
        assert_eq!(answer, hello::UNRECOGNIZED_NAME, "{code}");
        world.event("denial", |event| {
            matches!(event, lazaret_egress::Event::Decision { reason: Some(reason), .. } if reason.code() == code)
        });
    }
    assert_eq!(*bytes.lock().expect("bytes"), Vec::<u8>::new());
}

#[test]
fn net_11_a_tunnel_carries_its_own_greeting_and_what_is_no_tls() {
    let (server, bytes, world) = world();
    let target = format!("up.test:{}", server.port());
    for first in [hello_for("UP.test"), b"SSH-2.0-x\r\n".to_vec()] {
        bytes.lock().expect("bytes").clear();
        let mut stream = world.tunnel(&target);
        stream.write_all(&first).expect("written");
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(*bytes.lock().expect("bytes"), first);
    }
}

#[test]
fn what_comes_with_the_request_for_a_tunnel_is_looked_at_as_well() {
    let (server, bytes, world) = world();
    let port = server.port();
    let mut stream = world.connect("proxy.sock");
    let request = format!("CONNECT up.test:{port} HTTP/1.1\r\n\r\n").into_bytes();
    stream
        .write_all(&[request, hello_for("two.test")].concat())
        .expect("written");
    let answer = all(stream);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    world.event("denial", |event| {
        matches!(event, lazaret_egress::Event::Decision { reason: Some(reason), .. } if reason.code() == "net.sni_mismatch")
    });
    assert_eq!(*bytes.lock().expect("bytes"), Vec::<u8>::new());
}
