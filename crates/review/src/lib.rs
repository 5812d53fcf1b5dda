//! The review of lazaret: a full-screen look at a case, in which a person chooses what is applied.
//!
//! A pure model, its view and a loop, over any [`run::Console`]. No engine, no session, no command line.
//!
//! | part | holds |
//! | --- | --- |
//! | [`item`], [`branch`], [`tree`], [`diff_view`], [`page`], [`plan`], [`text`] | what there is to see, as plain data, escaped |
//! | [`model`], `mode`, `keys_to_actions`, `navigation`, `commit_rows` | the state, and what each key does to it |
//! | [`keys`] | keys out of the terminal's bytes |
//! | [`view`] | the state drawn into a buffer |
//! | [`run`] | the loop, on any [`run::Console`] |
//! | [`backend`], [`gate_adapter`], [`commit_view`] | what the review needs of the gate, and the gate's answers |
//!
//! Nothing is decided by what is on the screen: a yes is to the [`plan::Plan`] that the gate
//! derived from the choices, judged, and showed.

pub mod backend;
pub mod branch;
mod commit_rows;
#[cfg(test)]
mod commit_tests;
pub mod commit_view;
pub mod diff_view;
pub mod gate_adapter;
pub mod geometry;
mod help;
pub mod item;
pub mod keys;
mod keys_to_actions;
mod mode;
pub mod model;
mod navigation;
pub mod page;
pub mod plan;
pub mod run;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tree;
pub mod view;
