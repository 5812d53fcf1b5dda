//! `RunLog`: reads what a command printed, also while it runs.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use lazaret_runtime::ServiceName;
use lazaret_tree::{AtPath as _, PathError};

use super::{run_dir, runs, segment, segments, service_dir, setup_dir};
use crate::store::SessionDir;
use crate::store::file::ok_if_absent;

/// The log of one run, read from its beginning on.
#[derive(Debug)]
pub struct RunLog {
    dir: PathBuf,
    /// Which run.
    pub run: u32,
    /// How many bytes of what was printed were read or are known to be missing.
    at: u64,
}

/// What comes next in a log.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes that were printed.
    Bytes(Vec<u8>),
    /// So many bytes are not in the log.
    Missing(u64),
}

impl RunLog {
    /// Opens the log of a run, or of the last one; `None` where there is none.
    ///
    /// # Errors
    /// The disk's.
    pub fn open(dir: &SessionDir, run: Option<u32>) -> Result<Option<Self>, PathError> {
        let all = runs(dir)?;
        let wanted = match run {
            Some(run) => all.contains(&run).then_some(run),
            None => all.last().copied(),
        };
        Ok(wanted.map(|run| Self {
            dir: run_dir(dir, run),
            run,
            at: 0,
        }))
    }

    /// Opens the log of a service; `None` if it has none.
    pub fn of_service(dir: &SessionDir, name: &ServiceName) -> Option<Self> {
        let dir = service_dir(dir, name);
        dir.exists().then_some(Self { dir, run: 0, at: 0 })
    }

    /// Opens the log of a setup step, by its number from 1; `None` if it has none.
    pub fn of_setup_step(dir: &SessionDir, number: usize) -> Option<Self> {
        let dir = setup_dir(dir, number);
        dir.exists().then_some(Self { dir, run: 0, at: 0 })
    }

    /// Reads what comes next; `None` where nothing does so far.
    ///
    /// # Errors
    /// The disk's.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, PathError> {
        let segments = segments(&self.dir)?;
        let before = segments.iter().rev().find(|start| **start <= self.at);
        if let Some(&start) = before
            && let Some(bytes) = self.read_from(start)?
        {
            self.at += bytes.len() as u64;
            return Ok(Some(Piece::Bytes(bytes)));
        }
        let after = segments.iter().find(|start| **start > self.at);
        let missing = after.map(|start| start - self.at);
        self.at += missing.unwrap_or_default();
        Ok(missing.map(Piece::Missing))
    }

    /// Reads the rest of a segment; `None` where there is none, or the segment is gone.
    fn read_from(&self, start: u64) -> Result<Option<Vec<u8>>, PathError> {
        let path = segment(&self.dir, start);
        let Some(mut file) = ok_if_absent(File::open(&path)).at(&path)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let read = |file: &mut File, bytes: &mut Vec<u8>| -> io::Result<usize> {
            file.seek(SeekFrom::Start(self.at - start))?;
            file.read_to_end(bytes)
        };
        read(&mut file, &mut bytes).at(&path)?;
        Ok((!bytes.is_empty()).then_some(bytes))
    }
}

/// The most characters of a line in a message.
const LONGEST_LINE: usize = 400;

/// Returns the last lines of the log in a directory, of at most 400 characters each, without what
/// is no text.
///
/// # Errors
/// The disk's.
pub fn last_lines(dir: &Path, most: usize) -> Result<Vec<String>, PathError> {
    let mut log = RunLog {
        dir: dir.to_owned(),
        run: 0,
        at: 0,
    };
    let mut text = Vec::new();
    while let Some(piece) = log.next_piece()? {
        match piece {
            Piece::Bytes(bytes) => text.extend(bytes),
            Piece::Missing(_) => text.clear(),
        }
    }
    let text = String::from_utf8_lossy(&text);
    let cut = |line: &str| line.chars().take(LONGEST_LINE).collect();
    let mut lines: Vec<String> = text.lines().rev().take(most).map(cut).collect();
    lines.reverse();
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::super::{LogEnd, LogFile, SEGMENT, next_run};
    use super::*;

    /// Reads all that there is: the bytes, and how many are missing before which of them.
    fn all(log: &mut RunLog) -> (Vec<u8>, Vec<(usize, u64)>) {
        let (mut bytes, mut missing) = (Vec::new(), Vec::new());
        while let Some(piece) = log.next_piece().unwrap() {
            match piece {
                Piece::Bytes(more) => bytes.extend(more),
                Piece::Missing(number) => missing.push((bytes.len(), number)),
            }
        }
        (bytes, missing)
    }

    /// `from..to` of an output of which every eight bytes are their number.
    fn output(from: u64, to: u64) -> Vec<u8> {
        let bytes = (from / 8..to.div_ceil(8)).flat_map(u64::to_be_bytes);
        bytes.take(usize::try_from(to - from).unwrap()).collect()
    }

    #[test]
    fn flt_17_the_beginning_and_the_end_of_a_long_log_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let dir = SessionDir::at(root.path());
        let log = LogFile::create(&next_run(&dir).unwrap().path).unwrap();
        let length = 7 * SEGMENT + 8_000;
        // In pieces that fit no segment.
        for start in (0..length).step_by(999_992) {
            log.append(&output(start, (start + 999_992).min(length)));
        }
        let dropped = 5 * SEGMENT;
        assert!(matches!(log.end(), LogEnd::Truncated { dropped: told } if told == dropped));
        let mut reader = RunLog::open(&dir, None).unwrap().unwrap();
        let (bytes, missing) = all(&mut reader);
        let kept = [output(0, SEGMENT), output(SEGMENT + dropped, length)].concat();
        assert_eq!(missing, [(usize::try_from(SEGMENT).unwrap(), dropped)]);
        assert!(bytes == kept, "{} bytes", bytes.len());
        // What comes later is found from there.
        log.append(b"more");
        assert_eq!(all(&mut reader), (b"more".to_vec(), Vec::new()));
    }

    #[test]
    fn a_later_run_writes_into_no_log_of_an_earlier_one() {
        let root = tempfile::tempdir().unwrap();
        let dir = SessionDir::at(root.path());
        assert!(RunLog::open(&dir, None).unwrap().is_none());
        for text in ["first", "second"] {
            let log = LogFile::create(&next_run(&dir).unwrap().path).unwrap();
            log.append(text.as_bytes());
            assert!(matches!(log.end(), LogEnd::Complete));
        }
        assert_eq!(runs(&dir).unwrap(), [1, 2]);
        let read = |run| all(&mut RunLog::open(&dir, run).unwrap().unwrap()).0;
        assert_eq!(
            (read(Some(1)), read(None)),
            (b"first".to_vec(), b"second".to_vec())
        );
        assert!(RunLog::open(&dir, Some(3)).unwrap().is_none());
    }

    #[test]
    fn a_reader_that_was_left_behind_knows_what_it_missed() {
        let root = tempfile::tempdir().unwrap();
        let dir = SessionDir::at(root.path());
        let log = LogFile::create(&next_run(&dir).unwrap().path).unwrap();
        log.append(b"start");
        let mut reader = RunLog::open(&dir, None).unwrap().unwrap();
        assert_eq!(all(&mut reader).0, b"start");
        log.append(&output(0, 5 * SEGMENT));
        let (bytes, missing) = all(&mut reader);
        let missed: u64 = missing.iter().map(|(_, number)| number).sum();
        assert_eq!(bytes.len() as u64 + missed, 5 * SEGMENT);
    }
}
