//! Tunnels: every byte once and in order, half-closed sides, ends, and the end of all.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread;

use lazaret_egress::Event;

use crate::world::{DEADLINE, Plan, Server, World, all, connect};

fn world(server: &Server) -> (World, String) {
    let target = format!("up.test:{}", server.port());
    let world = Plan::allowing(std::slice::from_ref(&target)).start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    (world, target)
}

/// Bytes that show where they were: blocks that begin with their number.
fn pattern(seed: u8, count: usize) -> Vec<u8> {
    const BLOCK: usize = 4096 - 7;
    let block: Vec<u8> = (0..BLOCK)
        .map(|at| seed ^ at.wrapping_mul(167).to_le_bytes()[0])
        .collect();
    let mut bytes = Vec::with_capacity(count + BLOCK);
    while bytes.len() < count {
        let number = bytes.len() / BLOCK;
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&block[8..]);
    }
    bytes.truncate(count);
    bytes
}

#[test]
fn every_byte_arrives_once_and_in_order_both_ways() {
    let server = Server::echo();
    let (world, target) = world(&server);
    let tunnels: Vec<_> = (0..4)
        .map(|seed| {
            let stream = world.tunnel(&target);
            thread::spawn(move || {
                let bytes = pattern(seed, 3_000_000 + usize::from(seed));
                let mut writer = stream.try_clone().expect("a clone");
                let sent = bytes.clone();
                let writing = thread::spawn(move || {
                    // In pieces of many sizes.
                    let mut rest = sent.as_slice();
                    for size in (1..).map(|step: usize| 1 + step * 7919 % 70_000) {
                        let (piece, after) = rest.split_at(size.min(rest.len()));
                        writer.write_all(piece).expect("written");
                        rest = after;
                        if rest.is_empty() {
                            break;
                        }
                    }
                    writer.shutdown(Shutdown::Write).expect("half-closed");
                });
                let mut received = Vec::new();
                (&stream).read_to_end(&mut received).expect("an end");
                writing.join().expect("written");
                assert!(received == bytes, "{} of {}", received.len(), bytes.len());
            })
        })
        .collect();
    for tunnel in tunnels {
        tunnel.join().expect("all of it");
    }
    let closed = |event: &&Event| matches!(event, Event::Closed { sent, received, reason: None, .. } if sent == received && *sent >= 3_000_000);
    crate::world::wait("ends", || world.events().iter().filter(closed).count() == 4);
}

#[test]
fn a_side_that_has_ended_still_receives() {
    let server = Server::start(|mut stream| {
        // Answers only after the end of the question.
        let mut question = String::new();
        stream.read_to_string(&mut question).expect("a question");
        stream
            .write_all(format!("{question}!").as_bytes())
            .expect("written");
    });
    let (world, target) = world(&server);
    let mut stream = world.tunnel(&target);
    stream.write_all(b"well?").expect("written");
    stream.shutdown(Shutdown::Write).expect("half-closed");
    assert_eq!(all(stream), "well?!");
}

#[test]
fn a_server_that_has_ended_still_receives() {
    let server = Server::start(|mut stream| {
        stream.write_all(b"bye").expect("written");
        stream.shutdown(Shutdown::Write).expect("half-closed");
        let mut rest = String::new();
        stream.read_to_string(&mut rest).expect("the rest");
        assert_eq!(rest, "late");
    });
    let (world, target) = world(&server);
    let mut stream = world.tunnel(&target);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "bye");
    stream.write_all(b"late").expect("written");
    drop(stream);
    let event = world.event("end", |event| matches!(event, Event::Closed { .. }));
    assert!(
        matches!(
            event,
            Event::Closed {
                sent: 4,
                received: 3,
                reason: None,
                ..
            }
        ),
        "{event:?}"
    );
}

#[test]
fn a_client_that_goes_away_ends_its_tunnel_though_the_server_stays() {
    let server = Server::start(|stream| {
        // Never says a word and never closes by itself.
        let mut reader = &stream;
        let _end = reader.read_to_end(&mut Vec::new());
        thread::sleep(DEADLINE);
    });
    let (world, target) = world(&server);
    drop(world.tunnel(&target));
    world.event("end", |event| {
        matches!(event, Event::Closed { reason: None, .. })
    });
}

