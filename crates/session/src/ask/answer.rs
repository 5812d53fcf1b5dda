//! `AnswerParser`: finds the answer in what a command prints.
//!
//! An answer is the text between a line that is the start sentinel and one that is the end
//! sentinel. The last whole pair that holds one object counts; everything else is noise.
//! One line and one answer are held at a time, so no output is too long.

use super::json::object;

/// The most bytes of an answer.
pub const MAX_ANSWER: usize = 5 << 20;

/// The lines around an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentinels {
    /// Before it.
    pub start: String,
    /// After it.
    pub end: String,
}

impl Sentinels {
    /// Returns lazaret's own ones. Who does not know the nonce can't make them.
    pub fn of_nonce(nonce: &str) -> Self {
        Self {
            start: format!("---LAZARET_OUTPUT_START:{nonce}---"),
            end: format!("---LAZARET_OUTPUT_END:{nonce}---"),
        }
    }
}

/// Reads the output of one turn, chunk by chunk.
#[derive(Debug)]
pub struct AnswerParser {
    sentinels: Sentinels,
    line: Bounded,
    /// What came since the last start sentinel.
    inside: Option<Bounded>,
    answer: Option<String>,
}

/// Bytes up to [`MAX_ANSWER`].
#[derive(Debug, Default)]
struct Bounded {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Bounded {
    fn push(&mut self, bytes: &[u8]) {
        self.is_over |= self.bytes.len() + bytes.len() > MAX_ANSWER;
        match self.is_over {
            true => self.bytes = Vec::new(),
            false => self.bytes.extend_from_slice(bytes),
        }
    }

    /// Returns the bytes, if none was left out.
    fn whole(&self) -> Option<&[u8]> {
        (!self.is_over).then_some(&self.bytes)
    }
}

impl AnswerParser {
    /// Returns a parser that has read nothing.
    pub fn new(sentinels: Sentinels) -> Self {
        Self {
            sentinels,
            line: Bounded::default(),
            inside: None,
            answer: None,
        }
    }

    /// Reads what comes next.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(after) = self.push_to_end(rest) {
            rest = after;
        }
    }

    /// Reads what comes next, up to the first end sentinel that ends a pair. Returns what follows
    /// it; `None` if none came yet.
    pub fn push_to_end<'a>(&mut self, mut bytes: &'a [u8]) -> Option<&'a [u8]> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.line.push(line);
            bytes = rest.get(1..).unwrap_or_default();
            if self.line_ended() == Line::EndsPair {
                return Some(bytes);
            }
        }
        self.line.push(bytes);
        None
    }

    /// Returns the answer, if there was one. The last line may lack its end.
    pub fn finish(mut self) -> Option<String> {
        let _last = self.line_ended();
        self.answer
    }

    fn line_ended(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        let text = line
            .whole()
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        if text == Some(self.sentinels.start.as_bytes()) {
            self.inside = Some(Bounded::default());
        } else if text == Some(self.sentinels.end.as_bytes()) {
            let Some(inside) = self.inside.take() else {
                return Line::Other;
            };
            if let Some(answer) = inside.whole().and_then(|bytes| object(bytes).ok()) {
                self.answer = Some(answer);
            }
            return Line::EndsPair;
        } else if let Some(inside) = &mut self.inside {
            match line.whole() {
                Some(bytes) => {
                    inside.push(bytes);
                    inside.push(b"\n");
                }
                None => inside.is_over = true,
            }
        }
        Line::Other
    }
}

/// What a line was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// The end sentinel of a pair.
    EndsPair,
    /// Anything else.
    Other,
}

#[cfg(test)]
mod tests;
