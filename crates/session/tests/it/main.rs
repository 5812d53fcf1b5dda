//! The screen of a command, against recorded programs and a second emulator.

mod screen;
