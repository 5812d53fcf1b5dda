//! The relay inside, and the way back in by `dial`.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use lazaret_gateway::{Relay, RelayError, RelayRoute};

use crate::world::{DEADLINE, Plan, Server, World, all, connect, head};

/// A relay to the proxy of a world, and its port.
fn relay(world: &World) -> (Relay, u16) {
    // A port of the kernel's choice may be taken on ::1; then another is.
    loop {
        let route = RelayRoute {
            port: 0,
            socket: world.socket("proxy.sock"),
        };
        match Relay::start(&[route]) {
            Ok(relay) => {
                let port = relay.addresses()[0].port();
                return (relay, port);
            }
            Err(RelayError::Bind { address, .. }) if address.is_ipv6() => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn client(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the relay listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    stream.set_write_timeout(Some(DEADLINE)).expect("a timeout");
    stream
}

#[test]
fn what_comes_at_a_loopback_port_reaches_the_proxy_and_its_server() {
    let server = Server::echo();
    let target = format!("up.test:{}", server.port());
    let world = Plan::allowing(std::slice::from_ref(&target)).start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    let (_relay, port) = relay(&world);
    let mut stream = client(port);
    stream
        .write_all(connect(&target).as_bytes())
        .expect("written");
    assert!(head(&mut stream).starts_with("HTTP/1.1 200 "));
    let bytes = vec![7; 2_000_000];
    let mut writer = stream.try_clone().expect("a clone");
    let sent = bytes.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&sent).expect("written");
        writer.shutdown(Shutdown::Write).expect("half-closed");
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).expect("an end");
    writing.join().expect("written");
    assert!(received == bytes, "{}", received.len());
}

#[test]
fn a_refusal_arrives_though_the_client_has_sent_more_than_was_read() {
    let world = Plan::allowing(&[]).start();
    let (_relay, port) = relay(&world);
    for _ in 0..20 {
        let mut stream = client(port);
        let body = vec![b'x'; 300_000];
        let request = "POST http://other.test/ HTTP/1.1\r\nHost: other.test\r\nContent-Length: 300000\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("written");
        let _written = stream.write_all(&body);
        let answer = head(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
}

#[test]
fn net_23_without_a_gateway_the_relay_closes() {
    let mut world = Plan::allowing(&[]).start();
    let (_relay, port) = relay(&world);
    world.end();
    assert_eq!(all(client(port)), "");
}

#[test]
fn a_port_that_is_taken_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let route = RelayRoute {
        port,
        socket: "/nowhere".into(),
    };
    let error = Relay::start(&[route]).expect_err("taken");
    assert!(
        error
            .to_string()
            .starts_with(&format!("can't listen at 127.0.0.1:{port}: ")),
        "{error}"
    );
}

#[test]
fn a_dialled_port_answers_after_the_end_of_the_input() {
    let server = Server::start(|mut stream| {
        let mut question = Vec::new();
        stream.read_to_end(&mut question).expect("a question");
        question.reverse();
        stream.write_all(&question).expect("written");
    });
    let mut answer = Vec::new();
    lazaret_gateway::dial(server.port(), &b"abc"[..], &mut answer).expect("dialled");
    assert_eq!(answer, b"cba");
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = closed.local_addr().expect("an address").port();
    drop(closed);
    assert!(lazaret_gateway::dial(port, &b""[..], Vec::new()).is_err());
}
