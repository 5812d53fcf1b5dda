//! Commits against real repositories: what comes home, what is refused, and what stays as it was.

mod contents;
mod hostile;
mod kit;
mod landing;
mod many;
mod rounds;
mod signing;
