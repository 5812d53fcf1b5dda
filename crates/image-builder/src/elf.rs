//! Reads from a program's first bytes for which processor it is.

/// The bytes given as the porter are no program that a container could start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the porter is not a 64-bit ELF program for amd64 or arm64")]
pub struct NotAPorter;

/// Returns the architecture of a 64-bit little-endian ELF program, in Docker's words.
///
/// # Errors
/// Refuses everything else (`elf(5)`: `e_ident`, `e_machine`).
pub(crate) fn architecture(program: &[u8]) -> Result<&'static str, NotAPorter> {
    const CLASS_64_LITTLE_ENDIAN: &[u8] = b"\x7fELF\x02\x01";
    if !program.starts_with(CLASS_64_LITTLE_ENDIAN) {
        return Err(NotAPorter);
    }
    match program.get(18..20) {
        Some([62, 0]) => Ok("amd64"),
        Some([183, 0]) => Ok("arm64"),
        _ => Err(NotAPorter),
    }
}
