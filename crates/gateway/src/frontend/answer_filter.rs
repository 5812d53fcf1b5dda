//! `AnswerFilter`: says in the head of an answer that the connection ends with it.

use lazaret_egress::Denied;

use crate::pump::{Filter, Verdict};

/// Puts `Connection: close` into the head of an answer, since the gateway takes one request
/// from a connection. The body passes as it is.
///
/// Nothing is decided by the answer: it comes from the network and goes to the workload. So
/// this reader is lenient, and what it can't read passes as it is.
#[derive(Debug, Default)]
pub(super) struct AnswerFilter {
    seen: Vec<u8>,
}

/// A longer head passes as it is.
const LONGEST_HEAD: usize = 256 * 1024;

/// Fields of this hop.
const DROPPED: [&[u8]; 4] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"upgrade",
];

impl Filter for AnswerFilter {
    fn pass(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Verdict, Denied> {
        self.seen.extend_from_slice(input);
        loop {
            let Some(end) = find(&self.seen, b"\r\n\r\n") else {
                if self.seen.len() > LONGEST_HEAD || !looks_like_http(&self.seen) {
                    output.append(&mut self.seen);
                    return Ok(Verdict::PassThrough);
                }
                return Ok(Verdict::Continue);
            };
            let rest = self.seen.split_off(end + 4);
            let head = std::mem::replace(&mut self.seen, rest);
            // After an interim answer (1xx) the answer itself follows.
            if head.get(9) == Some(&b'1') {
                output.extend_from_slice(&head);
                continue;
            }
            rewrite(&head[..end], output);
            output.append(&mut self.seen);
            return Ok(Verdict::PassThrough);
        }
    }
}

fn rewrite(head: &[u8], output: &mut Vec<u8>) {
    let lines = head.split(|byte| *byte == b'\n');
    for line in lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if !DROPPED.iter().any(|field| name.eq_ignore_ascii_case(field)) {
            output.extend_from_slice(line);
            output.extend_from_slice(b"\r\n");
        }
    }
    output.extend_from_slice(b"Connection: close\r\n\r\n");
}

fn looks_like_http(bytes: &[u8]) -> bool {
    let known = b"HTTP/1.";
    let length = bytes.len().min(known.len());
    bytes[..length] == known[..length]
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}
