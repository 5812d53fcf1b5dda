//! What porter and host say to each other, beside the stream of files itself.
//!
//! The table of conversations is in the [crate documentation](crate). The porter runs alone
//! when it surveys and sends, yet its lists are read as hostile: they speak of names that an
//! agent chose.

mod credentials;
mod home;
mod mail;
mod manifest;
mod protection;
mod receipt;
mod survey;
mod survey_request;
mod update;
mod wanted;

pub use credentials::{
    ArrivedCredential, CredentialEvent, CredentialMode, MAX_CREDENTIAL_BYTES, MAX_CREDENTIALS,
    SentCredential, read_credentials,
};
pub use home::{
    HomeEntries, HomeEntry, HomeOrder, HomeOrders, HomeRequest, MAX_HOME_BYTES, MAX_HOME_ENTRIES,
    MAX_HOME_FILE, SET_ASIDE,
};
pub use mail::{
    InFile, MAX_MAIL_ENTRIES, MAX_MAIL_FILE, MAX_MAIL_IN, MAX_MAIL_REMOVED, MailEntry, MailFound,
    MailId, MailOrders, OutBox,
};
pub use manifest::{Manifest, ManifestWriter, read_tree, write_tree};
pub use protection::{ProtectedKind, Protection};
pub use receipt::Receipt;
pub use survey::{FoundEntry, FoundKind, SpecialType, Survey, SurveyError};
pub use survey_request::{HashPolicy, PartialSurveyRequest, SurveyRequest, Writers};
pub use update::{UpdateReceipt, UpdateRequest};
pub use wanted::{Wanted, read_wanted, write_wanted};

use std::io::{self, Read};

use crate::RecordError;

/// Reads exactly `N` bytes.
fn read_array<const N: usize>(input: &mut dyn Read) -> Result<[u8; N], RecordError> {
    let mut bytes = [0; N];
    match input.read_exact(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(RecordError::Truncated),
        Err(error) => Err(RecordError::Read(error)),
    }
}
