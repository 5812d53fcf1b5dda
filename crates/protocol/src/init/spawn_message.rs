//! `SpawnMessage`: what a process that PID 1 started is told on its stdin.

use std::ffi::{CString, NulError};
use std::io::{self, Read};

use crate::line::read_line;

/// The most that a spawn message may hold, in bytes; the kernel takes some 6 MiB (execve(2)).
const LONGEST: usize = 16 << 20;

/// A process to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnMessage {
    /// Where it starts; empty for where PID 1 is.
    pub directory: CString,
    /// The program's path, and its arguments.
    pub argv: Vec<CString>,
    /// `NAME=VALUE`, added to those of the container.
    pub variables: Vec<CString>,
}

impl SpawnMessage {
    /// Puts a message together.
    ///
    /// # Errors
    /// When something holds a NUL, which no process can be given (execve(2)).
    pub fn new(
        directory: &str,
        argv: &[String],
        variables: impl Iterator<Item = String>,
    ) -> Result<Self, NulError> {
        let argv = argv.iter().map(|argument| CString::new(argument.as_str()));
        Ok(Self {
            directory: CString::new(directory)?,
            argv: argv.collect::<Result<_, _>>()?,
            variables: variables.map(CString::new).collect::<Result<_, _>>()?,
        })
    }

    /// Returns its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self {
            directory,
            argv,
            variables,
        } = self;
        let strings = [directory].into_iter().chain(argv).chain(variables);
        let strings: Vec<u8> = strings
            .flat_map(|string| string.as_bytes_with_nul())
            .copied()
            .collect();
        let (arguments, variables, length) = (argv.len(), variables.len(), strings.len());
        let mut bytes = format!("order {arguments} {variables} {length}\n").into_bytes();
        bytes.extend(strings);
        bytes
    }

    /// Reads a message, and nothing of what follows it.
    ///
    /// # Errors
    /// When it is cut off, longer than 16 MiB, or counts wrongly.
    pub fn read_from(input: &mut dyn Read) -> io::Result<Self> {
        let nonsense = || io::Error::from(io::ErrorKind::InvalidData);
        let head = read_line(input)?;
        let numbers = head.strip_prefix("order ").ok_or_else(nonsense)?;
        let numbers: Result<Vec<usize>, _> = numbers.split(' ').map(str::parse).collect();
        let [arguments, variables, length] = *numbers.map_err(|_| nonsense())? else {
            return Err(nonsense());
        };
        if length > LONGEST {
            return Err(nonsense());
        }
        let mut strings = vec![0; length];
        input.read_exact(&mut strings)?;
        Self::parse(arguments, variables, &strings).ok_or_else(nonsense)
    }

    fn parse(arguments: usize, variables: usize, strings: &[u8]) -> Option<Self> {
        let strings = strings.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let strings = strings.map(CString::new).collect::<Result<Vec<_>, _>>();
        let mut strings = strings.ok()?;
        let wanted = arguments.checked_add(variables)?.checked_add(1)?;
        if strings.len() != wanted || arguments == 0 {
            return None;
        }
        let variables = strings.split_off(1 + arguments);
        let argv = strings.split_off(1);
        Some(Self {
            directory: strings.pop()?,
            argv,
            variables,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(argv: &[&str], variable: &str) -> Result<SpawnMessage, NulError> {
        let argv: Vec<String> = argv.iter().map(|&argument| argument.to_owned()).collect();
        let variables = [format!("KEY={variable}")].into_iter();
        SpawnMessage::new("/workspace", &argv, variables)
    }

    #[test]
    fn a_message_holds_what_an_exec_asks_for() {
        let sent = message(&["/bin/a", "", "two words"], "v=w\n").expect("no NUL");
        let bytes = sent.to_bytes();
        assert_eq!(
            String::from_utf8(bytes.clone()).expect("text"),
            "order 3 1 38\n/workspace\0/bin/a\0\0two words\0KEY=v=w\n\0"
        );
        let mut input = &bytes[..];
        assert_eq!(SpawnMessage::read_from(&mut input).expect("whole"), sent);
        for length in 0..bytes.len() {
            SpawnMessage::read_from(&mut &bytes[..length]).expect_err("cut off");
        }
    }

    #[test]
    fn what_no_process_can_be_given_is_not_sent() {
        message(&["/bin/a", "b\0c"], "v").expect_err("a NUL");
        message(&["/bin/a"], "v\0w").expect_err("a NUL");
    }

    #[test]
    fn a_message_is_what_it_counts() {
        for (arguments, variables, strings) in [
            (0, 0, "/workspace\0"),
            (1, 0, "\0/bin/a"),
            (1, 0, "\0/bin/a\0b\0"),
            (2, 0, "\0/bin/a\0"),
            (usize::MAX, 1, "\0/bin/a\0"),
            (1, 0, ""),
        ] {
            let parsed = SpawnMessage::parse(arguments, variables, strings.as_bytes());
            assert_eq!(parsed, None, "{strings:?}");
        }
        let parsed = SpawnMessage::parse(1, 0, b"\0/bin/a\0").expect("a message");
        assert_eq!(parsed.argv, [c"/bin/a".to_owned()]);
        assert_eq!(parsed.directory, CString::default());
    }
}
