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
        ["children", count] => children(number(count), stdout),
        ["files", count] => files(number(count), stdout),
        ["fill", path] => fill(path, stdout),
        ["allocate", count] => allocate(number(count), stdout),
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

/// Starts children that wait for their stdin, until one can't be started.
fn children(count: u64, stdout: &mut dyn Write) -> io::Result<i32> {
    use std::process::{Command, Stdio};
    let mut children = Vec::new();
    let mut failure = None;
    while (children.len() as u64) < count && failure.is_none() {
        #[expect(clippy::disallowed_methods, reason = "the guest knows nothing but std")]
        let child = Command::new("/proc/self/exe")
            .arg("cat")
            .stdin(Stdio::piped())
            .spawn();
        match child {
            Ok(child) => children.push(child),
            Err(error) => failure = Some(error),
        }
    }
    write!(stdout, "{} children, then {failure:?}", children.len())?;
    for mut child in children {
        drop(child.stdin.take());
        child.wait()?;
    }
    Ok(0)
}

/// Opens files until one can't be opened.
fn files(count: u64, stdout: &mut dyn Write) -> io::Result<i32> {
    let mut files = Vec::new();
    while (files.len() as u64) < count {
        match std::fs::File::open("/proc/self/exe") {
            Ok(file) => files.push(file),
            Err(error) => {
                write!(stdout, "{} files, then {error:?}", files.len())?;
                return Ok(0);
            }
        }
    }
    write!(stdout, "{count} files")?;
    Ok(0)
}

/// Writes to a new file until it can't be written.
fn fill(path: &str, stdout: &mut dyn Write) -> io::Result<i32> {
    let mut file = std::fs::File::create(path)?;
    let zeros = vec![0; CHUNK];
    let mut written = 0;
    loop {
        match file.write(&zeros) {
            Ok(count) => written += count,
            Err(error) => {
                drop(file);
                std::fs::remove_file(path)?;
                write!(stdout, "{written} bytes, then {error:?}")?;
                return Ok(0);
            }
        }
    }
}

/// Takes memory and touches every page of it.
fn allocate(count: u64, stdout: &mut dyn Write) -> io::Result<i32> {
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let mut taken = 0;
    while taken < count {
        let mut chunk = Vec::new();
        if chunk.try_reserve_exact(1 << 20).is_err() {
            write!(stdout, "{taken} bytes, then refused")?;
            return Ok(0);
        }
        chunk.resize(1 << 20, 1);
        taken += 1 << 20;
        chunks.push(chunk);
    }
    write!(stdout, "{} bytes", chunks.len() << 20)?;
    Ok(0)
}
