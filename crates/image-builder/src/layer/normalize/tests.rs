//! What stays of a system, and what does not.

use super::*;
use std::fmt::Write as _;

fn system(entries: &[(&str, tar::EntryType, u32, &str)]) -> File {
    let mut builder = tar::Builder::new(tempfile::tempfile().unwrap());
    for (path, kind, mode, contents) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        header.set_mtime(u64::from(u32::MAX));
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        if matches!(kind, tar::EntryType::Symlink | tar::EntryType::Link) {
            builder.append_link(&mut header, path, contents).unwrap();
        } else {
            header.set_size(contents.len() as u64);
            builder
                .append_data(&mut header, path, contents.as_bytes())
                .unwrap();
        }
    }
    builder.into_inner().unwrap()
}

fn tidied(entries: &[(&str, tar::EntryType, u32, &str)]) -> Result<String, NormalizeError> {
    let (layer, _) = normalize(&mut system(entries), Vec::new())?;
    let mut text = String::new();
    let mut archive = tar::Archive::new(layer.as_slice());
    for entry in archive.entries()? {
        let mut entry = entry?;
        let header = entry.header().clone();
        let path = entry.path()?.display().to_string();
        let link = entry.link_name()?.map(|link| link.display().to_string());
        let mut contents = String::new();
        entry.read_to_string(&mut contents)?;
        writeln!(
            text,
            "{:?} {path} {:o} {} [{}]",
            header.entry_type(),
            header.mode()?,
            header.mtime()?,
            link.unwrap_or(contents)
        )
        .unwrap();
    }
    Ok(text)
}

#[test]
fn con_03_a_layer_is_sorted_and_holds_nothing_special() {
    use tar::EntryType::{Char, Directory, Link, Regular, Symlink};
    let text = tidied(&[
        ("./", Directory, 0o755, ""),
        ("./usr/", Directory, 0o755, ""),
        ("./usr/su", Regular, 0o4755, "su"),
        ("./usr/a-name-of-su", Link, 0o4755, "./usr/su"),
        ("./tmp/", Directory, 0o1777, ""),
        ("./tmp/left-over", Regular, 0o644, "x"),
        ("./dev/", Directory, 0o755, ""),
        ("./dev/null", Char, 0o666, ""),
        ("./etc/machine-id", Regular, 0o444, "0123456789abcdef"),
        ("./etc/resolv.conf", Regular, 0o644, "nameserver 192.0.2.1"),
        ("./bin", Symlink, 0o777, "usr/bin"),
        ("./usr/share/doc/git/copyright", Regular, 0o644, "GPL"),
        ("./usr/share/doc/git/README", Regular, 0o644, "x"),
    ]);
    insta::assert_snapshot!(text.unwrap(), @"
    Symlink bin 777 1735689600 [usr/bin]
    Directory dev 755 1735689600 []
    Regular etc/machine-id 444 1735689600 []
    Directory tmp 1777 1735689600 []
    Directory usr 755 1735689600 []
    Regular usr/a-name-of-su 755 1735689600 [su]
    Regular usr/share/doc/git/copyright 644 1735689600 [GPL]
    Link usr/su 755 1735689600 [usr/a-name-of-su]
    ");
}

fn changed(entries: &[(&str, tar::EntryType, u32, &str)]) -> Result<String, NormalizeError> {
    let (layer, _) = normalize_changes(&mut system(entries), Vec::new())?;
    let mut archive = tar::Archive::new(layer.as_slice());
    let paths = archive.entries()?.map(|entry| {
        let entry = entry?;
        Ok(entry.path()?.display().to_string())
    });
    let paths: io::Result<Vec<String>> = paths.collect();
    Ok(paths?.join(" "))
}

#[test]
fn a_steps_changes_are_a_layer_without_its_scratch() {
    use tar::EntryType::{Fifo, Regular};
    let text = changed(&[
        ("usr/bin/tool", Regular, 0o4755, "tool"),
        ("usr/lib/a.py", Regular, 0o644, "a"),
        ("usr/lib/__pycache__/a.pyc", Regular, 0o644, "a"),
        ("root/.netrc", Regular, 0o600, "password"),
        ("home/agent/x", Regular, 0o600, "x"),
        ("lazaret/build/ca.pem", Regular, 0o644, "certificate"),
        ("tmp/socket", Fifo, 0o644, ""),
        ("etc/resolv.conf", Regular, 0o644, "nameserver"),
        ("etc/.wh.gone", Regular, 0o600, ""),
        ("tmp/.wh.gone", Regular, 0o600, ""),
        ("etc/.wh.hostname", Regular, 0o600, ""),
        ("lazaret/complete", Regular, 0o600, "11"),
    ]);
    assert_eq!(text.unwrap(), "etc/.wh.gone usr/bin/tool usr/lib/a.py");
}

#[test]
fn changes_that_break_off_are_no_layer() {
    use tar::EntryType::Regular;
    let cut = |count: &str| {
        let entries = [
            ("usr/bin/tool", Regular, 0o755, "tool"),
            ("lazaret/complete", Regular, 0o600, count),
        ];
        changed(&entries).map_err(|error| error.to_string())
    };
    assert_eq!(cut("1").unwrap(), "usr/bin/tool");
    insta::assert_snapshot!(cut("2").unwrap_err(), @r#"the layer has an entry "lazaret/complete" that can't be in an image: the changes break off before it"#);
    assert!(changed(&[("usr/bin/tool", Regular, 0o755, "tool")]).is_err());
}

#[test]
fn what_is_no_debian_system_is_refused() {
    use tar::EntryType::{Fifo, Link, Regular};
    let refusal = |entries: &[_]| tidied(entries).unwrap_err().to_string();
    insta::assert_snapshot!(refusal(&[("./a", Fifo, 0o644, "")]), @r#"the layer has an entry "a" that can't be in an image: neither file, directory nor link"#);
    insta::assert_snapshot!(refusal(&[("./a", Link, 0o644, "./b")]), @r#"the layer has an entry "a" that can't be in an image: a hard link to nothing"#);
    insta::assert_snapshot!(refusal(&[("./a", Regular, 0o644, ""), ("./a", Regular, 0o644, "")]), @r#"the layer has an entry "a" that can't be in an image: it occurs twice"#);
}
