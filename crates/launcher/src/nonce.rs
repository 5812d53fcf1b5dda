//! `nonce`: what no program could have known before.

use std::fs::File;
use std::io::Read as _;

use crate::failure::{Failure, FailureKind, OrFail as _};

/// Returns 128 bits of the kernel's as 32 hexadecimal digits.
///
/// # Errors
/// `/dev/urandom` can't be read.
pub(crate) fn nonce() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.or_fail(FailureKind::Internal, "/dev/urandom can't be read")?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
