//! The program in the tests' image: PID 1, and what is executed beside it. The tests
//! compile it by `rustc`, statically, so it knows nothing but `std`.

mod commands;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args().skip(1).collect();
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    if argv == ["init"] {
        // As PID 1 without a handler it can't be ended by SIGTERM.
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
    let mut stdout = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let code = commands::run(&argv, &mut io::stdin().lock(), &mut stdout, &mut io::stderr().lock());
    ExitCode::from(code as u8)
}
