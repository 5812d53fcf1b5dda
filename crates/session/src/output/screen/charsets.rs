//! `Charsets`: the character sets G0 to G3 and which of them is in use (ECMA-35).
//!
//! The emulator knows Unicode only, so the special graphics of the VT100 become the
//! characters of Unicode that look the same.

/// The emulator draws no cell for this character.
pub(super) const REPLACEMENT: char = '\u{fffd}';
/// The emulator holds this one in its place, which stands for no character.
pub(super) const STAND_IN: char = '\u{fdd0}';

/// What a program designated, and what it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Charsets {
    /// The final byte of each designation, `B` for ASCII.
    designated: [u8; 4],
    /// The set in use: 0, or 1 after SO.
    in_use: usize,
}

impl Default for Charsets {
    fn default() -> Self {
        Self {
            designated: [b'B'; 4],
            in_use: 0,
        }
    }
}

impl Charsets {
    /// Records an escape sequence, if it is a designation.
    pub(super) fn escape(&mut self, body: &[u8]) {
        if let [set @ b'('..=b'+', charset] = body {
            self.designated[usize::from(set - b'(')] = *charset;
        }
    }

    /// Records SO, which shifts to G1.
    pub(super) fn shift_out(&mut self) {
        self.in_use = 1;
    }

    /// Records SI, which shifts to G0.
    pub(super) fn shift_in(&mut self) {
        self.in_use = 0;
    }

    /// Returns what a terminal shows for a character.
    pub(super) fn shown(&self, c: char) -> char {
        match (self.designated[self.in_use], c) {
            (b'0', '_'..='~') => GRAPHICS[c as usize - '_' as usize],
            (b'A', '#') => '£',
            (_, REPLACEMENT) => STAND_IN,
            _ => c,
        }
    }

    /// Writes the sequences that lead here from [`Charsets::default`].
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for (set, &charset) in (b'('..).zip(&self.designated) {
            if charset != b'B' {
                out.extend_from_slice(&[0x1b, set, charset]);
            }
        }
        if self.in_use == 1 {
            out.push(0x0e);
        }
    }
}

/// DEC special graphics, from `_` to `~` (VT100 user guide, table 3-9).
const GRAPHICS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
    '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

#[cfg(test)]
mod tests {
    use super::Charsets;

    #[test]
    fn line_drawing_becomes_unicode() {
        let mut charsets = Charsets::default();
        charsets.escape(b")0");
        assert_eq!(charsets.shown('q'), 'q');
        charsets.shift_out();
        assert_eq!(
            "lqkx~_A"
                .chars()
                .map(|c| charsets.shown(c))
                .collect::<String>(),
            "┌─┐│· A"
        );
        let mut out = Vec::new();
        charsets.write(&mut out);
        assert_eq!(out, b"\x1b)0\x0e");
    }
}
