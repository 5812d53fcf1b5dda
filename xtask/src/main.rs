//! `cargo xtask`: the commands of this repository, by the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main()
}
