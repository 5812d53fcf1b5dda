//! Many files, a huge file, and a foreign source tree.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::sparse;

scenarios! {
    "round-trip/ten-thousand-files" => ten_thousand_files;
    "round-trip/one-gib-file" => one_gib_file;
    "round-trip/published-crate" => published_crate;
}

/// Makes 10,000 files; a few of them change in every way.
fn ten_thousand_files(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "");
    let mut expected = BTreeMap::new();
    for number in 0..10_000 {
        let (part, index) = (number / 100, number % 100);
        let path = PathBuf::from(format!("part{part:02}/deep/er/file{number:05}.txt"));
        let mut text = format!("{number}\n").repeat(index + 1);
        let at = workspace.join(&path);
        fs::create_dir_all(at.parent().unwrap_or(&workspace)).map_err(|e| e.to_string())?;
        fs::write(&at, &text).map_err(|error| error.to_string())?;
        if index == 77 {
            text.push_str("more\n");
        }
        if part != 99 {
            expected.insert(path, text.into_bytes());
        }
    }
    for number in 0..20 {
        expected.insert(
            PathBuf::from(format!("new/f{number}")),
            format!("{number}\n").into_bytes(),
        );
    }
    let script = "for f in part*/deep/er/*77.txt; do echo more >> $f; done
        rm -r part99; mkdir new; i=0
        while [ $i -lt 20 ]; do echo $i > new/f$i; i=$((i+1)); done";
    applied(ctx, "base", script)?;
    let found = contents(&workspace);
    expect_eq("files", &found.len(), &expected.len())?;
    match found
        .iter()
        .zip(&expected)
        .find(|(one, other)| one != other)
    {
        None => expect("the directory went with its files", || {
            !workspace.join("part99").exists()
        }),
        Some(((found, _), (expected, _))) => expect_eq("a file", found, expected),
    }
}

/// Every file below a directory, by its path from there.
fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let content = |path: PathBuf| {
        let relative = path.strip_prefix(root).ok()?.to_owned();
        Some((relative, fs::read(path).ok()?))
    };
    files(root).into_iter().filter_map(content).collect()
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
    // More than the rules look into is never applied unasked.
    ctx.exits(
        120,
        "run roomy -w project --name s --apply auto",
        "printf x >> big",
    )?
    .expect_text("content.unexamined")?;
    ctx.ok("apply s --yes")?;

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
    let (found, expected) = (contents(&workspace), contents(&expected));
    let name = source.display();
    match found
        .iter()
        .zip(&expected)
        .find(|(one, other)| one != other)
    {
        None => expect_eq(&format!("files of {name}"), &found.len(), &expected.len()),
        Some(((found, _), (expected, _))) => {
            expect_eq(&format!("a file of {name}"), found, expected)
        }
    }
}

fn applied(ctx: &Ctx, profile: &str, script: &str) -> Result<(), String> {
    let output = ctx.exits(
        0,
        &format!("run {profile} -w project --apply auto --json"),
        script,
    )?;
    expect_eq("outcome", &output.json()?["outcome"], "applied")
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
