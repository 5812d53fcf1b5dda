//! Refs and reflogs, read as strict text: what git would not have written is not understood.

use super::ObjectId;

/// What `HEAD` or a loose ref says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    /// It names an object.
    Object(ObjectId),
    /// It names another ref, which speaks for itself.
    Symbolic,
}

/// One line of a reflog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogLine<'a> {
    pub(super) old: ObjectId,
    pub(super) new: ObjectId,
    /// What was done, and the subject behind it.
    pub(super) message: &'a [u8],
}

/// Reads `HEAD` or a loose ref.
pub(super) fn reference(text: &[u8]) -> Option<Reference> {
    let line = text.strip_suffix(b"\n")?;
    match line.strip_prefix(b"ref: ") {
        Some(name) => is_ref_name(name).then_some(Reference::Symbolic),
        None => ObjectId::from_hex(line).map(Reference::Object),
    }
}

/// Reads `packed-refs`: each ref, in the order of the file.
pub(super) fn packed_refs(text: &[u8]) -> Option<Vec<(&[u8], ObjectId)>> {
    let mut refs: Vec<(&[u8], ObjectId)> = Vec::new();
    for line in lines(text)? {
        match line.split_first() {
            Some((b'#', _)) => {}
            Some((b'^', peeled)) => {
                // It belongs to the ref before it.
                refs.last()?;
                ObjectId::from_hex(peeled)?;
            }
            _ => {
                let (id, name) = split(line, b' ')?;
                let id = ObjectId::from_hex(id)?;
                refs.push((is_ref_name(name).then_some(name)?, id));
            }
        }
    }
    Some(refs)
}

/// Reads a reflog, the oldest line first.
pub(super) fn reflog(text: &[u8]) -> Option<Vec<LogLine<'_>>> {
    lines(text)?.map(log_line).collect()
}

fn log_line(line: &[u8]) -> Option<LogLine<'_>> {
    let (old, rest) = split(line, b' ')?;
    let (new, rest) = split(rest, b' ')?;
    let (who, message) = split(rest, b'\t').unwrap_or((rest, b""));
    // `NAME <EMAIL> SECONDS ZONE`.
    let (_, when) = split(who, b'>')?;
    let mut when = when.strip_prefix(b" ")?.split(|&byte| byte == b' ');
    let (seconds, zone) = (when.next()?, when.next()?);
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let zone = zone
        .strip_prefix(b"+")
        .or_else(|| zone.strip_prefix(b"-"))?;
    let is_time = is_number(seconds) && is_number(zone) && when.next().is_none();
    let (old, new) = (ObjectId::from_hex(old)?, ObjectId::from_hex(new)?);
    let is_sound = is_time && old.as_bytes().len() == new.as_bytes().len();
    is_sound.then_some(LogLine { old, new, message })
}

/// Iterates over lines, each of which ends; `None` where one does not, or holds a NUL byte.
fn lines(text: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let whole = match text.is_empty() {
        true => text,
        false => text.strip_suffix(b"\n")?,
    };
    if text.contains(&0) {
        return None;
    }
    let lines = whole.split(|&byte| byte == b'\n');
    Some(lines.filter(move |_| !text.is_empty()))
}

