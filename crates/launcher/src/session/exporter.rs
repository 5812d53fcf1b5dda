//! Asks the porter of an exporter what changed, and for what is wanted of it.

use std::io::{self, BufReader, Read};

use lazaret_protocol::{
    StreamError, StreamLimits, Survey, SurveyError, SurveyRequest, Wanted, write_wanted,
};
use lazaret_runtime::{ContainerName, Process};
use lazaret_transfer::{Ending, NotAsSurveyed, Quarantine, UnpackError, check_arrived, unpack};
use lazaret_tree::Tree;

use super::porter::conversation::{FromPorter, PorterCall, ToPorter, broken_stream, until_exit};
use super::site::Site;
use crate::failure::{Failure, FailureKind};
use crate::ui::Counter;

/// What is read at once, in bytes.
const BUFFER: usize = 256 << 10;

/// The verb of the porter's.
pub(super) const EXPORT: &str = "export";

/// The rule that a batch broke: a stable code, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The code.
    pub code: &'static str,
    /// The reason, raw.
    pub reason: String,
}

/// What came of a step: a batch that broke a rule is rejected, a failure can be tried again.
pub(super) type Attempt<T> = Result<Result<T, Broken>, Failure>;

/// Talks with a `porter export`. What comes of it counts only once the porter has ended well
/// (FLT-03).
///
/// # Errors
/// What the talk fails with, or how the porter ended.
pub(super) fn export<T>(
    site: &Site<'_>,
    container: &ContainerName,
    porter: Process,
    talk: impl FnOnce(Exporting<'_>) -> Attempt<T>,
) -> Attempt<T> {
    let verb = PorterCall {
        name: EXPORT,
        container,
    };
    let mut broken = None;
    let talked = until_exit(site, verb, porter, |said, answers| {
        talk(Exporting {
            said,
            answers,
            broken: &mut broken,
        })
    });
    // However a porter ended that was listened to no longer.
    broken.map_or(talked, |broken| Ok(Err(broken)))
}

/// A porter that was not asked yet.
pub(super) struct Exporting<'a> {
    said: ToPorter<'a>,
    answers: FromPorter<'a>,
    /// The rule that its survey broke while it was still said.
    broken: &'a mut Option<Broken>,
}

/// A porter that told what differs, and waits for a list.
pub(super) struct Answered<'a> {
    said: ToPorter<'a>,
    answers: FromPorter<'a>,
}

impl<'a> Exporting<'a> {
    /// Asks what differs.
    ///
    /// # Errors
    /// When the survey does not arrive as a whole.
    pub(super) fn survey(self, request: &SurveyRequest) -> Attempt<(Survey, Answered<'a>)> {
        let Self {
            said,
            answers,
            broken,
        } = self;
        request.write_to(said).map_err(broken_stream)?;
        said.flush().map_err(broken_stream)?;
        match Survey::read_from(answers, &request.limits) {
            Ok(survey) => Ok(Ok((survey, Answered { said, answers }))),
            Err(error) => {
                let attempt = survey_broken(error);
                if let Ok(Err(rule)) = &attempt {
                    *broken = Some(rule.clone());
                }
                attempt
            }
        }
    }
}

impl Answered<'_> {
    /// Fetches the wanted contents. What arrives must be what the survey announced. Returns it,
    /// with the digests of what the survey had not read.
    ///
    /// # Errors
    /// When it does not arrive, or the quarantine can't be written.
    pub(super) fn fetch(
        self,
        wanted: &[Wanted],
        limits: StreamLimits,
        quarantine: &Quarantine,
        counter: &Counter,
    ) -> Attempt<Tree> {
        let Self { said, answers } = self;
        write_wanted(wanted, said).map_err(broken_stream)?;
        said.flush().map_err(broken_stream)?;
        // Members are read in pieces of half a kilobyte and less, and nothing follows them.
        let mut counted = Counted {
            inner: BufReader::with_capacity(BUFFER, answers),
            counter,
        };
        let unpacked = match unpack(&mut counted, limits, quarantine, Ending::Trailer) {
            Ok(unpacked) => unpacked,
            Err(UnpackError::Stream(StreamError::Read(error))) => {
                return Err(
                    Failure::new(FailureKind::Engine, error).context("the collection broke off")
                );
            }
            Err(UnpackError::Store(error)) => return Err(error.into()),
            // One that is cut short because its sender failed is the sender's failure: how
            // that ends is known once it has said all.
            Err(error) => {
                drop(io::copy(&mut counted, &mut io::sink()));
                return Ok(Err(Broken {
                    code: error.code(),
                    reason: error.to_string(),
                }));
            }
        };
        counter.add_files(wanted.len() as u64);
        let checked = check_arrived(wanted, &unpacked.tree).map_err(mismatch);
        Ok(checked.map(|()| unpacked.tree))
    }

    /// Wants nothing: neither of an unchanged volume nor of one that can't be believed.
    ///
    /// # Errors
    /// When the porter can't be told.
    pub(super) fn end(self) -> Result<(), Failure> {
        let Self { said, answers } = self;
        write_wanted(&[], said).map_err(broken_stream)?;
        said.flush().map_err(broken_stream)?;
        io::copy(answers, &mut io::sink()).map_err(broken_stream)?;
        Ok(())
    }
}

/// A survey that arrived and can't be believed breaks the batch; one that did not arrive
/// is a failure of the way.
pub(super) fn survey_broken<T>(error: SurveyError) -> Attempt<T> {
    match error {
        SurveyError::Wire(error) => Err(Failure::new(FailureKind::Transfer, error)
            .context("the survey of the volume can't be read")),
        error => Ok(Err(Broken {
            code: error.code(),
            reason: error.to_string(),
        })),
    }
}

pub(super) fn mismatch(error: NotAsSurveyed) -> Broken {
    Broken {
        code: "stream.mismatch",
        reason: error.to_string(),
    }
}

struct Counted<'a, R> {
    inner: R,
    counter: &'a Counter,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.counter.add_bytes(count as u64);
        Ok(count)
    }
}
