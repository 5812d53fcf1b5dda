//! What the program in the tests' image does. The in-memory engine runs the same functions.

use std::io::{self, Read, Write};

/// Bytes moved at once.
const CHUNK: usize = 64 << 10;

/// Runs `argv` (without the program) and returns its exit code.
pub(crate) fn run(
    argv: &[&str],
    stdin: &mut dyn Read,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> i32 {
    let done = match argv {
        ["cat"] => io::copy(stdin, stdout).map(|_| 0),
        // Knows its input's end by itself, and answers before it.
        ["take", count] => take(number(count), stdin, stdout),
        ["count"] => count(stdin, stdout),
        ["zeros", count] => zeros(number(count), stdout),
        ["both", count] => both(number(count), stdout, stderr),
        ["raw"] => stdout
            .write_all(b"\x01\x00\x00\x00\xff\xff\xff\xff!")
            .map(|()| 0),
        ["exit", code] => Ok(number(code) as i32),
        ["write", path, text] => std::fs::write(path, text).map(|()| 0),
        ["read", path] => std::fs::read(path)
            .and_then(|bytes| stdout.write_all(&bytes))
            .map(|()| 0),
        _ => Ok(64),
    };
    let done = done.and_then(|code| stdout.flush().map(|()| code));
    match done {
        Ok(code) => code,
        Err(error) => {
            drop(write!(stderr, "{error}"));
            1
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(u64::MAX)
}

fn take(mut left: u64, stdin: &mut dyn Read, stdout: &mut dyn Write) -> io::Result<i32> {
    let mut buffer = vec![0; CHUNK];
    let count = left;
    while left > 0 {
        let wanted = left.min(CHUNK as u64) as usize;
        let length = stdin.read(&mut buffer[..wanted])?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= length as u64;
    }
    write!(stdout, "took {count}")?;
    Ok(0)
}

fn count(stdin: &mut dyn Read, stdout: &mut dyn Write) -> io::Result<i32> {
    let mut buffer = vec![0; CHUNK];
    let mut count = 0u64;
    loop {
        match stdin.read(&mut buffer)? {
            0 => break,
            length => count += length as u64,
        }
    }
    write!(stdout, "counted {count}")?;
    Ok(0)
}

fn zeros(mut left: u64, stdout: &mut dyn Write) -> io::Result<i32> {
    let zeros = vec![0; CHUNK];
    while left > 0 {
        let length = left.min(CHUNK as u64);
        stdout.write_all(&zeros[..length as usize])?;
        left -= length;
    }
    Ok(0)
}

fn both(count: u64, stdout: &mut dyn Write, stderr: &mut dyn Write) -> io::Result<i32> {
    for line in 0..count {
        writeln!(stdout, "out {line}")?;
        stdout.flush()?;
        writeln!(stderr, "err {line}")?;
        stderr.flush()?;
    }
    Ok(3)
}
