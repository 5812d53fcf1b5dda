//! A resolver that answers by a script, and what the gateway's makes of it.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use lazaret_egress::{Mode, PrivateReach};

use crate::world::{Plan, Server, all, connect};

/// Answers a question, given how often it was asked before: the messages to send.
type Script = Arc<dyn Fn(&Asked, usize) -> Vec<Vec<u8>> + Send + Sync>;

/// A question as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    message: Vec<u8>,
    name: String,
    kind: u16,
    by: By,
}

/// How a question came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Udp,
    Tcp,
}

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

/// A resolver on the loopback.
pub(crate) struct Dns {
    pub(crate) address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    scripts: HashMap<String, Script>,
    asked: Vec<Asked>,
}

impl Dns {
    pub(crate) fn start() -> Self {
        // The same port twice: another program may take it between the two.
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let address = udp.local_addr().expect("an address");
            if let Ok(tcp) = TcpListener::bind(address) {
                break (udp, tcp);
            }
        };
        let dns = Self {
            address: udp.local_addr().expect("an address"),
            shared: Arc::default(),
        };
        let shared = Arc::clone(&dns.shared);
        thread::spawn(move || {
            let mut message = [0; 1024];
            while let Ok((count, from)) = udp.recv_from(&mut message) {
                for answer in answers(&shared, &message[..count], By::Udp) {
                    let _sent = udp.send_to(&answer, from);
                }
            }
        });
        let shared = Arc::clone(&dns.shared);
        thread::spawn(move || {
            for stream in tcp.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &shared));
            }
        });
        dns
    }

    /// Answers questions for a name by a script.
    pub(crate) fn script(
        &self,
        name: &str,
        script: impl Fn(&Asked, usize) -> Vec<Vec<u8>> + Send + Sync + 'static,
    ) {
        let mut shared = self.shared.lock().expect("shared");
        shared.scripts.insert(name.to_owned(), Arc::new(script));
    }

    /// Always answers with these addresses.
    pub(crate) fn answer(&self, name: &str, addresses: &[&str]) {
        let addresses: Vec<IpAddr> = addresses
            .iter()
            .map(|text| text.parse().expect("an address"))
            .collect();
        self.script(name, move |asked, _| vec![asked.with(&addresses)]);
    }

    /// Returns how often a name was asked for, with its record type.
    fn asked(&self, name: &str, kind: u16) -> usize {
        let shared = self.shared.lock().expect("shared");
        let same = |asked: &&Asked| asked.name == name && asked.kind == kind;
        shared.asked.iter().filter(same).count()
    }

    /// Returns every name that was asked for.
    pub(crate) fn names(&self) -> Vec<String> {
        let shared = self.shared.lock().expect("shared");
        shared
            .asked
            .iter()
            .map(|asked| asked.name.clone())
            .collect()
    }
}

fn serve(mut stream: TcpStream, shared: &Mutex<Shared>) {
    let mut length = [0; 2];
    if stream.read_exact(&mut length).is_err() {
        return;
    }
    let mut message = vec![0; u16::from_be_bytes(length).into()];
    if stream.read_exact(&mut message).is_err() {
        return;
    }
    for answer in answers(shared, &message, By::Tcp) {
        let length = u16::try_from(answer.len()).expect("a short answer");
        let _sent = stream.write_all(&[&length.to_be_bytes()[..], &answer].concat());
    }
}

fn answers(shared: &Mutex<Shared>, message: &[u8], by: By) -> Vec<Vec<u8>> {
    let asked = Asked::read(message, by);
    let mut shared = shared.lock().expect("shared");
    let same = |before: &&Asked| before.name == asked.name && before.kind == asked.kind;
    let before = shared.asked.iter().filter(same).count();
    shared.asked.push(asked.clone());
    let script = shared.scripts.get(&asked.name).cloned();
    drop(shared);
    match script {
        Some(script) => script(&asked, before),
        None => vec![asked.with_code(3)],
    }
}

impl Asked {
    fn read(message: &[u8], by: By) -> Self {
        let (name, end) = read_name(message, 12);
        Self {
            message: message.to_owned(),
            name,
            kind: u16::from_be_bytes([message[end], message[end + 1]]),
            by,
        }
    }

    /// An answer without records, with a response code.
    fn with_code(&self, code: u8) -> Vec<u8> {
        let mut answer = self.message.clone();
        answer[2] |= 0x80;
        answer[3] = 0x80 | code;
        answer
    }

    /// An answer with those of the addresses that are of the asked type.
    fn with(&self, addresses: &[IpAddr]) -> Vec<u8> {
        let own: Vec<_> = addresses
            .iter()
            .filter(|address| address.is_ipv4() == (self.kind == A))
            .map(|address| (self.name.clone(), self.kind, data(*address)))
            .collect();
        self.with_records(&own)
    }

