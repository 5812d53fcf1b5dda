//! Connects the signals of the process to a [`Cancel`].

use lazaret_session::cancel::Cancel;

/// Raises `cancel` on SIGINT, SIGTERM and SIGHUP. Once per process.
///
/// # Errors
/// When a handler is installed already or the system refuses.
pub(crate) fn install(cancel: &Cancel) -> Result<(), ctrlc::Error> {
    let cancel = cancel.clone();
    // Not `try_set_handler`: it fails where one of the signals is ignored, as `nohup` and
    // a shell's `&` leave them.
    ctrlc::set_handler(move || cancel.raise())
}
