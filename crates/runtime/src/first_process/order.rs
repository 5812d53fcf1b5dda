//! What a process is told to become: the porter's `order.rs` reads it.

use std::io;

use crate::ExecSpec;

/// Writes an order.
///
/// # Errors
/// When something holds a NUL, which no process can be given (`man 2 execve`).
pub(super) fn write(spec: &ExecSpec) -> io::Result<Vec<u8>> {
    let mut strings = Vec::new();
    let mut add = |string: &str| {
        strings.extend_from_slice(string.as_bytes());
        strings.push(0);
    };
    add(spec.workdir.as_deref().unwrap_or_default());
    for argument in &spec.argv {
        add(argument);
    }
    for (name, value) in &spec.env {
        add(&format!("{name}={value}"));
    }
    let (arguments, variables) = (spec.argv.len(), spec.env.len());
    if strings.iter().filter(|byte| **byte == 0).count() != 1 + arguments + variables {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut order = format!("order {arguments} {variables} {}\n", strings.len()).into_bytes();
    order.extend(strings);
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Starter, Stdin, Terminal};

    fn spec(argv: &[&str], variable: &str) -> ExecSpec {
        ExecSpec {
            argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
            env: [("KEY".parse().expect("a name"), variable.to_owned())].into(),
            workdir: Some("/workspace".to_owned()),
            stdin: Stdin::Piped,
            terminal: Terminal::None,
            starter: Starter::FirstProcess,
        }
    }

    #[test]
    fn an_order_holds_what_an_exec_asks_for() {
        let order = write(&spec(&["/bin/a", "", "two words"], "v=w\n")).expect("no NUL");
        assert_eq!(
            String::from_utf8(order).expect("text"),
            "order 3 1 38\n/workspace\0/bin/a\0\0two words\0KEY=v=w\n\0"
        );
    }

    #[test]
    fn what_no_process_can_be_given_is_not_sent() {
        assert!(write(&spec(&["/bin/a", "b\0c"], "v")).is_err());
        assert!(write(&spec(&["/bin/a"], "v\0w")).is_err());
    }
}
