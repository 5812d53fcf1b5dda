//! Sessions from the workspace to the gate on the engine in memory: no container, every
//! process a closure over a directory that plays the volume.

mod captured;
mod commits;
mod cut_off;
mod dead_engine;
mod depth;
mod export;
mod faults;
mod fenced;
mod flaky;
mod handed;
mod kept;
mod killed_landing;
mod large;
mod live;
mod logs;
mod moved;
mod named;
mod network;
mod next_container;
mod next_container_faults;
mod next_container_sequences;
mod orphans;
mod outcomes;
mod pack;
mod pool;
mod porter;
mod pr;
mod prune;
mod review;
mod secrets;
mod streams;
mod texts;
mod verb;
mod verbs;
mod world;
