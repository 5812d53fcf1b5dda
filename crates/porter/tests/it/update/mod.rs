//! `porter update`: a volume that is in use, brought up to date.

mod ahead;
mod breaks;
mod full;
mod kept;
mod owner;
mod repositories;
mod sequences;
mod tables;
mod times;
