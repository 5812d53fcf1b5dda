//! `Tabs`: tab stops, as programs set them.

/// Tab stops of a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tabs {
    /// Whether a column has a stop; as long as the screen is wide.
    stops: Vec<bool>,
    /// Whether a program set or cleared one.
    changed: bool,
}

impl Tabs {
    /// Sets a stop in each eighth column.
    pub(super) fn new(columns: u16) -> Self {
        let stops = (0..columns).map(|column| column % 8 == 0).collect();
        Self {
            stops,
            changed: false,
        }
    }

    /// Adds or removes columns. New ones have the usual stops.
    pub(super) fn resize(&mut self, columns: u16) {
        let mut usual = Self::new(columns).stops;
        for (usual, stop) in usual.iter_mut().zip(&self.stops) {
            *usual = *stop;
        }
        self.stops = usual;
    }

    /// Sets a stop.
    pub(super) fn set(&mut self, column: u16) {
        if let Some(stop) = self.stops.get_mut(usize::from(column)) {
            *stop = true;
            self.changed = true;
        }
    }

    /// Clears a stop.
    pub(super) fn clear(&mut self, column: u16) {
        if let Some(stop) = self.stops.get_mut(usize::from(column)) {
            *stop = false;
            self.changed = true;
        }
    }

    /// Clears every stop.
    pub(super) fn clear_all(&mut self) {
        self.stops.fill(false);
        self.changed = true;
    }

    /// Returns the column that `count` tabs from `column` lead to.
    pub(super) fn after(&self, column: u16, count: u16) -> u16 {
        let last = self.stops.len().saturating_sub(1);
        let mut stops = (usize::from(column) + 1..last).filter(|column| self.stops[*column]);
        let column = match usize::from(count).checked_sub(1) {
            Some(skipped) => stops.nth(skipped).unwrap_or(last),
            None => usize::from(column),
        };
        u16::try_from(column).unwrap_or(u16::MAX)
    }

    /// Returns the column that `count` tabs back from `column` lead to.
    pub(super) fn before(&self, column: u16, count: u16) -> u16 {
        let end = usize::from(column).min(self.stops.len());
        let mut stops = (1..end).rev().filter(|column| self.stops[*column]);
        let column = match usize::from(count).checked_sub(1) {
            Some(skipped) => stops.nth(skipped).unwrap_or(0),
            None => usize::from(column),
        };
        u16::try_from(column).unwrap_or(0)
    }

    /// Writes the sequences that set these stops on a terminal with the usual ones. They move
    /// the cursor.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if !self.changed {
            return;
        }
        out.extend_from_slice(b"\x1b[3g");
        for (column, _) in self.stops.iter().enumerate().filter(|(_, stop)| **stop) {
            out.extend_from_slice(format!("\x1b[{}G\x1bH", column + 1).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tabs;

    #[test]
    fn tabs_lead_from_stop_to_stop() {
        let mut tabs = Tabs::new(20);
        assert_eq!(
            [tabs.after(0, 1), tabs.after(7, 1), tabs.after(8, 1)],
            [8, 8, 16]
        );
        assert_eq!([tabs.after(0, 9), tabs.after(19, 1)], [19, 19]);
        assert_eq!(
            [tabs.before(17, 1), tabs.before(16, 1), tabs.before(3, 5)],
            [16, 8, 0]
        );
        tabs.clear(8);
        tabs.set(3);
        assert_eq!([tabs.after(0, 1), tabs.after(3, 1)], [3, 16]);
        let mut out = Vec::new();
        tabs.write(&mut out);
        assert_eq!(out, b"\x1b[3g\x1b[1G\x1bH\x1b[4G\x1bH\x1b[17G\x1bH");
    }
}
