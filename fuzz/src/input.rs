//! `Input`: takes choices from the front of the bytes, and leaves the rest as content.

/// What is left of the bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    /// Takes one byte; 0 when there is none.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Takes two bytes.
    pub(crate) fn short(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }

    /// Takes up to the first `separator`, or everything.
    pub(crate) fn until(&mut self, separator: u8) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == separator);
        let (taken, rest) = match end {
            Some(end) => (&self.0[..end], &self.0[end + 1..]),
            None => (self.0, &[][..]),
        };
        self.0 = rest;
        taken
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
