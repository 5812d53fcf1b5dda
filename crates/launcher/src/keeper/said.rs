//! What a keeper says, once it has left its terminal: to its clients, and into a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;

use lazaret_session::keeper::Messages;
use lazaret_session::store::SessionDir;

use crate::ui::Ui;

/// The most bytes of what a keeper says that are kept, for each stream.
const MOST: usize = 128 << 10;

/// Has what `ui` says go to clients and into `keeper/messages`. Returns that file.
///
/// # Errors
/// The file can't be opened.
pub(super) fn redirect(ui: &Ui, dir: &SessionDir, messages: Messages) -> io::Result<File> {
    let file = (OpenOptions::new().create(true).append(true))
        .mode(0o600)
        .open(dir.file("keeper").join("messages"))?;
    let said = || -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(MessageStream {
            messages: messages.clone(),
            file: file.try_clone()?,
            kept: 0,
        }))
    };
    ui.redirect(said()?, said()?);
    Ok(file)
}

/// One stream of it.
struct MessageStream {
    messages: Messages,
    file: File,
    kept: usize,
}

impl Write for MessageStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A disk that is full costs the file.
        if self.kept < MOST && self.file.write_all(bytes).is_ok() {
            self.kept += bytes.len();
        }
        self.messages.show(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
