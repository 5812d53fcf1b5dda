//! The questions of the gate, on directories alone: no engine, no container.

#[path = "../../../gate/tests/it/desk.rs"]
#[expect(dead_code, reason = "most of it is for the tests of lazaret-gate")]
mod desk;
mod prompt;
