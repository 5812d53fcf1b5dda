//! Asks one server, by UDP, and by TCP when the answer doesn't fit.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use lazaret_egress::HostName;
use rustix::rand::GetRandomFlags;

use super::Family;
use super::answer::{Answer, Question, Reading, read};

/// After the first of both answers the second has this long: servers that drop questions
/// of one type are common.
const SECOND: Duration = Duration::from_millis(1500);
/// More than any server sends to a question without EDNS.
const DATAGRAM: usize = 4096;

/// A question on its way.
struct Asked {
    question: Question,
    socket: UdpSocket,
    answer: Option<Answer>,
}

/// Asks for both types; `None` when the server gave no useful answer to either.
pub(super) fn both(server: SocketAddr, host: &HostName, until: Instant) -> Option<Vec<IpAddr>> {
    let asked = [Family::V4, Family::V6].map(|family| send(server, host, family).ok());
    let mut asked: Vec<Asked> = asked.into_iter().flatten().collect();
    let mut until = until;
    for at in 0..asked.len() {
        let asked = &mut asked[at];
        asked.answer = receive(asked, until).ok().flatten();
        if asked.answer == Some(Answer::Cut) {
            asked.answer = by_tcp(server, &asked.question, until).ok();
        }
        if asked.answer.is_some() {
            until = until.min(Instant::now() + SECOND);
        }
    }
    let mut addresses = Vec::new();
    let mut answered = 0;
    for answer in asked.into_iter().filter_map(|asked| asked.answer) {
        if let Answer::Addresses(found) = answer {
            addresses.extend(found);
            answered += 1;
        }
    }
    // "No address" is only known when both types were told to have none.
    (answered == 2 || !addresses.is_empty()).then_some(addresses)
}

fn send(server: SocketAddr, host: &HostName, family: Family) -> io::Result<Asked> {
    let mut id = [0; 2];
    rustix::rand::getrandom(&mut id, GetRandomFlags::empty())?;
    let question = Question {
        id: u16::from_ne_bytes(id),
        host: host.clone(),
        family,
    };
    let message = question.to_bytes().ok_or(io::ErrorKind::InvalidInput)?;
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // The kernel chooses a random port; a connected socket hears its peer alone.
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.send(&message)?;
    Ok(Asked {
        question,
        socket,
        answer: None,
    })
}

/// Waits for the answer; `None` when the time is over.
fn receive(asked: &Asked, until: Instant) -> io::Result<Option<Answer>> {
    let mut message = [0; DATAGRAM];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        asked.socket.set_read_timeout(Some(left))?;
        match asked.socket.recv(&mut message) {
            Ok(count) => match read(&asked.question, &message[..count]) {
                Reading::Foreign => {}
                Reading::Answer(answer) => return Ok(Some(answer)),
            },
            Err(error) if is_timeout(&error) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Asks again by TCP (RFC 7766): the message after its length in two bytes.
fn by_tcp(server: SocketAddr, question: &Question, until: Instant) -> io::Result<Answer> {
    let left = || {
        let left = until.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(io::Error::from(io::ErrorKind::TimedOut)),
            false => Ok(left),
        }
    };
    let mut stream = TcpStream::connect_timeout(&server, left()?)?;
    let message = question.to_bytes().ok_or(io::ErrorKind::InvalidInput)?;
    let length = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(&[&length.to_be_bytes()[..], &message].concat())?;
    let mut length = [0; 2];
    read_exact(&mut stream, &mut length, &left)?;
    let mut answer = vec![0; u16::from_be_bytes(length).into()];
    read_exact(&mut stream, &mut answer, &left)?;
    match read(question, &answer) {
        Reading::Answer(answer) if answer != Answer::Cut => Ok(answer),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn read_exact(
    stream: &mut TcpStream,
    mut buffer: &mut [u8],
    left: &impl Fn() -> io::Result<Duration>,
) -> io::Result<()> {
    while !buffer.is_empty() {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => buffer = &mut buffer[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
