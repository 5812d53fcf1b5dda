//! Many files, a huge file, and a source tree that nobody here wrote.

use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use lazaret_tests::tree_text;

use super::Scenario;
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::sparse;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "round-trip/ten-thousand-files",
        run: ten_thousand_files,
    },
    Scenario {
        name: "round-trip/one-gib-file",
        run: one_gib_file,
    },
    Scenario {
        name: "round-trip/published-crate",
        run: published_crate,
    },
];

/// Makes 10,000 files, and changes 1,200 of them on both ways.
fn ten_thousand_files(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "");
    let expected = ctx.workspace("expected", "");
    for number in 0..10_000 {
        let dir = format!("part{:02}/deep/er", number / 100);
        let name = format!("{dir}/file{number:05}.txt");
        let text = format!("{number}\n").repeat(number % 50 + 1);
        for root in [&workspace, &expected] {
            fs::create_dir_all(root.join(&dir)).map_err(|error| error.to_string())?;
            fs::write(root.join(&name), &text).map_err(|error| error.to_string())?;
        }
        let path = expected.join(&name);
        let changed = match (number / 100, number % 10) {
            (part, _) if part >= 98 => fs::remove_file(&path),
            (_, 7) => fs::write(&path, text + "more\n"),
            _ => Ok(()),
        };
        changed.map_err(|error| error.to_string())?;
    }
    for part in 98..100 {
        let dir = expected.join(format!("part{part}"));
        fs::remove_dir_all(dir).map_err(|error| error.to_string())?;
    }
    for number in 0..20 {
        tree_text::build(&format!("f new/f{number} \"{number}\\n\""), &expected);
    }
    let script = "for f in part*/deep/er/*7.txt; do echo more >> $f; done
        rm -r part98 part99; mkdir new; i=0
        while [ $i -lt 20 ]; do echo $i > new/f$i; i=$((i+1)); done";
    applied(ctx, "base", script)?;
    same(&workspace, &expected)
}

/// A file with something here and there, and much of nothing between.
fn one_gib_file(ctx: &Ctx) -> Result<(), String> {
    const SIZE: u64 = 1 << 30;
    const MARKS: [u64; 5] = [0, 4095, 1 << 20, (1 << 29) + 7, SIZE - 4];
    let workspace = ctx.workspace("project", "f a \"a\"");
    let path = workspace.join("big");
    sparse(&path, SIZE)?;
    let file = File::options()
        .write(true)
        .open(&path)
        .map_err(|error| error.to_string())?;
    for mark in MARKS {
        file.write_all_at(b"mark", mark)
            .map_err(|error| error.to_string())?;
    }
    drop(file);
    ctx.profile(
        "roomy",
        "image = \"base\"\n[gate]\nmax_file_bytes = \"2g\"\nmax_bytes = \"4g\"\n",
    );
    applied(ctx, "roomy", "printf x >> big")?;

    let file = File::open(&path).map_err(|error| error.to_string())?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut expected = vec![0; 1 << 20];
    let mut found = vec![0; 1 << 20];
    for start in (0..SIZE).step_by(1 << 20) {
        expected.fill(0);
        for mark in MARKS {
            for (index, byte) in (mark..).zip(b"mark") {
                if (start..start + (1 << 20)).contains(&index) {
                    expected[(index - start) as usize] = *byte;
                }
            }
        }
        reader
            .read_exact(&mut found)
            .map_err(|error| format!("at {start}: {error}"))?;
        expect(&format!("the MiB at {start} is as it was"), || {
            found == expected
        })?;
    }
    let mut rest = Vec::new();
    reader
        .read_to_end(&mut rest)
        .map_err(|error| error.to_string())?;
    expect_eq("the end", &rest, &b"x".to_vec())
}

/// The same change by a command inside and by plain code on the host.
fn published_crate(ctx: &Ctx) -> Result<(), String> {
    let source = published(&ctx.registry())?;
    let workspace = ctx.workspace("project", "");
    let expected = ctx.workspace("expected", "");
    for root in [&workspace, &expected] {
        copy(&source, root).map_err(|error| format!("{}: {error}", source.display()))?;
    }
    let sources = rust_files(&expected);
    for path in &sources {
        let text = fs::read(path).map_err(|error| error.to_string())?;
        fs::write(path, replaced(&text, b"self", b"this")).map_err(|error| error.to_string())?;
    }
    fs::remove_file(expected.join("Cargo.toml")).map_err(|error| error.to_string())?;
    fs::write(expected.join("ADDED.txt"), "added\n").map_err(|error| error.to_string())?;
    expect("the change changes something", || {
        sources.len() > 50
            && sources
                .iter()
                .any(|path| fs::read(path).is_ok_and(|text| find(&text, b"this").is_some()))
    })?;
    let script = "find . -name '*.rs' -type f -exec sed -i 's/self/this/g' {} +
        rm Cargo.toml; echo added > ADDED.txt";
    applied(ctx, "base", script)?;
    same(&workspace, &expected).map_err(|error| format!("{}: {error}", source.display()))
}

fn applied(ctx: &Ctx, profile: &str, script: &str) -> Result<(), String> {
    let output = ctx
        .lazaret(&[
            "run", profile, "-w", "project", "--apply", "auto", "--json", "--", "sh", "-c", script,
        ])?
        .expect_code(0)?;
    expect_eq(
        "outcome",
        &output.json()?["outcome"].as_str(),
        &Some("applied"),
    )
}

/// The first difference of two trees, which may be large.
fn same(found: &Path, expected: &Path) -> Result<(), String> {
    let (found, expected) = (tree_text::dump(found), tree_text::dump(expected));
    let mut lines = found.lines().zip(expected.lines());
    match lines.find(|(found, expected)| found != expected) {
        None => expect_eq("entries", &found.lines().count(), &expected.lines().count()),
        Some((found, expected)) => expect_eq("an entry", &found, &expected),
    }
}

/// The crate with the most files of those that have 100 to 1,000, most of them Rust, and
/// no rules of their own about what to ignore: all of it is to go in.
fn published(registry: &Path) -> Result<PathBuf, String> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let crates = folders(registry)
        .into_iter()
        .flat_map(|registry| folders(&registry));
    let mut best: Option<(usize, PathBuf)> = None;
    for path in crates {
        let files = files(&path);
        let rust = rust_files(&path).len();
        let ignores = files.iter().any(|path| path.ends_with(".gitignore"));
        let fits = (100..=1000).contains(&files.len()) && rust * 2 > files.len() && !ignores;
        if fits
            && best
                .as_ref()
                .is_none_or(|best| *best < (files.len(), path.clone()))
        {
            best = Some((files.len(), path));
        }
    }
    best.map(|(_, path)| path).ok_or_else(|| {
        format!(
            "no crate of 100 to 1,000 files below {}: cargo has fetched none",
            registry.display()
        )
    })
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

fn rust_files(root: &Path) -> Vec<PathBuf> {
    let mut found = files(root);
    found.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    found
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).expect("it lies below"));
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&path, target)?;
    }
    Ok(())
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len())
        .position(|window| window == needle)
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find(rest, from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    result.extend_from_slice(rest);
    result
}
