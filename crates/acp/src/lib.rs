//! The Agent Client Protocol (version 1) between an editor and an agent in a container.
//!
//! [`Proxy`] translates: a line in, [`Action`]s out. It takes from the agent what the protocol gives
//! it on the editor's machine (files, terminals, logins that start a program), and maps the paths of
//! the workspace. Methods and fields that it does not know pass as they are. [`serve`] is the
//! reading and writing around it; what happens to the session is [`Host`], which a caller
//! implements.
//!
//! The agent is not trusted, and the editor may be wrong. A line has at most [`MOST_LINE`] bytes,
//! and a message at most [`MOST_DEPTH`] levels and no repeated key. Anything else gets an error, and
//! the next line is read.

mod host;
mod mapping;
mod message;
mod paths;
mod proxy;
mod serve;
mod servers;
mod turn_end;
mod uri;

pub use host::Host;
pub use message::{MOST_DEPTH, MOST_LINE};
pub use paths::Paths;
pub use proxy::{Action, MOST_REQUESTS, Prompt, Proxy};
pub use serve::{Streams, serve};
pub use turn_end::TurnEnd;
