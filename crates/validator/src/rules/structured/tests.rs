//! The readers of JSON, TOML, YAML and INI: what they take, and what they refuse.

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::{Data, Document, MOST_VALUES, Unreadable, Value, ini, json, line_of, toml, yaml};

/// Renders a document, or why there is none.
fn show(text: &str, read: for<'a> fn(&'a str) -> Result<Document<'a>, Unreadable>) -> String {
    let document = match read(text) {
        Ok(document) => document,
        Err(why) => {
            let line = why.at.map_or(0, |at| line_of(text, at));
            return format!("! {line}: {why}");
        }
    };
    let mut out = String::new();
    render(&document.root, &mut out);
    for repeated in &document.repeated {
        let line = line_of(text, repeated.at);
        write!(out, " ! {line}: {} repeated", repeated.key).unwrap();
    }
    out
}

fn render(value: &Value<'_>, out: &mut String) {
    match &value.data {
        Data::Text(text) => write!(out, "{text:?}").unwrap(),
        Data::Bare(word) => out.push_str(word),
        Data::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                render(item, out);
            }
            out.push(']');
        }
        Data::Table(entries) => {
            out.push('{');
            for (i, (key, value)) in entries.iter().enumerate() {
                write!(out, "{}{key}: ", if i > 0 { ", " } else { "" }).unwrap();
                render(value, out);
            }
            out.push('}');
        }
    }
}