#[test]
fn what_was_left_behind_is_delivered() {
    let server = Server::start(|mut stream| {
        stream.write_all(&pattern(9, 150_000)).expect("written");
    });
    let (world, target) = world(&server);
    let mut stream = world.tunnel(&target);
    server.wait_for(1);
    let mut received = Vec::new();
    stream.read_to_end(&mut received).expect("an end");
    assert!(received == pattern(9, 150_000), "{}", received.len());
}

#[test]
fn a_reader_that_stops_delays_no_other_and_loses_nothing() {
    // More than what all buffers on the way hold together.
    let bytes = Arc::new(pattern(3, 20_000_000));
    let sent = Arc::clone(&bytes);
    let server = Server::start(move |mut stream| {
        let _end = stream.write_all(&sent);
    });
    let (world, target) = world(&server);
    let slow: Vec<_> = (0..8).map(|_| world.tunnel(&target)).collect();
    let mut fast = world.tunnel(&target);
    let mut received = Vec::new();
    fast.read_to_end(&mut received).expect("an end");
    assert!(received == *bytes, "{}", received.len());
    for mut stream in slow.into_iter().take(2) {
        received.clear();
        stream.read_to_end(&mut received).expect("an end");
        assert!(received == *bytes, "{}", received.len());
    }
}

#[test]
fn many_tunnels_are_held_while_one_is_busy() {
    let server = Server::start(|mut stream| {
        let mut first = [0];
        if let Ok(1) = stream.read(&mut first) {
            stream.write_all(&pattern(4, 8_000_000)).expect("written");
        }
    });
    let (world, target) = world(&server);
    let idle: Vec<_> = (0..100).map(|_| world.tunnel(&target)).collect();
    let mut busy = world.tunnel(&target);
    busy.write_all(b"x").expect("written");
    let mut received = Vec::new();
    busy.read_to_end(&mut received).expect("an end");
    assert!(received == pattern(4, 8_000_000), "{}", received.len());
    drop(idle);
    let closed = |event: &&Event| matches!(event, Event::Closed { .. });
    drop(busy);
    crate::world::wait("ends", || {
        world.events().iter().filter(closed).count() == 101
    });
}

#[test]
fn net_23_the_end_of_the_input_closes_everything() {
    let server = Server::start(|mut stream| {
        let _end = stream.read_to_end(&mut Vec::new());
    });
    let (mut world, target) = world(&server);
    // One that is still being read: it was accepted before the tunnel that came after it.
    let waiting = world.say("CONNECT up.te");
    let tunnel = world.tunnel(&target);
    world.end();
    assert_eq!(all(tunnel), "");
    assert_eq!(all(waiting), "");
    crate::world::wait("closed sockets", || {
        std::os::unix::net::UnixStream::connect(world.socket("proxy.sock")).is_err()
    });
}

#[test]
fn net_23_tunnels_close_though_another_connection_is_still_being_resolved() {
    let server = Server::start(|mut stream| {
        let _end = stream.read_to_end(&mut Vec::new());
    });
    let target = format!("up.test:{}", server.port());
    let mut world = Plan::allowing(&[target.clone(), "slow.test:443".to_owned()]).start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    world.dns.script("slow.test", |_, _| Vec::new());
    // Its thread waits for longer than this test.
    let _slow = world.say(&connect("slow.test:443"));
    crate::world::wait("the question", || {
        world.dns.names().iter().any(|name| name == "slow.test")
    });
    let tunnel = world.tunnel(&target);
    let soon = std::time::Duration::from_secs(20);
    tunnel.set_read_timeout(Some(soon)).expect("it is open");
    world.end();
    assert_eq!(all(tunnel), "");
}

#[test]
fn every_decision_is_told_before_a_byte_passes() {
    let server = Server::start(|mut stream| {
        let _sent = stream.write_all(b"first");
    });
    let (world, target) = world(&server);
    let mut stream = world.tunnel(&target);
    let mut first = [0; 5];
    stream.read_exact(&mut first).expect("bytes");
    let event = world.event("decision", |event| matches!(event, Event::Decision { .. }));
    let Event::Decision {
        rule,
        address,
        port,
        ..
    } = event
    else {
        panic!("{event:?}");
    };
    assert_eq!(rule, Some(target));
    assert_eq!(address, Some("127.0.0.1".parse().expect("an address")));
    assert_eq!(port, Some(server.port()));
}
