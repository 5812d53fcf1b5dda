//! `LEAVE`: gives a terminal back after a command, a review or an attach client had it.

/// Undoes what the filter lets a command do to a terminal, from any state.
///
/// The order matters:
/// - kitty keeps one stack of keyboard flags for each screen, so the flags are popped on both
///   sides of `?1049l`;
/// - `?69l` and `CSI r` reset the margins and move the cursor home, and `?1049l` moves it to
///   where it was saved, so its place is saved before each of them.
///
/// On the normal screen the cursor stays where it is. Origin mode stays too: to turn it off
/// moves the cursor, and without margins it has no effect.
pub const LEAVE: &[u8] = b"\x1b[?2026l\x1b[<99u\x1b7\x1b[?69l\x1b[r\x1b8\x1b7\x1b[?1049l\
    \x1b[<99u\x1b[=0u\x1b[>4;0m\
    \x1b[?9;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004;2031;2048l\
    \x1b[?1;5;45;66l\x1b[?7;8h\x1b>\x1b[4l\x1b[20l\x1b[?5W\x1b(B\x1b)B\x0f\x1b[0 q\x1b[0m\x1b[?25h";

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::LEAVE;

    fn given_back(output: &str) -> vt100::Parser {
        let size = |cells| NonZeroU16::new(cells).expect("not zero");
        let mut terminal = vt100::Parser::new(size(5), size(20), 0);
        terminal.process(output.as_bytes());
        terminal.process(LEAVE);
        terminal
    }

    #[test]
    fn the_screen_of_before_comes_back_with_its_cursor() {
        let terminal = given_back("$ vim\r\n\x1b[?1049h\x1b[2;4r\x1b[?25l\x1b[31mtext");
        let screen = terminal.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        assert_eq!(screen.contents(), "$ vim");
        assert_eq!(screen.cursor_position(), (1, 0));
        assert_eq!(screen.fgcolor(), vt100::Color::Default);
    }

    #[test]
    fn on_the_normal_screen_the_cursor_stays() {
        let terminal = given_back("one\r\ntwo\x1b[?1000;1006;2004h\x1b=\x1b[?1h");
        let screen = terminal.screen();
        assert_eq!(screen.cursor_position(), (1, 3));
        assert!(!screen.bracketed_paste() && !screen.application_keypad());
        assert!(!screen.application_cursor());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    }
}
