//! Git's small text files, with nothing in them but what git needs.

/// Returns a ref or `HEAD`: an object id, or the name of another ref.
pub(crate) fn reference(contents: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(contents).ok()?.trim_end();
    match text.strip_prefix("ref:").map(str::trim_start) {
        Some(name) if is_ref_name(name) => Some(format!("ref: {name}\n").into_bytes()),
        None if is_object_id(text) => Some(format!("{text}\n").into_bytes()),
        _ => None,
    }
}

/// Returns `packed-refs` with the comment that says how it is ordered, and no other. A line
/// that says what a tag comes to goes with the tag's.
pub(crate) fn packed_refs(contents: &[u8]) -> Vec<u8> {
    let mut is_first = true;
    let mut is_kept = false;
    lines(contents, |line| {
        let first = std::mem::take(&mut is_first);
        if let Some(traits) = line.strip_prefix("# pack-refs with:") {
            let mut words = traits.split_whitespace();
            return first && words.all(|word| matches!(word, "peeled" | "fully-peeled" | "sorted"));
        }
        is_kept = match line.strip_prefix('^') {
            Some(peeled) => is_kept && is_object_id(peeled),
            None => line
                .split_once(' ')
                .is_some_and(|(id, name)| is_object_id(id) && is_ref_name(name)),
        };
        is_kept
    })
}

/// Returns `shallow`: one object id in each line.
pub(crate) fn shallow(contents: &[u8]) -> Vec<u8> {
    lines(contents, is_object_id)
}

/// Returns a reflog without addresses: a word of a message that holds one, and may hold a
/// token with it, becomes `…`.
pub(crate) fn reflog(contents: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(contents);
    let mut cleaned = String::new();
    for line in text.lines() {
        let Some((who, message)) = line.split_once('\t') else {
            continue;
        };
        let ids = who.split(' ').take(2).filter(|id| is_object_id(id)).count();
        if ids != 2 || who.contains("://") {
            continue;
        }
        let words = message.split(' ').map(|word| match word.contains("://") {
            true => "…",
            false => word,
        });
        let message: Vec<&str> = words.collect();
        cleaned.push_str(&format!("{who}\t{}\n", message.join(" ")));
    }
    cleaned.into_bytes()
}

/// Keeps the lines that are known; one that is not UTF-8 is the empty line.
fn lines(contents: &[u8], mut known: impl FnMut(&str) -> bool) -> Vec<u8> {
    let lines = contents.split(|&byte| byte == b'\n');
    let lines = lines.map(|line| std::str::from_utf8(line).unwrap_or_default());
    let kept = lines.filter(|line| known(line));
    kept.flat_map(|line| [line, "\n"])
        .collect::<String>()
        .into_bytes()
}

/// SHA-1 or SHA-256, in lower case as git writes it.
pub(crate) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text.as_bytes())
}

pub(crate) fn is_hex(text: &[u8]) -> bool {
    text.iter()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// As git-check-ref-format(1) has it, below `refs/`.
fn is_ref_name(name: &str) -> bool {
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let component =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    name.starts_with("refs/")
        && !name.contains(odd)
        && !name.contains("..")
        && !name.contains("@{")
        && name.split('/').all(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).expect("ASCII")
    }

    #[test]
    fn references() {
        let read = |contents: &str| reference(contents.as_bytes());
        assert_eq!(
            read(&format!("{ID}\n")),
            Some(format!("{ID}\n").into_bytes())
        );
        assert_eq!(
            read("ref:\trefs/heads/a\n"),
            Some(b"ref: refs/heads/a\n".to_vec())
        );
        for wrong in [
            "",
            "token",
            "ref: ../x",
            "ref: refs/heads/../x",
            "ref: refs/a\nb",
            "ref: refs/https://t@x",
            &ID[1..],
            &format!("{ID} token"),
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn packed_refs_lose_comments() {
        let contents = format!(
            "# pack-refs with: peeled fully-peeled sorted \n# token\n{ID} refs/heads/a\n^{ID}\n\
             {ID} token\ntoken refs/heads/b\n# pack-refs with: peeled\n"
        );
        let expected =
            format!("# pack-refs with: peeled fully-peeled sorted \n{ID} refs/heads/a\n^{ID}\n");
        assert_eq!(text(&packed_refs(contents.as_bytes())), expected);
        assert_eq!(
            text(&shallow(format!("{ID}\ntoken\n").as_bytes())),
            format!("{ID}\n")
        );
    }

    #[test]
    fn a_tag_that_stays_out_takes_what_it_comes_to_along() {
        let contents = [
            format!("{ID} refs/tags/a\n").as_bytes(),
            format!("{ID} refs/tags/").as_bytes(),
            b"\xff\n",
            format!("^{ID}\n").as_bytes(),
        ]
        .concat();
        assert_eq!(text(&packed_refs(&contents)), format!("{ID} refs/tags/a\n"));
    }

    #[test]
    fn reflogs_lose_addresses() {
        let line = format!("{ID} {ID} A <a@b> 1 +0000\t");
        let contents = format!("{line}On main: see https://t@x/y now\ntoken\nx y\ttoken\n");
        assert_eq!(
            String::from_utf8(reflog(contents.as_bytes())).expect("UTF-8"),
            format!("{line}On main: see … now\n")
        );
    }
}
