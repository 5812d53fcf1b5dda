//! Which engines the tests run on: the one in memory always, and those that
//! `LAZARET_TEST_ENGINE` names (`docker,podman,podman-rootless`). One that is named and
//! does not answer is a failure.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazaret_runtime::fake::FakeEngine;
use lazaret_runtime::{DecidedBy, Detected, Engine as _, EngineRequest, Environment, detect};

use crate::guest;

/// Returns the engine in memory, which runs the guest's functions.
pub(crate) fn fake() -> Detected {
    let fake = FakeEngine::new();
    fake.on_exec(&["/lazaret/porter"], |mut call| {
        let argv: Vec<&str> = call.argv.iter().skip(1).map(String::as_str).collect();
        if argv == ["init"] {
            call.sleep();
            return 137;
        }
        guest::run(&argv, &mut call.stdin, &mut call.stdout, &mut call.stderr)
    });
    let info = fake.probe().unwrap();
    Detected {
        by: DecidedBy::Detected,
        remembered: None,
        engine: Arc::new(fake),
        info,
    }
}

/// Lets one test at a time load images: two Podman services that do so on one storage
/// were seen to lose each other's files (4.3.1).
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the real engines that were asked for.
pub(crate) fn real() -> Vec<(String, Detected)> {
    #[expect(clippy::disallowed_methods, reason = "a test's own switch")]
    let names = std::env::var("LAZARET_TEST_ENGINE").unwrap_or_default();
    names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let request = EngineRequest::flag(name.parse().unwrap());
            let detected = detect(&request, &environment())
                .unwrap_or_else(|error| panic!("{name} was named but does not answer: {error:?}"));
            (name.to_owned(), detected)
        })
        .collect()
}

pub(crate) fn environment() -> Environment {
    let uid = rustix::process::geteuid().as_raw();
    #[expect(clippy::disallowed_methods, reason = "the tests read what main would")]
    let variable = |name: &str| std::env::var_os(name);
    Environment {
        xdg_runtime_dir: variable("XDG_RUNTIME_DIR").map(Into::into),
        home: variable("HOME").map(Into::into),
        path: variable("PATH"),
        uid,
        root: "/".into(),
        ..Environment::default()
    }
}
