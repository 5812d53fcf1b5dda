//! Asks the porter of an exporter what changed, and for what is wanted of it.

use std::io::{self, BufReader, Read};

use lazaret_protocol::{
    RecordError, StreamError, StreamLimits, Survey, SurveyError, SurveyRequest, Verb, Wanted,
    write_wanted,
};
use lazaret_runtime::{ContainerName, Process};
use lazaret_transfer::{
    BlobStore, BlobStoreError, StreamEnd, SurveyMismatch, UnpackError, unpack, verify_received,
};
use lazaret_tree::{FindingCode, PathError, Tree, finding_code};

use crate::cancel::Interrupted;
use crate::context::{SessionContext, WORKSPACE};
use crate::event::Counter;
use crate::porter::conversation::{
    ExchangeError, FromPorter, PorterCall, PorterError, ToPorter, until_exit,
};
use crate::store::sync_state::SyncStateError;

/// Why nothing could be brought out. It can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// What is known of the volume can't be read or written.
    #[error(transparent)]
    State(#[from] SyncStateError),
    /// The quarantine can't be written.
    #[error(transparent)]
    Quarantine(#[from] BlobStoreError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The survey did not arrive as a whole.
    #[error("the survey of the volume can't be read")]
    Survey(#[source] RecordError),
    /// The contents did not arrive as a whole.
    #[error("the collection broke off")]
    BrokeOff(#[source] io::Error),
}

impl ExchangeError for ExportError {
    fn is_of_stream(&self) -> bool {
        match self {
            Self::Porter(error) => error.is_of_stream(),
            Self::Survey(_) => true,
            _ => false,
        }
    }
}

/// What is read at once, in bytes.
const BUFFER: usize = 256 << 10;

/// The verb of the porter's.
pub(crate) fn export_verb() -> Verb {
    Verb::Export {
        root: WORKSPACE.to_owned(),
    }
}

/// The rule that a batch broke: a stable code, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRejection {
    /// The code.
    pub code: &'static FindingCode,
    /// The reason, raw.
    pub reason: String,
}

/// What came of a step: a batch that broke a rule is rejected, a failure can be tried again.
pub(crate) type CollectResult<T> = Result<Result<T, BatchRejection>, ExportError>;

/// Talks with a `porter export`. What comes of it counts only once the porter has ended well
/// (FLT-03).
///
/// # Errors
/// What the talk fails with, or how the porter ended.
pub(crate) fn export<T>(
    cx: &SessionContext<'_>,
    container: &ContainerName,
    porter: Process,
    talk: impl FnOnce(ExportTalk<'_>) -> CollectResult<T>,
) -> CollectResult<T> {
    let verb = PorterCall {
        name: "export",
        container,
    };
    let mut rejection = None;
    let talked = until_exit(cx, verb, porter, |said, answers| {
        talk(ExportTalk {
            said,
            answers,
            rejection: &mut rejection,
        })
    });
    // However a porter ended that was listened to no longer.
    rejection.map_or(talked, |rejection| Ok(Err(rejection)))
}

/// A porter that was not asked yet.
pub(crate) struct ExportTalk<'a> {
    said: ToPorter<'a>,
    answers: FromPorter<'a>,
    /// The rule that its survey broke while it was still said.
    rejection: &'a mut Option<BatchRejection>,
}

/// A porter that told what differs, and waits for a list.
pub(crate) struct SurveyedExport<'a> {
    said: ToPorter<'a>,
    answers: FromPorter<'a>,
}

impl<'a> ExportTalk<'a> {
    /// Asks what differs.
    ///
    /// # Errors
    /// When the survey does not arrive as a whole.
    pub(crate) fn survey(
        self,
        request: &SurveyRequest,
    ) -> CollectResult<(Survey, SurveyedExport<'a>)> {
        let Self {
            said,
            answers,
            rejection,
        } = self;
        request.write_to(said).map_err(PorterError::Stream)?;
        said.flush().map_err(PorterError::Stream)?;
        match Survey::read_from(answers, &request.limits) {
            Ok(survey) => Ok(Ok((survey, SurveyedExport { said, answers }))),
            Err(error) => {
                let attempt = survey_rejection(error);
                if let Ok(Err(rule)) = &attempt {
                    *rejection = Some(rule.clone());
                }
                attempt
            }
        }
    }
}

impl SurveyedExport<'_> {
    /// Fetches the wanted contents. What arrives must be what the survey announced. Returns it,
    /// with the digests of what the survey had not read.
    ///
    /// # Errors
    /// When it does not arrive, or the quarantine can't be written.
    pub(crate) fn fetch(
        self,
        wanted: &[Wanted],
        limits: StreamLimits,
        quarantine: &BlobStore,
        counter: &Counter,
    ) -> CollectResult<Tree> {
        let Self { said, answers } = self;
        write_wanted(wanted, said).map_err(PorterError::Stream)?;
        said.flush().map_err(PorterError::Stream)?;
        // Members are read in pieces of half a kilobyte and less, and nothing follows them.
        let mut counted = Counted {
            inner: BufReader::with_capacity(BUFFER, answers),
            counter,
        };
        let unpacked = match unpack(&mut counted, limits, quarantine, StreamEnd::Trailer) {
            Ok(unpacked) => unpacked,
            Err(UnpackError::Stream(StreamError::Read(error))) => {
                return Err(ExportError::BrokeOff(error));
            }
            Err(UnpackError::Store(error)) => return Err(error.into()),
            // One that is cut short because its sender failed is the sender's failure: how
            // that ends is known once it has said all.
            Err(error) => {
                drop(io::copy(&mut counted, &mut io::sink()));
                return Ok(Err(BatchRejection {
                    code: error.code(),
                    reason: error.to_string(),
                }));
            }
        };
        counter.add_files(wanted.len() as u64);
        let checked = verify_received(wanted, &unpacked.tree).map_err(not_as_surveyed);
        Ok(checked.map(|()| unpacked.tree))
    }

    /// Wants nothing: neither of an unchanged volume nor of one that can't be believed.
    ///
    /// # Errors
    /// When the porter can't be told.
    pub(crate) fn end(self) -> Result<(), ExportError> {
        let Self { said, answers } = self;
        write_wanted(&[], said).map_err(PorterError::Stream)?;
        said.flush().map_err(PorterError::Stream)?;
        io::copy(answers, &mut io::sink()).map_err(PorterError::Stream)?;
        Ok(())
    }
}

/// A survey that arrived and can't be believed breaks the batch; one that did not arrive
/// is a failure of the way.
pub(crate) fn survey_rejection<T>(error: SurveyError) -> CollectResult<T> {
    match error {
        SurveyError::Wire(error) => Err(ExportError::Survey(error)),
        error => Ok(Err(BatchRejection {
            code: error.code(),
            reason: error.to_string(),
        })),
    }
}

pub(crate) fn not_as_surveyed(error: SurveyMismatch) -> BatchRejection {
    BatchRejection {
        code: finding_code::STREAM_MISMATCH,
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