    fn with_records(&self, records: &[(String, u16, Vec<u8>)]) -> Vec<u8> {
        let mut answer = self.with_code(0);
        answer[7] = u8::try_from(records.len()).expect("few");
        for (name, kind, data) in records {
            answer.extend_from_slice(&name_bytes(name));
            answer.extend_from_slice(&kind.to_be_bytes());
            answer.extend_from_slice(&[0, 1, 0, 0, 0, 60]);
            answer.extend_from_slice(&u16::try_from(data.len()).expect("short").to_be_bytes());
            answer.extend_from_slice(data);
        }
        answer
    }
}

fn data(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

fn name_bytes(name: &str) -> Vec<u8> {
    let labels = name.split('.').flat_map(|label| {
        let length = u8::try_from(label.len()).expect("a short label");
        std::iter::once(length).chain(label.bytes())
    });
    labels.chain([0]).collect()
}

fn read_name(message: &[u8], mut at: usize) -> (String, usize) {
    let mut labels = Vec::new();
    while message[at] != 0 {
        let length = usize::from(message[at]);
        let label = &message[at + 1..at + 1 + length];
        labels.push(String::from_utf8_lossy(label).into_owned());
        at += 1 + length;
    }
    (labels.join("."), at + 1)
}

const LOCAL: &[&str] = &["127.0.0.1"];

fn one_server() -> (Server, Plan, String) {
    let server = Server::echo();
    let target = format!("up.test:{}", server.port());
    let plan = Plan::allowing(std::slice::from_ref(&target));
    (server, plan, target)
}

#[test]
fn net_06_a_name_that_leads_inside_is_denied_after_resolution() {
    let server = Server::echo();
    let target = format!("up.test:{}", server.port());
    let mut plan = Plan::allowing(std::slice::from_ref(&target));
    plan.policy.private = PrivateReach::default();
    for (mode, rules) in [
        (Mode::Allowlist, plan.policy.rules.clone()),
        (Mode::Open, Vec::new()),
    ] {
        let mut policy = plan.policy.clone();
        (policy.mode, policy.rules) = (mode, rules);
        let plan = Plan {
            policy,
            ..Plan::allowing(&[])
        };
        let world = plan.start();
        for (address, code) in [
            ("127.0.0.1", "net.loopback"),
            ("::1", "net.loopback"),
            ("::ffff:127.0.0.1", "net.loopback"),
            ("0.0.0.0", "net.reserved"),
            ("::", "net.reserved"),
            ("10.0.0.1", "net.private"),
            ("172.16.0.1", "net.private"),
            ("192.168.0.1", "net.private"),
            ("100.64.0.1", "net.private"),
            ("fc00::1", "net.private"),
            ("169.254.1.2", "net.link_local"),
            ("fe80::1", "net.link_local"),
            ("169.254.169.254", "net.metadata"),
            ("fd00:ec2::254", "net.metadata"),
        ] {
            world.dns.answer("up.test", &[address]);
            let answer = all(world.say(&connect(&target)));
            assert!(answer.starts_with("HTTP/1.1 403 "), "{address}: {answer}");
            assert!(answer.contains(code), "{address}: {answer}");
        }
        assert_eq!(server.seen(), 0);
    }
}

#[test]
fn net_07_the_first_answer_that_was_judged_is_dialled_and_nothing_is_asked_again() {
    let server = Server::at("127.0.0.2".parse().expect("an address"), 0, |stream| {
        drop(stream)
    });
    let trap = Server::at(
        "127.0.0.3".parse().expect("an address"),
        server.port(),
        drop,
    );
    let target = format!("up.test:{}", server.port());
    let mut plan = Plan::allowing(std::slice::from_ref(&target));
    plan.policy.private.networks = vec!["127.0.0.2/32".parse().expect("a network")];
    let world = plan.start();
    world.dns.script("up.test", |asked, before| {
        let address = match before {
            0 => "127.0.0.2",
            _ => "127.0.0.3",
        };
        vec![asked.with(&[address.parse().expect("an address")])]
    });
    let answer = world.answer(&connect(&target));
    assert_eq!(answer, "HTTP/1.1 200 Connection established");
    server.wait_for(1);
    assert_eq!(trap.seen(), 0);
    assert_eq!(world.dns.asked("up.test", A), 1);
    assert_eq!(world.dns.asked("up.test", AAAA), 1);
    // The second answer is judged for the second connection.
    let answer = all(world.say(&connect(&target)));
    assert!(answer.contains("net.loopback"), "{answer}");
    server.wait_for(1);
    assert_eq!(trap.seen(), 0);
}

#[test]
fn net_07_of_several_addresses_only_allowed_ones_are_dialled() {
    let server = Server::at("127.0.0.2".parse().expect("an address"), 0, drop);
    let trap = Server::at(
        "127.0.0.3".parse().expect("an address"),
        server.port(),
        drop,
    );
    let target = format!("up.test:{}", server.port());
    let mut plan = Plan::allowing(std::slice::from_ref(&target));
    plan.policy.private.networks = vec!["127.0.0.2/32".parse().expect("a network")];
    let world = plan.start();
    world
        .dns
        .answer("up.test", &["127.0.0.3", "127.0.0.2", "10.0.0.1"]);
    let answer = world.answer(&connect(&target));
    assert_eq!(answer, "HTTP/1.1 200 Connection established");
    server.wait_for(1);
    assert_eq!(trap.seen(), 0);
}

#[test]
fn net_07_forged_and_unasked_answers_are_ignored() {
    let (server, plan, target) = one_server();
    let world = plan.start();
    world.dns.script("up.test", |asked, _| {
        let good = asked.with(&[LOCAL[0].parse().expect("an address")]);
        let evil = asked.with(&["127.9.9.9".parse().expect("an address")]);
        let mut other_id = evil.clone();
        other_id[0] ^= 0x55;
        let mut no_response = evil.clone();
        no_response[2] &= 0x7f;
        let mut other_name = evil.clone();
        other_name[13] ^= 1;
        let mut other_type = evil.clone();
        let end = read_name(&evil, 12).1;
        other_type[end + 1] ^= 3;
        let mut no_question = evil.clone();
        no_question[5] = 0;
        vec![
            other_id,
            no_response,
            other_name,
            other_type,
            no_question,
            vec![1; 7],
            good,
        ]
    });
    let answer = world.answer(&connect(&target));
    assert_eq!(answer, "HTTP/1.1 200 Connection established");
    server.wait_for(1);
}

#[test]
fn net_07_records_of_other_names_are_ignored() {
    let (server, plan, target) = one_server();
    let trap = Server::at(
        "127.0.0.3".parse().expect("an address"),
        server.port(),
        drop,
    );
    let world = plan.start();
    world.dns.script("up.test", |asked, _| {
        let local = data(LOCAL[0].parse().expect("an address"));
        let records = match asked.kind {
            A => vec![
                ("evil.test".to_owned(), A, vec![127, 0, 0, 3]),
                ("up.test".to_owned(), CNAME, name_bytes("Alias.test")),
                ("ALIAS.test".to_owned(), A, local),
            ],
            _ => Vec::new(),
        };
        vec![asked.with_records(&records)]
    });
    let answer = world.answer(&connect(&target));
    assert_eq!(answer, "HTTP/1.1 200 Connection established");
    server.wait_for(1);
    assert_eq!(trap.seen(), 0);
}

#[test]
fn aliases_that_lead_in_a_circle_have_no_address() {
    let (_server, plan, target) = one_server();
    let world = plan.start();
    world.dns.script("up.test", |asked, _| {
        let records = [
            ("up.test".to_owned(), CNAME, name_bytes("b.test")),
            ("b.test".to_owned(), CNAME, name_bytes("up.test")),
        ];
        vec![asked.with_records(&records)]
    });
    let answer = all(world.say(&connect(&target)));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert_eq!(world.denial("up.test"), "net.unresolved");
}

#[test]
fn an_answer_that_was_cut_is_asked_for_again_by_tcp() {
    let (server, plan, target) = one_server();
    let world = plan.start();
    world.dns.script("up.test", |asked, _| {
        let mut answer = asked.with(&[LOCAL[0].parse().expect("an address")]);
        if asked.by == By::Udp {
            answer = asked.with_code(0);
            answer[2] |= 2;
        }
        vec![answer]
    });
    let answer = world.answer(&connect(&target));
    assert_eq!(answer, "HTTP/1.1 200 Connection established");
    server.wait_for(1);
}

#[test]
fn net_15_both_families_are_judged_alike() {
    // Whether there is IPv6 here or not: the address is denied before it is dialled.
    let (server, mut plan, target) = one_server();
    plan.policy.private.networks = vec!["127.0.0.1/32".parse().expect("a network")];
    let world = plan.start();
    world.dns.answer("up.test", &["::1"]);
    let answer = all(world.say(&connect(&target)));
    assert!(answer.contains("net.loopback"), "{answer}");
    world.dns.answer("up.test", &["::1", "127.0.0.1"]);
    let answer = world.answer(&connect(&target));
    assert_eq!(answer, "HTTP/1.1 200 Connection established");
    server.wait_for(1);
}

#[test]
fn a_name_that_does_not_resolve_is_reported() {
    let (_server, plan, target) = one_server();
    let world = plan.start();
    let answer = world.answer(&connect(&target));
    assert_eq!(answer, "HTTP/1.1 502 Bad Gateway");
    assert_eq!(world.denial("up.test"), "net.unresolved");
}

#[test]
fn a_fixed_answer_asks_no_resolver_and_is_judged_like_any() {
    let (server, mut plan, target) = one_server();
    plan.policy.private.hosts = [("up.test", "127.0.0.1"), ("bad.test", "169.254.169.254")]
        .map(|(name, address)| {
            let name = name.parse().expect("a name");
            (name, address.parse().expect("an address"))
        })
        .into();
    plan.policy.mode = Mode::Open;
    let world = plan.start();
    assert_eq!(
        world.answer(&connect(&target)),
        "HTTP/1.1 200 Connection established"
    );
    let answer = all(world.say(&connect("bad.test:80")));
    assert!(answer.contains("net.metadata"), "{answer}");
    assert_eq!(world.dns.names(), Vec::<String>::new());
    server.wait_for(1);
}
