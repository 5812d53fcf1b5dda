//! Recordings of real programs, cut at many places.
//!
//! `tests/recordings/*.raw` hold what the program wrote to a terminal of 80 columns and 24 rows.

use super::terminal::{Attach, SIZE};

const CUTS: usize = 40;

#[track_caller]
fn check(name: &str, recording: &[u8]) {
    for cut in 1..=CUTS {
        let (before, after) = recording.split_at(recording.len() * cut / CUTS);
        let mut attach = Attach::after(before, SIZE);
        attach.check(&format!("{name} at cut {cut}"));
        // All that follows draws the same, and the screen behind it is there.
        attach.show(after);
        attach.check(&format!("the end of {name} after cut {cut}"));
        attach.show(b"\x1b[?1049l");
        attach.check(&format!("the normal screen of {name} after cut {cut}"));
    }
}

#[test]
fn an_attached_terminal_shows_vim_as_one_that_saw_all() {
    check("vim", include_bytes!("../../recordings/vim.raw"));
}

#[test]
fn an_attached_terminal_shows_less_as_one_that_saw_all() {
    check("less", include_bytes!("../../recordings/less.raw"));
}

#[test]
fn an_attached_terminal_shows_top_as_one_that_saw_all() {
    check("top", include_bytes!("../../recordings/top.raw"));
}

#[test]
fn an_attached_terminal_shows_tmux_as_one_that_saw_all() {
    check("tmux", include_bytes!("../../recordings/tmux.raw"));
}

#[test]
fn an_attached_terminal_shows_bash_as_one_that_saw_all() {
    check("bash", include_bytes!("../../recordings/bash.raw"));
}
