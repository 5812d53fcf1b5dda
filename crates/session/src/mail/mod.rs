//! The mail of groups: what a command leaves for the host's program, judged and kept until that
//! has settled it.
//!
//! ```text
//! mail/lock              held while the rest changes
//! mail/index.json        what is kept of each group, replaced as a whole
//! mail/waiting/<id>.json one message or task, written before the index names it
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | [`message`] | the two shapes of mail, and how they are read |
//! | [`when`] | when a task is due |
//! | [`refusal`] | why mail is refused |
//! | [`roster`] | the groups, and what each may do |
//! | [`index`] | what is kept of a group |
//! | [`mailbox`] | takes mail in, hands it out, settles it |
//! | [`exchange`] | one exchange with `porter mail` |
//!
//! All but [`mailbox`] and [`exchange`] do no I/O.

pub mod exchange;
pub mod index;
pub mod mailbox;
pub mod message;
pub mod refusal;
pub mod roster;
mod snapshot;
pub mod when;
