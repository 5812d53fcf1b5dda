//! Two examples of each verb, each of which the real command line takes.

use clap::Command;
use lazaret_launcher::cli;
use lazaret_launcher::examples::EXAMPLES;

use crate::support::TestEnvironment;

/// Returns the paths of all verbs that can be typed as they are.
pub(crate) fn verbs() -> Vec<String> {
    fn collect(command: &Command, path: &str, verbs: &mut Vec<String>) {
        let below = command.get_subcommands();
        let below = below.filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
        for verb in below {
            let path = format!("{path} {}", verb.get_name());
            let path = path.trim_start();
            if !verb.is_subcommand_required_set() {
                verbs.push(path.to_owned());
            }
            collect(verb, path, verbs);
        }
    }
    let mut verbs = Vec::new();
    collect(&cli::command(), "", &mut verbs);
    verbs
}

/// Returns the words of an example up to a redirection, as a shell takes them.
pub(crate) fn words(example: &str) -> Vec<String> {
    let words = example
        .split(' ')
        .take_while(|word| !["<", ">"].contains(word));
    words
        .map(|word| word.trim_matches('\'').to_owned())
        .collect()
}

#[test]
fn each_verb_has_two_examples_that_parse() {
    let named: Vec<&str> = EXAMPLES.iter().map(|(verb, _)| *verb).collect();
    let mut wanted = verbs();
    let mut sorted = named.clone();
    sorted.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted, "each verb is in EXAMPLES once");
    for (verb, examples) in EXAMPLES {
        assert_ne!(examples[0], examples[1], "{verb}");
        for example in examples {
            let start = format!("lazaret {verb}");
            let rest = example.strip_prefix(&start);
            assert!(
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
                "{example}"
            );
            if let Err(error) = cli::parse(words(example)) {
                panic!("{example}: {error}");
            }
        }
    }
}

#[test]
fn the_long_help_of_each_verb_ends_with_them() {
    let env = TestEnvironment::new();
    for (verb, [one, other]) in EXAMPLES {
        let help = env.run(&format!("{verb} --help")).stdout;
        let end = format!("Examples:\n  {one}\n  {other}\n");
        assert!(help.ends_with(&end), "{verb}:\n{help}");
        let short = env.run(&format!("{verb} -h")).stdout;
        assert!(!short.contains("Examples:"), "{verb}");
    }
}
