//! Connects the signals of the process to an [`Interrupt`].

use lazaret_session::cancel::Interrupt;

/// Raises `interrupt` on SIGINT, SIGTERM and SIGHUP. Once per process.
///
/// # Errors
/// When a handler is installed already or the system refuses.
pub(crate) fn install(interrupt: &Interrupt) -> Result<(), ctrlc::Error> {
    let interrupt = interrupt.clone();
    // Not `try_set_handler`: it fails where one of the signals is ignored, as `nohup` and
    // a shell's `&` leave them.
    ctrlc::set_handler(move || interrupt.raise())
}
