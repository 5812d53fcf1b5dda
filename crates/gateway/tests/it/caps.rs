//! NET-14: what a workload may take, in bytes, connections and time.

use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Duration;

use lazaret_egress::{Event, SessionLimits};

use crate::world::{Plan, Server, World, all, connect};

fn world(server: &Server, caps: SessionLimits) -> (World, String) {
    let target = format!("up.test:{}", server.port());
    let plan = Plan::allowing(std::slice::from_ref(&target));
    let world = Plan { caps, ..plan }.start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    (world, target)
}

/// Those of the other tests.
fn patient() -> SessionLimits {
    Plan::allowing(&[]).caps
}

#[track_caller]
fn closed_by(world: &World, code: &str) {
    world.event("end", |event| {
        matches!(event, Event::Closed { reason: Some(reason), .. } if reason.code() == code)
    });
}

#[test]
fn net_14_a_head_that_comes_too_slowly_is_refused() {
    let server = Server::echo();
    let caps = SessionLimits {
        head_ms: 300,
        ..patient()
    };
    let (world, target) = world(&server, caps);
    let slow = world.connect("proxy.sock");
    // A byte now and then would keep a mere idle time-out away for ever.
    let mut writer = slow.try_clone().expect("a clone");
    let bytes = connect(&target);
    let writing = thread::spawn(move || {
        for byte in bytes.bytes() {
            if writer.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    let answer = all(&slow);
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    drop(slow);
    writing.join().expect("ended");
    assert_eq!(world.denial(""), "net.head");
    assert_eq!(server.seen(), 0);
    // A silent one is closed without a word.
    assert_eq!(all(world.connect("proxy.sock")), "");
}

#[test]
fn net_14_a_head_or_greeting_that_is_too_long_is_refused() {
    let server = Server::echo();
    let caps = SessionLimits {
        head_bytes: 4096,
        ..patient()
    };
    let (world, target) = world(&server, caps);
    let long = "a".repeat(8000);
    let answer = world.answer(&format!("CONNECT {target} HTTP/1.1\r\nX: {long}\r\n\r\n"));
    assert_eq!(answer, "HTTP/1.1 431 Request Header Fields Too Large");
    let mut stream = world.connect("tls.sock");
    let records = [&[22, 3, 1, 0x20, 0, 1, 0, 0x3f, 0][..], &[0; 8000]].concat();
    let _written = stream.write_all(&records);
    assert_ne!(all(stream), "");
    let mut stream = world.tunnel(&target);
    let _written = stream.write_all(&records);
    let mut answer = Vec::new();
    let _end = stream.read_to_end(&mut answer);
    closed_by(&world, "net.head");
    server.wait_for(1);
}

#[test]
fn net_14_so_many_connections_at_once_and_no_more() {
    let server = Server::echo();
    let caps = SessionLimits {
        connections: 5,
        ..patient()
    };
    let (world, target) = world(&server, caps);
    let mut held: Vec<_> = (0..5).map(|_| world.tunnel(&target)).collect();
    for _ in 0..3 {
        assert_eq!(
            world.answer(&connect(&target)),
            "HTTP/1.1 503 Service Unavailable"
        );
    }
    assert_eq!(world.denial(""), "net.connections");
    // One that ends makes room for one.
    drop(held.pop());
    crate::world::wait("room", || {
        world.answer(&connect(&target)) == "HTTP/1.1 200 Connection established"
    });
}

#[test]
fn net_14_slow_connections_wait_for_each_other_and_all_are_served() {
    let server = Server::echo();
    let caps = SessionLimits {
        threads: 2,
        ..patient()
    };
    let (world, target) = world(&server, caps);
    let mut streams: Vec<_> = (0..20).map(|_| world.say(&connect(&target))).collect();
    for stream in &mut streams {
        assert!(crate::world::head(stream).starts_with("HTTP/1.1 200 "));
    }
    server.wait_for(20);
}

#[test]
fn net_14_an_upload_ends_where_the_session_may_send_no_more() {
    let server = Server::start(|mut stream| {
        let mut buffer = vec![0; 65536];
        while let Ok(1..) = stream.read(&mut buffer) {}
    });
    let caps = SessionLimits {
        sent_bytes: 1_000_000,
        ..patient()
    };
    let (world, target) = world(&server, caps);
    let mut stream = world.tunnel(&target);
    let mut written = 0;
    // What is on its way when it is closed counts as written here.
    while written < 100_000_000 {
        match stream.write(&[0; 65536]) {
            Ok(count) => written += count,
            Err(_) => break,
        }
    }
    assert!(written < 100_000_000);
    closed_by(&world, "net.bytes");
    let passed = world.events().iter().find_map(|event| match event {
        Event::Closed { sent, .. } => Some(*sent),
        _ => None,
    });
    assert!(
        passed.is_some_and(|passed| passed <= 1_000_000),
        "{passed:?}"
    );
    // All of the session: another connection may send nothing either.
    let mut other = world.tunnel(&target);
    let _written = other.write_all(b"x");
    assert_eq!(all(other), "");
}

#[test]
fn net_14_a_download_ends_where_the_session_may_receive_no_more() {
    let server = Server::start(|mut stream| while stream.write(&[0; 65536]).is_ok() {});
    let caps = SessionLimits {
        received_bytes: 1_000_000,
        ..patient()
    };
    let (world, target) = world(&server, caps);
    let received = all(world.tunnel(&target));
    assert!(received.len() <= 1_000_000, "{}", received.len());
    closed_by(&world, "net.bytes");
}

#[test]
fn net_14_a_tunnel_that_carries_nothing_is_closed() {
    let server = Server::echo();
    let caps = SessionLimits {
        idle_ms: 200,
        ..patient()
    };
    let (world, target) = world(&server, caps);
    assert_eq!(all(world.tunnel(&target)), "");
    closed_by(&world, "net.idle");
}
