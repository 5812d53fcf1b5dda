//! What a client that attaches sees, compared with what a client sees that was there.

mod hostile;
mod recordings;
mod sequences;
mod terminal;