/// Splits at the first `byte`, which goes.
fn split(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&other| other == byte)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Whether git takes a name for that of a ref (git-check-ref-format(1)). It need not be UTF-8.
pub(super) fn is_ref_name(name: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() || b" ~^:?*[\\".contains(byte);
    let is_component =
        |part: &[u8]| !part.is_empty() && !part.starts_with(b".") && !part.ends_with(b".lock");
    let has = |pair: &[u8]| name.windows(2).any(|window| window == pair);
    name.starts_with(b"refs/")
        && name.len() <= 4096
        && !name.iter().any(is_odd)
        && !has(b"..")
        && !has(b"@{")
        && !name.ends_with(b".")
        && name.split(|&byte| byte == b'/').all(is_component)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";
    const NIL: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn git_26_a_ref_is_an_id_or_the_name_of_another() {
        let read = |text: &str| reference(text.as_bytes());
        let id = ObjectId::from_hex(ID.as_bytes()).map(Reference::Object);
        assert_eq!(read(&format!("{ID}\n")), id);
        assert_eq!(
            id.map(|id| format!("{id:?}")),
            Some(format!("Object({ID})"))
        );
        let long = format!("{ID}{}", &ID[..24]);
        assert!(matches!(
            read(&format!("{long}\n")),
            Some(Reference::Object(_))
        ));
        assert_eq!(read("ref: refs/heads/a\n"), Some(Reference::Symbolic));
        for wrong in [
            "",
            "\n",
            ID,
            &format!("{ID}\n\n"),
            &format!("{ID} \n"),
            &format!("{}\n", &ID[1..]),
            &format!("{}\n", ID.to_uppercase()),
            &format!("{ID}0\n"),
            "ref: HEAD\n",
            "ref: ../../etc/passwd\n",
            "ref: refs/heads/../../x\n",
            "ref: refs/heads/a\nref: refs/heads/b\n",
            "ref: refs/heads/\u{1b}[2J\n",
            "ref: refs/heads/.invalid\n",
            "ref:refs/heads/a\n",
            "\0",
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn git_26_names_of_refs() {
        for name in [
            "refs/heads/a",
            "refs/tags/v1.0",
            "refs/stash",
            "refs/heads/-x",
        ] {
            assert!(is_ref_name(name.as_bytes()), "{name}");
        }
        assert!(is_ref_name(b"refs/heads/\xff"));
        for name in [
            "",
            "HEAD",
            "refs",
            "refs/",
            "refs//a",
            "refs/heads/a/",
            "refs/heads/../a",
            "refs/heads/a..b",
            "refs/heads/.a",
            "refs/heads/a.lock",
            "refs/heads/a.",
            "refs/heads/a b",
            "refs/heads/a\u{7f}",
            "refs/heads/a\nb",
            "refs/heads/a@{1}",
            "refs/heads/a:b",
            "refs/heads/a\\b",
            "/refs/heads/a",
            &format!("refs/heads/{}", "x".repeat(5000)),
        ] {
            assert!(!is_ref_name(name.as_bytes()), "{name:?}");
        }
    }

    #[test]
    fn git_26_packed_refs_are_read_as_a_whole_or_not() {
        let text = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{ID} refs/heads/a\n{ID} refs/tags/v\n^{ID}\n"
        );
        let read = packed_refs(text.as_bytes()).expect("sound");
        let names: Vec<&[u8]> = read.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [&b"refs/heads/a"[..], b"refs/tags/v"]);
        assert_eq!(packed_refs(b""), Some(Vec::new()));
        for wrong in [
            format!("{ID} refs/heads/a"),
            format!("{ID} refs/heads/a\n\n"),
            format!("^{ID}\n"),
            format!("{ID}  refs/heads/a\n"),
            format!("{ID}\trefs/heads/a\n"),
            format!("{ID} refs/heads/a\r\n"),
            format!("{ID} refs/heads/../../x\n"),
            format!("{ID} HEAD\n"),
            format!("{ID}\n"),
            "token refs/heads/a\n".to_owned(),
            format!("{ID} refs/heads/a\0\n"),
            format!("{ID} refs/heads/a\n^token\n"),
            format!("{ID} refs/heads/\u{1b}]52;c;x\u{7}\n"),
        ] {
            assert_eq!(packed_refs(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn git_26_reflogs_are_read_as_a_whole_or_not() {
        let who = "A U Thor <a@example.org> 1700000000 +0100";
        let text = format!("{NIL} {ID} {who}\tcommit (initial): one\ttwo\n{ID} {ID} {who}\n");
        let read = reflog(text.as_bytes()).expect("sound");
        assert_eq!(read.len(), 2);
        assert!(read[0].old.is_zero() && !read[0].new.is_zero());
        assert_eq!(read[0].message, b"commit (initial): one\ttwo");
        assert_eq!(read[1].message, b"");
        assert_eq!(reflog(b""), Some(Vec::new()));
        let escapes = format!("{ID} {ID} {who}\tcommit: \u{1b}[2J\u{202e}\n");
        assert_eq!(reflog(escapes.as_bytes()).map(|lines| lines.len()), Some(1));
        for wrong in [
            "\n".to_owned(),
            format!("{ID} {ID} {who}\tcut"),
            format!("{ID} {ID} no address\tx\n"),
            format!("{ID} {who}\tx\n"),
            format!("{ID} {ID}\n"),
            format!("{ID} {ID} A <a> soon +0100\tx\n"),
            format!("{ID} {ID} A <a> 1 0100\tx\n"),
            format!("{ID} {ID} A <a> 1 +0100 more\tx\n"),
            format!("{ID} {ID}{} {who}\tx\n", &ID[..24]),
            format!("{ID} {ID} {who}\tx\0\n"),
            format!("{who}\tx\n"),
        ] {
            assert_eq!(reflog(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
