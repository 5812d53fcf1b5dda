//! What a process that came in at the [`door`](crate::door) is to be: it hears that on its
//! stdin, and becomes it.
//!
//! ```text
//! order     = "order " ARGUMENTS " " VARIABLES " " LENGTH "\n" directory argument* variable*
//! directory = string        empty: where PID 1 is
//! argument  = string        the program's path first
//! variable  = NAME "=" string
//! string    = (any byte but NUL)* NUL
//! ```
//!
//! LENGTH counts what follows, in bytes. What it says is what an engine would be asked for by
//! an exec, and means the same: the variables are added to those of the container.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;

use crate::root;
use crate::syscall;
use crate::words::word;

/// The most that an order may hold, in bytes; the kernel takes some 6 MiB (`man 2 execve`).
const LONGEST: usize = 16 << 20;

/// Why an order was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    /// It did not come, or makes no sense.
    #[error("the order: {0}")]
    Unheard(#[source] io::Error),
    /// A step of the preparation failed.
    #[error("{step}: {source}")]
    Prepare {
        step: &'static str,
        source: io::Error,
    },
    /// `execve` said no.
    #[error("can't become `{program}`: {source}")]
    Exec { program: String, source: io::Error },
}

/// A process to become.
#[derive(Debug, PartialEq, Eq)]
struct Order {
    directory: CString,
    argv: Vec<CString>,
    /// `NAME=VALUE`.
    variables: Vec<CString>,
}

/// Takes the streams as its own, hears what it is to be, and becomes it.
///
/// # Errors
/// See [`OrderError`]: it is still the porter then.
pub(crate) fn carry_out(streams: &[OwnedFd; 3]) -> Result<Infallible, OrderError> {
    let step = |step| move |source| OrderError::Prepare { step, source };
    connect(streams).map_err(step("take the streams"))?;
    // As an engine starts it: no terminal of its parent's, and every signal as usual.
    rustix::process::setsid().map_err(|error| step("start a session")(error.into()))?;
    syscall::reset_signals();
    let order = Order::hear().map_err(OrderError::Unheard)?;
    if !order.directory.is_empty() {
        let entered = rustix::process::chdir(&order.directory);
        entered.map_err(|error| step("enter the directory")(error.into()))?;
    }
    let environment = order.environment(std::env::vars_os());
    let source = syscall::exec_with(&order.argv, &environment);
    let program = order.argv.first().map(|program| program.as_bytes());
    Err(OrderError::Exec {
        program: lazaret_tree::escape(program.unwrap_or_default()),
        source,
    })
}

fn connect([stdin, stdout, stderr]: &[OwnedFd; 3]) -> io::Result<()> {
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    Ok(rustix::stdio::dup2_stderr(stderr)?)
}

impl Order {
    fn hear() -> io::Result<Self> {
        let nonsense = || io::Error::from(io::ErrorKind::InvalidData);
        let head = word()?;
        let numbers = head.strip_prefix("order ").ok_or_else(nonsense)?;
        let numbers: Result<Vec<usize>, _> = numbers.split(' ').map(str::parse).collect();
        let [arguments, variables, length] = *numbers.map_err(|_| nonsense())? else {
            return Err(nonsense());
        };
        if length > LONGEST {
            return Err(nonsense());
        }
        let mut strings = vec![0; length];
        root::stdin()?.read_exact(&mut strings)?;
        Self::parse(arguments, variables, &strings).ok_or_else(nonsense)
    }

    fn parse(arguments: usize, variables: usize, strings: &[u8]) -> Option<Self> {
        let strings = strings.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let mut strings = strings
            .map(CString::new)
            .collect::<Result<Vec<_>, _>>()
            .ok()?;
        let wanted = arguments.checked_add(variables)?.checked_add(1)?;
        if strings.len() != wanted || arguments == 0 {
            return None;
        }
        let variables = strings.split_off(1 + arguments);
        let argv = strings.split_off(1);
        Some(Self {
            directory: strings.pop()?,
            argv,
            variables,
        })
    }

    /// Returns the variables of the container with those of the order, which have the last word.
    fn environment(&self, containers: impl Iterator<Item = (OsString, OsString)>) -> Vec<CString> {
        let mut all: BTreeMap<Vec<u8>, CString> = BTreeMap::new();
        let containers = containers.filter_map(|(mut variable, value)| {
            variable.push("=");
            variable.push(value);
            CString::new(variable.into_vec()).ok()
        });
        for variable in containers.chain(self.variables.iter().cloned()) {
            let bytes = variable.as_bytes();
            let name = bytes.split(|byte| *byte == b'=').next().unwrap_or(bytes);
            all.insert(name.to_vec(), variable);
        }
        all.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: usize, variables: usize, strings: &str) -> String {
        match Order::parse(arguments, variables, strings.as_bytes()) {
            None => "nonsense".to_owned(),
            Some(Order {
                directory,
                argv,
                variables,
            }) => format!("in {directory:?}: {argv:?} with {variables:?}"),
        }
    }

    #[test]
    fn an_order_is_what_it_counts() {
        insta::assert_snapshot!(
            [
                (1, 0, "\0/bin/a\0"),
                (2, 1, "/workspace\0/bin/a\0\0K=v=w\0"),
                (0, 0, "/workspace\0"),
                (1, 0, "\0/bin/a"),
                (1, 0, "\0/bin/a\0b\0"),
                (2, 0, "\0/bin/a\0"),
                (usize::MAX, 1, "\0/bin/a\0"),
                (1, 0, ""),
            ]
            .map(|(arguments, variables, strings)| parsed(arguments, variables, strings))
            .join("\n"),
            @r#"
        in "": ["/bin/a"] with []
        in "/workspace": ["/bin/a", ""] with ["K=v=w"]
        nonsense
        nonsense
        nonsense
        nonsense
        nonsense
        nonsense
        "#
        );
    }

    #[test]
    fn the_order_has_the_last_word_on_a_variable() {
        let order = Order::parse(1, 2, b"\0/bin/a\0K=order\0EMPTY=\0").expect("an order");
        let containers = [("A", "1"), ("K", "container"), ("EMPTY", "no")];
        let containers = containers.map(|(name, value)| (name.into(), value.into()));
        let environment = order.environment(containers.into_iter());
        assert_eq!(
            environment,
            [c"A=1", c"EMPTY=", c"K=order"].map(CString::from)
        );
    }
}
