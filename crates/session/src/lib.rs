//! Sessions: one copy of a workspace in a volume, from its first byte in to the last one out.
//!
//! It knows no terminal, no command line and no profile: what it tells is an [`event::Event`],
//! what goes wrong is an error of the step.
//!
//! [`store`] keeps what must outlive a launcher; the other files are the steps, in order.
//! Each state is a type of its own, and a step consumes the state before it:
//! [`prepare::Prepared`], [`populate::Populated`], [`stop::Stopped`], [`collect::Collected`].

pub mod background;
pub mod belongings;
pub mod berth;
pub mod chores;
pub mod collect;
pub mod command;
pub mod credential;
pub mod credential_cache;
pub mod credential_tokens;
pub mod cycle;
pub mod deflated;
pub mod egress;
pub mod emptying;
pub mod engine_memory;
pub mod event;
pub mod exporter;
pub mod fence;
pub mod file;
pub mod file_limit;
pub mod handed;
pub mod history;
pub mod hold;
pub mod interrupt;
pub mod kept;
pub mod known;
pub mod latch;
pub mod lend;
pub mod lock;
pub mod log;
pub mod moment;
pub mod owner;
pub mod pause;
pub mod poised;
pub mod pool;
pub mod populate;
pub mod porter;
pub mod prepare;
pub mod prove;
pub mod prune;
pub mod record;
pub mod relay;
pub mod repair;
pub mod resume;
pub mod signal;
pub mod site;
pub mod source;
pub mod standby;
pub mod status;
pub mod stop;
pub mod store;
pub mod sync;
pub mod synced;
pub mod tags;
pub mod terminal;
pub mod texts;
pub mod turn;
pub mod unfinished;
pub mod unlanded;
pub mod unsynced;
pub mod viewer;
pub mod views;
