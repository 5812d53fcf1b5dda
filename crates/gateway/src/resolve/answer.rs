//! Reads what a resolver answers, and believes only what answers the question.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lazaret_egress::HostName;
use simple_dns::rdata::RData;
use simple_dns::{
    CLASS, Name, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, Question as Asked, RCODE,
    ResourceRecord, TYPE,
};

use super::Family;

/// A question to a resolver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Random, so that only a server that sees it can answer.
    pub id: u16,
    /// The name.
    pub host: HostName,
    /// The record type.
    pub family: Family,
}

/// What a message is to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// No answer to it: forged, late, or broken. Waiting goes on.
    Foreign,
    /// Its answer.
    Answer(Answer),
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The addresses of the name; none when it has none of this family or isn't there.
    Addresses(Vec<IpAddr>),
    /// It was cut: to be asked again by TCP.
    Cut,
    /// The server can't or won't tell: another may.
    Failed,
}

/// As many aliases are followed, one to the next.
const MOST_ALIASES: usize = 16;
/// As many addresses are taken.
const MOST_ADDRESSES: usize = 32;

impl Question {
    /// Returns the question as a message; `None` for a name that no message can hold.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut packet = Packet::new_query(self.id);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        let name = Name::new(self.host.as_str()).ok()?;
        let kind = QTYPE::TYPE(self.kind());
        let class = QCLASS::CLASS(CLASS::IN);
        packet.questions.push(Asked::new(name, kind, class, false));
        packet.build_bytes_vec().ok()
    }

    fn kind(&self) -> TYPE {
        match self.family {
            Family::V4 => TYPE::A,
            Family::V6 => TYPE::AAAA,
        }
    }

    fn is_echoed(&self, packet: &Packet<'_>) -> bool {
        let [asked] = packet.questions.as_slice() else {
            return false;
        };
        packet.id() == self.id
            && packet.has_flags(PacketFlag::RESPONSE)
            && packet.opcode() == OPCODE::StandardQuery
            && asked.qtype == QTYPE::TYPE(self.kind())
            && asked.qclass == QCLASS::CLASS(CLASS::IN)
            && is(&asked.qname, self.host.as_str())
    }
}

/// Reads a message as the answer to a question.
///
/// Addresses count that belong to the name, or to a name that the answer itself leads to
/// from it, alias by alias. Whatever else a message holds is left alone.
pub fn read(question: &Question, message: &[u8]) -> Reading {
    let Ok(packet) = Packet::parse(message) else {
        return Reading::Foreign;
    };
    if !question.is_echoed(&packet) {
        return Reading::Foreign;
    }
    if packet.has_flags(PacketFlag::TRUNCATION) {
        return Reading::Answer(Answer::Cut);
    }
    Reading::Answer(match packet.rcode() {
        RCODE::NoError => Answer::Addresses(addresses(question, &packet.answers)),
        RCODE::NameError => Answer::Addresses(Vec::new()),
        _ => Answer::Failed,
    })
}

fn addresses(question: &Question, records: &[ResourceRecord<'_>]) -> Vec<IpAddr> {
    let mut name = question.host.as_str().to_owned();
    for _ in 0..MOST_ALIASES {
        let of_name = || {
            let of_name =
                |record: &&ResourceRecord<'_>| record.class == CLASS::IN && is(&record.name, &name);
            records.iter().filter(of_name)
        };
        let found = of_name().filter_map(|record| match (&record.rdata, question.family) {
            (RData::A(a), Family::V4) => Some(IpAddr::V4(Ipv4Addr::from_bits(a.address))),
            (RData::AAAA(a), Family::V6) => Some(IpAddr::V6(Ipv6Addr::from_bits(a.address))),
            _ => None,
        });
        let found: Vec<IpAddr> = found.take(MOST_ADDRESSES).collect();
        if !found.is_empty() {
            return found;
        }
        let alias = of_name().find_map(|record| match &record.rdata {
            RData::CNAME(alias) => Some(plain(&alias.0)),
            _ => None,
        });
        match alias {
            Some(alias) => name = alias,
            None => return found,
        }
    }
    Vec::new()
}

fn is(name: &Name<'_>, plain_name: &str) -> bool {
    plain(name) == plain_name
}

/// Returns a name as text in lower case. A dot inside of a label would make it another
/// name, so it becomes one that nothing equals.
fn plain(name: &Name<'_>) -> String {
    let mut text = String::new();
    for label in name.as_bytes() {
        if !text.is_empty() {
            text.push('.');
        }
        for byte in label {
            match byte {
                b'.' | b'\\' => text.push_str("\\."),
                byte if byte.is_ascii_graphic() => {
                    text.push(char::from(byte.to_ascii_lowercase()));
                }
                _ => text.push_str("\\?"),
            }
        }
    }
    text
}
