//! The readers of lockfiles and manifests, each format by its name, without the rules around
//! them. What must hold of any input is asserted beside the readers, in the validator.

use lazaret_validator::fuzz;

use crate::input::Input;

type Sample = (&'static str, &'static [u8]);

/// A file of the validator's samples, under the name that its format is known by.
macro_rules! sample {
    ($name:literal, $path:literal) => {
        (
            $name,
            include_bytes!(concat!("../../../crates/validator/tests/samples/", $path)).as_slice(),
        )
    };
}

const LOCKFILES: &[Sample] = &[
    sample!(".terraform.lock.hcl", "terraform/.terraform.lock.hcl"),
    sample!("bun.lock", "bun/bun.lock"),
    sample!("cargo.lock", "cargo-1/Cargo.lock"),
    sample!("cargo.lock", "cargo-4/Cargo.lock"),
    sample!("composer.lock", "composer/composer.lock"),
    sample!("deno.lock", "deno-3/deno.lock"),
    sample!("deno.lock", "deno-5/deno.lock"),
    sample!("flake.lock", "flake/flake.lock"),
    sample!("gemfile.lock", "gemfile/Gemfile.lock"),
    sample!("go.sum", "go/go.sum"),
    sample!("mix.lock", "mix/mix.lock"),
    sample!("package-lock.json", "npm-1/package-lock.json"),
    sample!("package-lock.json", "npm-2/package-lock.json"),
    sample!("npm-shrinkwrap.json", "npm-3/npm-shrinkwrap.json"),
    sample!("package.resolved", "swift-1/Package.resolved"),
    sample!("package.resolved", "swift-2/Package.resolved"),
    sample!("packages.lock.json", "nuget/packages.lock.json"),
    sample!("pdm.lock", "pdm-2/pdm.lock"),
    sample!("pdm.lock", "pdm-4/pdm.lock"),
    sample!("pipfile.lock", "pipfile/Pipfile.lock"),
    sample!("pnpm-lock.yaml", "pnpm-5/pnpm-lock.yaml"),
    sample!("pnpm-lock.yaml", "pnpm-6/pnpm-lock.yaml"),
    sample!("pnpm-lock.yaml", "pnpm-9/pnpm-lock.yaml"),
    sample!("poetry.lock", "poetry-1/poetry.lock"),
    sample!("poetry.lock", "poetry-2/poetry.lock"),
    sample!("pubspec.lock", "pubspec/pubspec.lock"),
    sample!("pylock.toml", "pylock/pylock.toml"),
    sample!("uv.lock", "uv-1/uv.lock"),
    sample!(
        "verification-metadata.xml",
        "gradle/verification-metadata.xml"
    ),
    sample!("yarn.lock", "yarn-1/yarn.lock"),
    sample!("yarn.lock", "yarn-berry/yarn.lock"),
];

const MANIFESTS: &[Sample] = &[
    sample!("cargo.toml", "manifests/cargo.toml"),
    sample!("go.mod", "manifests/go.mod"),
    sample!("package.json", "manifests/package.json"),
    sample!("pyproject.toml", "manifests/pyproject.toml"),
    sample!("requirements.txt", "manifests/requirements.txt"),
    sample!("setup.cfg", "manifests/setup.cfg"),
];

pub(crate) const WORDS: &[&[u8]] = &[
    b"\"scripts\": {",
    b"\"postinstall\": \"x\"",
    b"\"dependencies\": {\"a\": \"file:..\"}",
    b"[build-system]\n",
    b"requires = [",
    b"build-backend = ",
    b"[tool.uv]\n",
    b"index-url = ",
    b"[patch.crates-io]\n",
    b"build = \"x.rs\"\n",
    b"[options]\n",
    b"\n  ",
    b"\\u0000",
    b"{",
    b"}",
    b"\xfe",
];

/// The bytes are the number of a name, the contents before up to the first byte 0xFE, and
/// those after.
pub(crate) fn lockfile(bytes: &[u8]) {
    read(
        bytes,
        &fuzz::lockfile_names(),
        fuzz::lockfile,
        fuzz::lockfile_change,
    );
}

/// As [`lockfile`].
pub(crate) fn manifest(bytes: &[u8]) {
    read(
        bytes,
        &fuzz::manifest_names(),
        fuzz::manifest,
        fuzz::manifest_change,
    );
}

fn read(
    bytes: &[u8],
    names: &[&str],
    new: fn(&str, &[u8]) -> bool,
    changed: fn(&str, &[u8], &[u8]) -> bool,
) {
    let mut input = Input(bytes);
    let name = names[usize::from(input.byte()) % names.len()];
    let (before, after) = (input.until(0xfe), input.0);
    // Whether a text can be read does not depend on what was there before.
    assert_eq!(new(name, after), changed(name, before, after), "{name}");
}

pub(crate) fn lockfiles() -> Vec<Vec<u8>> {
    seeds(LOCKFILES, &fuzz::lockfile_names())
}

pub(crate) fn manifests() -> Vec<Vec<u8>> {
    seeds(MANIFESTS, &fuzz::manifest_names())
}

/// Each sample as it is, after itself.
fn seeds(samples: &[Sample], names: &[&str]) -> Vec<Vec<u8>> {
    let number = |name| names.iter().position(|known| *known == name);
    let seed = |&(name, text): &Sample| {
        let number = number(name).expect("the name of a format");
        [&[number as u8][..], text, &[0xfe], text].concat()
    };
    samples.iter().map(seed).collect()
}
