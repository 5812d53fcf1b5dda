//! What an install step changed, as a tar.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use lazaret_tests::tree_text;

/// Runs `script` as a step in `root`; the exit code, and the tar's entries or stderr.
fn layer(root: &Path, only: &[&str], script: &str) -> (i32, String) {
    let mut arguments = vec!["layer".to_owned(), root.display().to_string()];
    for path in only {
        arguments.extend(["--only".to_owned(), (*path).to_owned()]);
    }
    arguments.extend(["--", "/bin/sh", "-ec", script].map(str::to_owned));
    let output = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
        .dir(root)
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()
        .unwrap();
    let code = output.status.code().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    if code != 0 {
        let sent = String::from_utf8_lossy(&output.stdout);
        assert!(
            !sent.contains("lazaret/complete"),
            "a failure is never complete"
        );
        return (code, stderr);
    }
    let mut lines = String::new();
    for entry in tar::Archive::new(output.stdout.as_slice())
        .entries()
        .unwrap()
    {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let link = entry
            .link_name()
            .unwrap()
            .map(|link| link.display().to_string());
        let kind = entry.header().entry_type();
        let mode = entry.header().mode().unwrap();
        let mut contents = String::new();
        entry.read_to_string(&mut contents).unwrap();
        let said = link.unwrap_or(contents);
        lines.push_str(&format!("{kind:?} {path} {mode:o} [{said}]\n"));
    }
    (code, lines)
}

fn root() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    tree_text::build(
        "d etc\nf etc/same \"1\"\nf etc/edited \"1\"\nf etc/gone \"1\"\nd old\nd old/deep\nf old/deep/x \"x\"\nd lazaret\nf lazaret/porter \"p\"\n",
        dir.path(),
    );
    dir
}

#[test]
fn a_step_is_sent_as_what_it_changed() {
    let root = root();
    let script = "echo 22 > etc/edited; rm etc/gone; rm -r old; mkdir -p usr/bin; \
        echo tool > usr/bin/tool; chmod 755 usr/bin/tool; ln usr/bin/tool usr/bin/tool2; \
        ln -s tool usr/bin/link; echo x > lazaret/ours; echo said";
    let (code, said) = layer(root.path(), &[], script);
    assert_eq!(code, 0);
    insta::assert_snapshot!(said, @r"
    Regular etc/edited 644 [22
    ]
    Directory usr 755 []
    Directory usr/bin 755 []
    Symlink usr/bin/link 777 [tool]
    Regular usr/bin/tool 755 [tool
    ]
    Link usr/bin/tool2 755 [usr/bin/tool]
    Regular etc/.wh.gone 600 []
    Regular .wh.old 600 []
    Regular lazaret/complete 600 [8]
    ");
}

#[test]
fn a_rewrite_that_hides_its_time_is_seen() {
    let root = root();
    let (_, said) = layer(
        root.path(),
        &[],
        "printf 2 > etc/same; touch -d @0 etc/same",
    );
    assert!(said.contains("Regular etc/same 644 [2]"), "{said}");
}

#[test]
fn only_what_is_wanted_is_sent() {
    let root = root();
    let script = "mkdir -p usr/bin usr/lib; echo a > usr/bin/a; echo b > usr/lib/b; rm etc/gone";
    let (_, said) = layer(root.path(), &["usr/bin"], script);
    insta::assert_snapshot!(said, @r"
    Directory usr 755 []
    Directory usr/bin 755 []
    Regular usr/bin/a 644 [a
    ]
    Regular lazaret/complete 600 [3]
    ");
}

#[test]
fn a_step_that_fails_sends_nothing() {
    let root = root();
    assert_eq!(
        layer(root.path(), &[], "echo new > new; echo why; exit 3"),
        (3, "why\n".to_owned())
    );
    assert_eq!(layer(root.path(), &[], "kill -9 $$").0, 137);
    fs::write(root.path().join("odd"), "").unwrap();
    let (code, said) = layer(root.path(), &[], "touch .wh.odd");
    assert_eq!(code, 125);
    assert_eq!(
        said,
        "porter: layer: .wh.odd: a name that means a deletion in a layer\n"
    );
}
