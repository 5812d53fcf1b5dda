//! The review: a full-screen look at a case, in which a person chooses what is applied.
//!
//! | part | holds |
//! | --- | --- |
//! | [`item`], [`tree`], [`body`], [`page`], [`plan`], [`text`] | what there is to see, as plain data, escaped |
//! | [`model`], `press`, `browse` | the state, and what each key does to it |
//! | [`keys`] | keys out of the terminal's bytes |
//! | [`view`] | the state drawn into a buffer |
//! | [`run`] | the loop, on any [`run::Console`] |
//! | [`bench`], [`desk`] | what the review needs of the gate, and the gate's answers |
//!
//! Nothing is decided by what is on the screen: a yes is to the [`plan::Plan`] that the gate
//! derived from the choices, judged, and showed.

pub mod bench;
pub mod body;
mod browse;
pub mod desk;
pub mod geometry;
mod help;
pub mod item;
pub mod keys;
pub mod model;
pub mod page;
pub mod plan;
mod press;
pub mod run;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tree;
pub mod view;
