//! The matrix: scenarios on real engines.

fn main() {}
