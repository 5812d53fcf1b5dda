//! JSON that a terminal shows and does not obey.

/// Writes the control characters that JSON lets stand, DEL and C1, as escapes: a terminal acts on
/// them, and they mean the same.
pub fn inert_json(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    for char in json.chars() {
        match char.is_control() {
            true => line.push_str(&format!("\\u{:04x}", u32::from(char))),
            false => line.push(char),
        }
    }
    line
}
