//! What tmux captured, as runs of characters that look the same.

/// A colour of the terminal's sixteen, or its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Colour {
    #[default]
    Default,
    Indexed(u8),
}

/// How characters look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Look {
    pub(super) front: Colour,
    pub(super) back: Colour,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) underlined: bool,
    pub(super) reversed: bool,
}

/// Characters in a row that look the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) look: Look,
}

/// Parses lines of text with SGR sequences (ECMA-48, 8.3.117), which is all that tmux
/// writes into a capture.
pub(super) fn parse(captured: &str) -> Vec<Vec<Run>> {
    // tmux does not start over at the end of a line.
    let mut look = Look::default();
    captured
        .lines()
        .map(|line| {
            let mut runs: Vec<Run> = Vec::new();
            let mut parts = line.split('\u{1b}');
            push(&mut runs, parts.next().unwrap_or_default(), look);
            for part in parts {
                let sequence = part.strip_prefix('[').and_then(|part| part.split_once('m'));
                match sequence {
                    Some((parameters, text)) => {
                        apply(&mut look, parameters);
                        push(&mut runs, text, look);
                    }
                    None => push(&mut runs, part, look),
                }
            }
            runs
        })
        .collect()
}

/// Returns the characters of a row.
pub(super) fn text(row: &[Run]) -> String {
    row.iter().map(|run| run.text.as_str()).collect()
}

fn push(runs: &mut Vec<Run>, text: &str, look: Look) {
    match runs.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.look == look => last.text.push_str(text),
        _ => runs.push(Run {
            text: text.to_owned(),
            look,
        }),
    }
}

fn apply(look: &mut Look, parameters: &str) {
    let mut numbers = parameters
        .split(';')
        .map(|number| number.parse::<u8>().unwrap_or(0));
    while let Some(number) = numbers.next() {
        match number {
            0 => *look = Look::default(),
            1 => look.bold = true,
            2 => look.dim = true,
            4 => look.underlined = true,
            7 => look.reversed = true,
            22 => (look.bold, look.dim) = (false, false),
            24 => look.underlined = false,
            27 => look.reversed = false,
            30..=37 => look.front = Colour::Indexed(number - 30),
            39 => look.front = Colour::Default,
            40..=47 => look.back = Colour::Indexed(number - 40),
            49 => look.back = Colour::Default,
            90..=97 => look.front = Colour::Indexed(number - 82),
            100..=107 => look.back = Colour::Indexed(number - 92),
            38 | 48 => {
                // `5;n`; other colours are not used.
                let (Some(5), Some(index @ 0..16)) = (numbers.next(), numbers.next()) else {
                    return;
                };
                match number {
                    38 => look.front = Colour::Indexed(index),
                    _ => look.back = Colour::Indexed(index),
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_become_looks() {
        let rows = parse("a\u{1b}[1;31mb\u{1b}[0mc\n\u{1b}[7md\ne\u{1b}[39;38;5;8mf");
        let shown: Vec<String> = rows
            .iter()
            .flatten()
            .map(|run| {
                let Look {
                    front,
                    bold,
                    reversed,
                    ..
                } = run.look;
                format!("{} {front:?} {bold} {reversed}", run.text)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "a Default false false",
                "b Indexed(1) true false",
                "c Default false false",
                "d Default false true",
                "e Default false true",
                "f Indexed(8) false true",
            ]
        );
        assert_eq!(text(&rows[0]), "abc");
    }
}
