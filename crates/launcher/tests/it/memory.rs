//! The most memory that a hostile candidate can make the gate take: 256 MiB (P9), more than
//! it takes for one that holds nothing.

use std::fmt::Write as _;
use std::path::Path;

use lazaret_tests::hostile_tar::{Header, TarBuilder};

use crate::support::{TestEnvironment, assert_bounded};

/// Files that are larger are not looked into.
const FILE_BYTES: usize = 16 << 20;

/// A world with an empty base.
fn world() -> TestEnvironment {
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("work/base")).unwrap();
    env
}

#[track_caller]
fn bounded(env: &TestEnvironment, candidate: &str, what: &str) {
    bounded_as(env, candidate, what, &[]);
}

#[track_caller]
fn bounded_as(env: &TestEnvironment, candidate: &str, what: &str, form: &[&str]) {
    let arguments = [&["check", candidate, "--base", "base"], form].concat();
    let outcome = env.run_words(&arguments);
    assert!(matches!(outcome.code, 0 | 120 | 121), "{what}: {outcome}");
    assert_bounded(outcome.most);
}

/// As many statements as the readers take, and a comment up to 16 MiB.
fn lockfile(name: &str, side: char) -> String {
    let (head, count, item, foot): (_, _, fn(&mut String, char, usize), _) = match name {
        "Cargo.lock" => (
            "version = 4\n",
            40_000,
            |text, side, n| {
                let _ = write!(
                    text,
                    "[[package]]\nname=\"{side}\\u0062{n:x}\"\nversion=\"1\\u0062\"\nsource=\"r+H://{n:x}\\u0062\"\n"
                );
            },
            "#",
        ),
        "package-lock.json" => (
            "{\"lockfileVersion\":3,\"packages\":{",
            131_000,
            |text, side, n| {
                let _ = write!(
                    text,
                    "\"node_modules/{side}\\u0062{n:x}\":{{\"version\":\"1\\u0062\",\"resolved\":\"H://{side}{n:x}\\u0062\"}},"
                );
            },
            "\"\":{}}}",
        ),
        "pnpm-lock.yaml" => (
            "lockfileVersion: '9.0'\npackages:\n",
            131_000,
            |text, side, n| {
                let _ = write!(
                    text,
                    " {side}{n:x}@1:\n  resolution: {{tarball: H://{n:x}/}}\n"
                );
            },
            "#",
        ),
        "yarn.lock" => (
            "# yarn lockfile v1\n\n\n",
            131_000,
            |text, side, n| {
                let _ = write!(
                    text,
                    "{side}{n:x}@1:\n  version \"1\"\n  resolved \"H://{n:x}\"\n  integrity a{n}\n"
                );
            },
            "#",
        ),
        "uv.lock" => (
            "version = 1\n[[package]]\nname=\"a\"\nversion=\"1\"\nsource={registry=\"h://x\"}\nwheels=[\n",
            64_900,
            |text, side, n| {
                let _ = writeln!(
                    text,
                    "{{url=\"H://\\u0062{side}{n:x}/\",hash=\"\\u0061{n}\"}},"
                );
            },
            "]\n#",
        ),
        "poetry.lock" => (
            "[[package]]\nname=\"a\"\nversion=\"1\"\nfiles=[\n",
            64_900,
            |text, side, n| {
                let _ = writeln!(text, "{{file=\"{side}\\u0062{n:x}\",hash=\"\\u0061{n}\"}},");
            },
            "]\n[metadata]\nlock-version=\"2.0\"\n#",
        ),
        "bun.lock" => (
            "{\"lockfileVersion\":1,\"packages\":{",
            100_000,
            |text, side, n| {
                let _ = write!(
                    text,
                    "\"{side}\\u0062{n:x}\":[\"{side}\\u0062{n:x}@1\",\"H://{side}{n:x}\",{{}},\"a{n}\"],"
                );
            },
            "}}",
        ),
        "mix.lock" => (
            "%{\n",
            131_000,
            |text, side, n| {
                let _ = writeln!(
                    text,
                    "\"{side}{n:x}\": {{:git, \"H://{n:x}\", \"a{n}\", []}},"
                );
            },
            "}\n",
        ),
        "go.sum" => (
            "",
            131_000,
            |text, side, n| {
                let _ = writeln!(text, "{side}{n:x} v1 h1:a{n}=");
            },
            "",
        ),
        _ => (
            "GEM\n  remote: H://x/\n  specs:\n",
            131_000,
            |text, side, n| {
                let _ = writeln!(text, "    {side}{n:x} (1)");
            },
            "\nPLATFORMS\n  ruby\n",
        ),
    };
    let mut text = head.to_owned();
    (0..count).for_each(|n| item(&mut text, side, n));
    text.push_str(foot);
    let fill = match foot.ends_with('#') {
        true => "x",
        false => "\n",
    };
    let left = FILE_BYTES - text.len();
    text + &fill.repeat(left)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn p9_the_worst_lockfile_of_each_format() {
    for name in [
        "Cargo.lock",
        "package-lock.json",
        "pnpm-lock.yaml",
        "yarn.lock",
        "uv.lock",
        "poetry.lock",
        "go.sum",
        "bun.lock",
        "mix.lock",
        "Gemfile.lock",
    ] {
        let env = world();
        write(&env.path("work/base").join(name), &lockfile(name, 'a'));
        write(&env.path("work/candidate").join(name), &lockfile(name, 'b'));
        bounded(&env, "candidate", name);
    }
}

#[test]
fn p9_three_of_the_worst_at_once() {
    let env = world();
    let name = "package-lock.json";
    let (before, after) = (lockfile(name, 'a'), lockfile(name, 'b'));
    for dir in ["x", "y", "z"] {
        write(&env.path("work/base").join(dir).join(name), &before);
        write(&env.path("work/candidate").join(dir).join(name), &after);
    }
    bounded(&env, "candidate", "three");
}

#[test]
fn p9_tables_that_the_toml_crate_makes_large() {
    let env = world();
    for (side, letter) in [("base", 'a'), ("candidate", 'b')] {
        let keys: String = (0..1_200_000).fold("[metadata]\n".to_owned(), |mut text, n| {
            let _ = writeln!(text, "{letter}{n:x}=0");
            text
        });
        write(&env.path("work").join(side).join("Cargo.lock"), &keys);
    }
    bounded(&env, "candidate", "keys");
}

#[test]
fn p9_large_files_and_many_files() {
    let env = world();
    let attributes = "*.c filter=x diff=y merge=z\n".repeat(FILE_BYTES / 28);
    let many = (0..50_000).fold(TarBuilder::new(), |tar, n| {
        tar.file(format!("src/d{}/f{n}.rs", n / 100), "fn a() {}\n")
    });
    let bombs = [
        ("line", TarBuilder::new().file("line", vec![b'x'; 30 << 20])),
        (
            "attributes",
            TarBuilder::new().file(".gitattributes", attributes),
        ),
        ("many", many),
    ];
    for (name, tar) in bombs {
        let path = env.path("work").join(name);
        std::fs::write(&path, tar.end()).unwrap();
        bounded(&env, name, name);
    }
}

/// One member under a name that is too long for a header's field.
fn long(tar: TarBuilder, name: &str, header: &Header) -> TarBuilder {
    tar.pax(&[("path", name.as_bytes())]).header(header)
}

/// As many entries as there may be, with as much text as names may have, each of which the
/// rules speak of.
#[test]
fn p9_many_long_names_with_findings_each() {
    const ENTRIES: usize = 199_000;
    let env = world();
    let name = |n: usize, end: &str| format!("{n:06}{}{end}", "n".repeat(110 - end.len()));
    let write = |shape: &str, tar: TarBuilder| {
        std::fs::write(env.path("work").join(shape), tar.end()).unwrap();
    };
    let makefile = Header::file("x", 0).mode(0o755);
    let makefiles = (0..ENTRIES).fold(TarBuilder::new(), |tar, n| {
        long(tar, &name(n, ".mk"), &makefile)
    });
    write("makefiles", makefiles);
    bounded(&env, "makefiles", "makefiles");
    bounded_as(&env, "makefiles", "makefiles as JSON", &["--json"]);
    // Words of their own for each: where it leads.
    let link = Header::symlink("x", "/");
    let links = (0..ENTRIES).fold(TarBuilder::new(), |tar, n| long(tar, &name(n, ""), &link));
    write("links", links);
    bounded(&env, "links", "links");
    let file = Header::file("x", 0);
    let dirs = (0..ENTRIES / 2).fold(TarBuilder::new(), |tar, n| {
        long(tar, &format!("{}/.envrc", name(n, "")), &file)
    });
    write("envrc", dirs);
    bounded(&env, "envrc", "envrc");
}
