//! `write_attributes`: the attributes of `CSI m`, in the form that the emulator reads.
//!
//! The emulator reads a part of SGR, and takes the parameters of what it does not know for
//! attributes of their own: of `58;5;1` (underline in red) it would make bold.

use super::charsets::{REPLACEMENT, STAND_IN};
use super::tokens::parse_number;

/// Writes the attributes that the emulator knows: colours, bold, dim, italic, underline and
/// inverse.
pub(super) fn write_attributes(parameters: &[u8], out: &mut Vec<u8>) {
    let mut known = Vec::new();
    let mut rest = parameters.split(|byte| *byte == b';');
    while let Some(parameter) = rest.next() {
        let mut parts = parameter.split(|byte| *byte == b':').map(parse_number);
        let first = parts.next().flatten().unwrap_or(0);
        let parts: Vec<u16> = parts.map(|part| part.unwrap_or(0)).collect();
        match first {
            0..=3 | 7 | 22..=24 | 27 | 30..=37 | 39..=47 | 49 | 90..=97 | 100..=107 => {
                known.push(first);
            }
            // No underline, or one of any kind.
            4 => known.push(if parts.first() == Some(&0) { 24 } else { 4 }),
            21 => known.push(4),
            38 | 48 | 58 => {
                let colour = match parts.is_empty() {
                    true => following_colour(&mut rest),
                    false => colour(&parts),
                };
                if let (true, Some(colour)) = (first != 58, colour) {
                    known.push(first);
                    known.extend(colour);
                }
            }
            _ => {}
        }
    }
    // An empty list would reset everything.
    if !known.is_empty() {
        let known: Vec<String> = known.iter().map(u16::to_string).collect();
        out.extend_from_slice(format!("\x1b[{}m", known.join(";")).as_bytes());
    }
}

/// Reads a colour from the parameters behind `38`.
fn following_colour<'a>(rest: &mut impl Iterator<Item = &'a [u8]>) -> Option<Vec<u16>> {
    let kind = parse_number(rest.next()?)?;
    let count = match kind {
        2 => 3,
        5 => 1,
        _ => return None,
    };
    let parts = rest.take(count).map(|part| parse_number(part).unwrap_or(0));
    colour(&std::iter::once(kind).chain(parts).collect::<Vec<u16>>())
}

/// Returns a colour in the form of xterm: `5;INDEX` or `2;RED;GREEN;BLUE`.
fn colour(parts: &[u16]) -> Option<Vec<u16>> {
    let colour = match *parts {
        [5, index, ..] => vec![5, index],
        [2, red, green, blue] => vec![2, red, green, blue],
        // With the colour space that ITU-T T.416 puts before.
        [2, _, red, green, blue, ..] => vec![2, red, green, blue],
        _ => return None,
    };
    colour[1..].iter().all(|part| *part < 256).then_some(colour)
}

/// Writes a cell with its attributes.
pub(super) fn write_cell(cell: &vt100::Cell, out: &mut Vec<u8>) {
    let mut known = vec![0];
    let flags = [
        (cell.bold(), 1),
        (cell.dim(), 2),
        (cell.italic(), 3),
        (cell.underline(), 4),
        (cell.inverse(), 7),
    ];
    known.extend(
        flags
            .iter()
            .filter(|(is_set, _)| *is_set)
            .map(|(_, code)| code),
    );
    known.extend(colour_codes(38, cell.fgcolor()));
    known.extend(colour_codes(48, cell.bgcolor()));
    let known: Vec<String> = known.iter().map(u16::to_string).collect();
    out.extend_from_slice(format!("\x1b[{}m", known.join(";")).as_bytes());
    let contents = cell
        .contents()
        .replace(STAND_IN, REPLACEMENT.encode_utf8(&mut [0; 4]));
    out.extend_from_slice(contents.as_bytes());
}

fn colour_codes(code: u16, colour: vt100::Color) -> Vec<u16> {
    match colour {
        vt100::Color::Default => Vec::new(),
        vt100::Color::Idx(index) => vec![code, 5, index.into()],
        vt100::Color::Rgb(red, green, blue) => {
            vec![code, 2, red.into(), green.into(), blue.into()]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write_attributes;

    #[test]
    fn attributes_take_the_form_that_the_emulator_reads() {
        for (given, written) in [
            ("", "\x1b[0m"),
            ("1;31;;4", "\x1b[1;31;0;4m"),
            ("38;5;9;1", "\x1b[38;5;9;1m"),
            ("38:2::1:2:3", "\x1b[38;2;1;2;3m"),
            ("48:2:1:2:3", "\x1b[48;2;1;2;3m"),
            ("48;2;1;2;3;7", "\x1b[48;2;1;2;3;7m"),
            ("58;5;1", ""),
            ("58:2::1:2:3;3", "\x1b[3m"),
            ("4:3", "\x1b[4m"),
            ("4:0", "\x1b[24m"),
            ("9", ""),
            ("38;5;300", ""),
            ("38", ""),
        ] {
            let mut out = Vec::new();
            write_attributes(given.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), written, "{given}");
        }
    }
}