#[test]
fn json_values_and_lines() {
    assert_snapshot!(show(r#"{"a": [1, -2, 1e300, true, null], "b": {"c": "\u0041\n"}}"#, json::read), @r#"{a: [1, -2, 1e300, true, null], b: {c: "A\n"}}"#);
    let text = "{\n \"a\": 1,\n \"\\u0062\": {\n  \"c\": 2\n }\n}";
    let document = json::read(text).unwrap();
    let lines = |value: &Value<'_>| -> Vec<u32> {
        value
            .entries()
            .iter()
            .map(|(_, value)| line_of(text, value.at))
            .collect()
    };
    // An escaped key has no place of its own; the one before is near enough.
    assert_eq!(lines(&document.root), [2, 2]);
    assert_eq!(lines(document.root.get("b").unwrap()), [4]);
}

#[test]
fn json_hostile() {
    for text in [
        "",
        "{",
        "{\"a\": 1,}",
        "[1] 2",
        "{'a': 1}",
        "{\"a\": \"\\ud800\"}",
        "\u{feff}{}",
        "{\"a\": \"\t\"}",
        "// x\n{}",
        "NaN",
        "{\"a\" 1}",
    ] {
        assert!(show(text, json::read).starts_with('!'), "{text:?}");
    }
    assert_snapshot!(show(&"[".repeat(1 << 20), json::read), @"! 1: is not well-formed JSON");
    assert_snapshot!(show(&"{\"a\":".repeat(1 << 18), json::read), @"! 1: is not well-formed JSON");
    let deepest = format!("{}{}", "[".repeat(127), "]".repeat(127));
    assert!(json::read(&deepest).is_ok());
    assert_snapshot!(show(&format!("[{}0]", "0,".repeat(MOST_VALUES)), json::read), @"! 1: has too many values");
    assert_snapshot!(show(r#"{"a": 1, "b": 2, "\u0061": {"c": 1, "c": 1}}"#, json::read), @"{a: 1, b: 2, a: {c: 1, c: 1}} ! 1: c repeated ! 1: a repeated");
    let long = format!("{{\"{}\": 1}}", "k".repeat(1 << 20));
    assert!(json::read(&long).is_ok());
}

#[test]
fn toml_values() {
    assert_snapshot!(show("b = 1\n[a]\nx.y = ['1', { z = true }]\n[[t]]\n[[t]]\nd = 1979-05-27\n", toml::read), @r#"{a: {x: {y: ["1", {z: true}]}}, b: 1, t: [{}, {d: 1979-05-27}]}"#);
}

#[test]
fn toml_hostile() {
    for text in [
        "a",
        "a = 1\na = 2\n",
        "[a]\n[a]\n",
        "a = 1\n[a]\n",
        "a = \"\n",
        "[[a]]\n[a]\n",
    ] {
        assert!(show(text, toml::read).starts_with('!'), "{text:?}");
    }
    assert_snapshot!(show(&format!("a = {}", "[".repeat(1 << 20)), toml::read), @"! 1: has too many values");
    assert_snapshot!(show(&format!("a = {}", "[".repeat(1 << 10)), toml::read), @"! 1: is not well-formed TOML");
    assert_snapshot!(show(&format!("{}a = 1", "a.".repeat(1 << 12)), toml::read), @"! 0: is not well-formed TOML");
    let tables: String = (0..1 << 17).map(|n| format!("[[a]]\nb={n}\n")).collect();
    assert_snapshot!(show(&tables, toml::read), @"! 105517: has too many values");
    assert_snapshot!(show(&format!("a = [{}]", "0,".repeat(5 << 20)), toml::read), @"! 1: has too many values");
}

#[test]
fn yaml_values() {
    assert_snapshot!(show("# x\na: 1\n'b c':\n  d: \"x\\\"\\u0041\"\n\n  e: {f: 'it''s', g: [h, 'i'], j: {}}\n  k:\nl:\n  - m\n  - 'n'\n", yaml::read), @r#"[{a: "1", b c: {d: "x\"A", e: {f: "it's", g: ["h", "i"], j: {}}, k: null}, l: ["m", "n"]}]"#);
    assert_snapshot!(show("a: https://x.example/y#z\nb: x:y\r\nc: >-\r\n  text: 1\r\n\r\n  more\r\nd: |2-\n   x\ne: []\n", yaml::read), @r#"[{a: "https://x.example/y#z", b: "x:y", c: |, d: |, e: []}]"#);
    assert_snapshot!(show("---\na: 1\n---\nb: 2\n", yaml::read), @r#"[{a: "1"}, {b: "2"}]"#);
    assert_snapshot!(show("? 'a'\n: 1\n? b\n:\n  c: 2\n", yaml::read), @r#"[{a: "1", b: {c: "2"}}]"#);
    assert_snapshot!(show("a: 1\nb: {c: 1, c: 2}\na: 3\n", yaml::read), @r#"[{a: "1", b: {c: "1", c: "2"}, a: "3"}] ! 2: c repeated ! 3: a repeated"#);
}

/// Whatever readers could take differently is refused.
#[test]
fn yaml_refuses() {
    for text in [
        "a: &x 1\nb: *x\n",
        "&x a: 1\n",
        "a: *x\n",
        "<<: x\n",
        "'<<': x\n",
        "a: !!str 1\n",
        "%YAML 1.2\n---\n",
        "a: 1\n b: 2\n",
        "a:\n  b: 1\n c: 2\n",
        " a: 1\n",
        "a: b: c\n",
        "a: b #c\n",
        "a\n",
        "a: 'b\n",
        "a: \"b\n",
        "a: \"\\x41\"\n",
        "a: 'b' c\n",
        "a: {b\n",
        "a: {b: c\n",
        "a: {b: c}}\n",
        "a: [b\n",
        "a: {b}\n",
        "a: {b:}\n",
        "a: {b:c}\n",
        "a: {b: *c}\n",
        "\ta: 1\n",
        "a:\t1\n",
        "a: 1\rb: 2\n",
        "a: 1\u{85}b: 2\n",
        "a: 1\u{2028}b: 2\n",
        "a: \u{1}\n",
        "a: 1\n...\n",
        "a: - b\n",
        "- a\n",
        "a:\n  - b: c\n",
        "a:\n  - - b\n",
        "a:\n- b\n",
        "a: |x\n  b\n",
        "a: @b\n",
        "a: b\n  c\n",
        "? a\nb: 1\n",
        "? a\n",
        "? a: b\n: c\n",
        "a: {b: c} d\n",
        "a:b\n",
        ": a\n",
        "- \n",
        "a: {b: c:}\n",
        "'a'b: c\n",
        "a: \u{feff}\n",
        "{a: b}\n",
        "--- a\n",
        "a: ,b\n",
        "a: 1\n--- b\n",
    ] {
        let shown = show(text, yaml::read);
        // A list is no document of any lockfile, and is refused there.
        assert!(
            shown.starts_with('!') || text == "- a\n",
            "{text:?}: {shown}"
        );
    }
}

#[test]
fn yaml_hostile() {
    let deep: String = (0..1000)
        .map(|n| format!("{}a:\n", " ".repeat(n)))
        .collect();
    assert_snapshot!(show(&deep, yaml::read), @"! 66: is nested too deeply");
    assert_snapshot!(show(&format!("a: {}", "[".repeat(1 << 20)), yaml::read), @"! 1: is nested too deeply");
    assert_snapshot!(show(&format!("a: {}", "{a: ".repeat(1 << 18)), yaml::read), @"! 1: is nested too deeply");
    assert_snapshot!(show(&format!("a: [{}b]", "b,".repeat(MOST_VALUES)), yaml::read), @"! 1: has too many values");
    assert_snapshot!(show("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", yaml::read), @"! 1: holds an anchor or an alias");
    assert_snapshot!(show(&format!("a: '{}", "''".repeat(1 << 20)), yaml::read), @"! 1: has a quote that does not end");
    assert_snapshot!(show(&format!("{}: 1", "k".repeat(1 << 20)), |text| {
        yaml::read(text).map(|document| Document { root: Value::new(0, Data::Bare("read".into())), ..document })
    }), @"read");
}

#[test]
fn ini_values() {
    assert_snapshot!(show("[a]\nB = 1\n  2\n\n  3\n# x\nc: d = e\n[a:b]\n", ini::read), @r#"{a: {b: "1\n2\n3", c: "d = e"}, a:b: {}}"#);
    assert_snapshot!(show("a = 1\n", ini::read), @"! 1: stands before any section");
    assert_snapshot!(show("[a\n", ini::read), @"! 1: is no section");
    assert_snapshot!(show("[a]\nb\n", ini::read), @"! 2: is no key with a value");
    assert_snapshot!(show("[a]\nb = 1\nB = 2\n[a]\n", ini::read), @r#"{a: {b: "1", b: "2"}, a: {}} ! 3: b repeated ! 4: a repeated"#);
}
