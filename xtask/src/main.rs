//! `cargo xtask`: the commands of this repository.

fn main() {}
