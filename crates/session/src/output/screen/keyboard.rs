//! `Keyboard`: what a program asked the terminal to send for keys.
//!
//! Two protocols: the progressive flags of kitty (`CSI > FLAGS u`), kept on one stack for each
//! screen, and the resources of xterm (`CSI > RESOURCE ; VALUE m`, modifyOtherKeys is 4).

use std::collections::BTreeMap;

use super::screens::Screen;
use super::tokens::Csi;

/// Entries of a stack. kitty itself keeps 8; the oldest one is dropped.
const DEEPEST: usize = 32;
/// xterm has fewer resources.
const MOST_RESOURCES: usize = 8;
/// All flags of kitty.
const ALL_FLAGS: u16 = 0b1_1111;

/// The state of both protocols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Keyboard {
    normal: Flags,
    alternate: Flags,
    /// By resource.
    resources: BTreeMap<u16, u16>,
}

/// The flags of one screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Flags {
    /// In force when nothing is pushed.
    base: u16,
    pushed: Vec<u16>,
}

impl Flags {
    fn current(&self) -> u16 {
        self.pushed.last().copied().unwrap_or(self.base)
    }

    fn set(&mut self, flags: u16) {
        *self.pushed.last_mut().unwrap_or(&mut self.base) = flags & ALL_FLAGS;
    }

    fn push(&mut self, flags: u16) {
        if self.pushed.len() == DEEPEST {
            self.pushed.remove(0);
        }
        self.pushed.push(flags & ALL_FLAGS);
    }

    fn pop(&mut self, count: u16) {
        match self.pushed.len().checked_sub(usize::from(count)) {
            Some(left) => self.pushed.truncate(left),
            // A pop of more than there is turns every flag off.
            None => *self = Self::default(),
        }
    }
}

impl Keyboard {
    /// Records a sequence, if it is of one of the protocols.
    pub(super) fn csi(&mut self, csi: &Csi<'_>, screen: Screen) {
        match csi.kind() {
            [b'>', 0, b'u'] => self.flags_mut(screen).push(csi.number(0)),
            [b'<', 0, b'u'] => self.flags_mut(screen).pop(csi.number_or(0, 1)),
            [b'=', 0, b'u'] => {
                let current = self.flags(screen);
                let flags = match csi.number_or(1, 1) {
                    2 => current | csi.number(0),
                    3 => current & !csi.number(0),
                    _ => csi.number(0),
                };
                self.flags_mut(screen).set(flags);
            }
            [b'>', 0, b'm'] => self.resource(csi),
            _ => {}
        }
    }

    fn resource(&mut self, csi: &Csi<'_>) {
        let Some(resource) = csi.numbers().next().flatten() else {
            self.resources.clear();
            return;
        };
        match csi.numbers().nth(1).flatten() {
            Some(value) if self.resources.len() < MOST_RESOURCES => {
                self.resources.insert(resource, value);
            }
            Some(_) => {}
            None => {
                self.resources.remove(&resource);
            }
        }
    }

    /// Returns the flags of kitty that are in force.
    pub(super) fn flags(&self, screen: Screen) -> u16 {
        match screen {
            Screen::Normal => self.normal.current(),
            Screen::Alternate => self.alternate.current(),
        }
    }

    fn flags_mut(&mut self, screen: Screen) -> &mut Flags {
        match screen {
            Screen::Normal => &mut self.normal,
            Screen::Alternate => &mut self.alternate,
        }
    }

    /// Returns the value of a resource of xterm, 0 if no program set it.
    pub(super) fn resource_value(&self, resource: u16) -> u16 {
        self.resources.get(&resource).copied().unwrap_or(0)
    }

    /// Writes the stack of a screen. The terminal must show that screen, and the stack be
    /// empty.
    pub(super) fn write_flags(&self, screen: Screen, out: &mut Vec<u8>) {
        let flags = match screen {
            Screen::Normal => &self.normal,
            Screen::Alternate => &self.alternate,
        };
        if flags.base != 0 {
            out.extend_from_slice(format!("\x1b[={}u", flags.base).as_bytes());
        }
        for flags in &flags.pushed {
            out.extend_from_slice(format!("\x1b[>{flags}u").as_bytes());
        }
    }

    /// Writes the resources of xterm.
    pub(super) fn write_resources(&self, out: &mut Vec<u8>) {
        for (resource, value) in &self.resources {
            out.extend_from_slice(format!("\x1b[>{resource};{value}m").as_bytes());
        }
    }
}
