//! How fast the readers are: `cargo run --release -p lazaret-validator --features fuzz --example speed`.
//!
//! Each sample is repeated, with other names, up to 15 MiB; a round reads it twice and
//! compares the two, as `judge` does.
#![expect(clippy::print_stdout, reason = "it measures, and says what")]

use std::time::Instant;

use lazaret_validator::fuzz::{lockfile_change, manifest_change};

const MOST: usize = 15 << 20;

/// Text before, a piece in which `NAME` is replaced, and text behind.
type Sample = (&'static str, &'static str, &'static str, &'static str);

const LOCKFILES: &[Sample] = &[
    (
        "cargo.lock",
        "version = 4\n\n",
        "[[package]]\nname = \"NAME\"\nversion = \"1.0.4\"\nsource = \"registry+https://registry.example/index\"\nchecksum = \"9330f8b2ff13f34540b44e946ef35111825727b38d33286ef986142615121801\"\ndependencies = [\n \"cfg-if\",\n \"log\",\n]\n\n",
        "",
    ),
    (
        "package-lock.json",
        "{\n  \"lockfileVersion\": 3,\n  \"packages\": {\n",
        "    \"node_modules/NAME\": {\n      \"version\": \"1.4.0\",\n      \"resolved\": \"https://registry.example/NAME/-/NAME-1.4.0.tgz\",\n      \"integrity\": \"sha512-lNaJgI+2Q5URQBkccEKHTQOPaXdUxnZZElQTZY0MFUAuaEqe1E+Nyvgdz/aIyNi6Z9MzO5dv1H8n58/GELp3+w==\",\n      \"dependencies\": {\n        \"wrappy\": \"1\"\n      }\n    },\n",
        "    \"\": {}\n  }\n}\n",
    ),
    (
        "yarn.lock",
        "# yarn lockfile v1\n\n\n",
        "NAME@^4.0.0, NAME@^4.0.1:\n  version \"4.0.0\"\n  resolved \"https://registry.example/NAME/-/NAME-4.0.0.tgz#19203fb59991df98e3a287050d4647cdeaf32499\"\n  integrity sha512-HV1Cm0Q3ZrpCR93tkWOYiuYIgLxZXZFVG2VgK+MBWjUqZTundupbfx2aXarXuw5Ko5aMcjtJgbSs4vUGBS5v6g==\n  dependencies:\n    js-tokens \"^4.0.0\"\n\n",
        "",
    ),
    (
        "pnpm-lock.yaml",
        "lockfileVersion: '9.0'\n\npackages:\n\n",
        "  'NAME@1.2.3':\n    resolution: {integrity: sha512-iAXqUn8IIeBTNd72xsFlgaHHkMBMt6y4HJp1tIaK465CWLT/fG1aqB7ykr95gHHmlBdGbFeWWfyB4NJJ0nmeIg==}\n    engines: {node: '>=6.9.0'}\n    hasBin: true\n\n",
        "",
    ),
    (
        "uv.lock",
        "version = 1\n\n",
        "[[package]]\nname = \"NAME\"\nversion = \"3.6\"\nsource = { registry = \"https://registry.example/simple\" }\nsdist = { url = \"https://files.example/packages/bf/3f/NAME-3.6.tar.gz\", hash = \"sha256:9ecdbbd083b06798ae1e86adcbfe8ab1479cf864e4ee30fe4e46a003d12491ca\", size = 175426, upload-time = \"2023-11-25T15:40:54.902Z\" }\nwheels = [\n    { url = \"https://files.example/packages/c2/e7/NAME-3.6-py3-none-any.whl\", hash = \"sha256:c05567e9c24a6b9faaa835c4821bad0590fbb9d5779e7caa6e1cc4978e7eb24f\", size = 61567, upload-time = \"2023-11-25T15:40:52.604Z\" },\n]\n\n",
        "",
    ),
    (
        "poetry.lock",
        "",
        "[[package]]\nname = \"NAME\"\nversion = \"3.6\"\ndescription = \"\"\noptional = false\npython-versions = \">=3.5\"\nfiles = [\n    {file = \"NAME-3.6-py3-none-any.whl\", hash = \"sha256:c05567e9c24a6b9faaa835c4821bad0590fbb9d5779e7caa6e1cc4978e7eb24f\"},\n    {file = \"NAME-3.6.tar.gz\", hash = \"sha256:9ecdbbd083b06798ae1e86adcbfe8ab1479cf864e4ee30fe4e46a003d12491ca\"},\n]\n\n",
        "",
    ),
    (
        "go.sum",
        "",
        "code.example/team/NAME v0.3.0 h1:3iQR2kdPzXUYVJyzdbuy7xQFJ+TqXFfNEqfh9Nc7YHk=\ncode.example/team/NAME v0.3.0/go.mod h1:nIfuEdRgNXZfkr8jhUZyCkzSxMYN6DlnpiVMTG5cNd8=\n",
        "",
    ),
    (
        "gemfile.lock",
        "GEM\n  remote: https://registry.example/\n  specs:\n",
        "    NAME (1.7.3)\n      rack (>= 2)\n",
        "\nBUNDLED WITH\n   2.5.4\n",
    ),
];

const MANIFESTS: &[Sample] = &[
    (
        "package.json",
        "{\"dependencies\": {\n",
        "  \"NAME\": \"^1.0.0\",\n",
        "  \"x\": \"1\"\n}}\n",
    ),
    ("cargo.toml", "[dependencies]\n", "NAME = \"1\"\n", ""),
    ("setup.cfg", "[x]\n", "NAME = 1\n", ""),
];

fn main() {
    for (samples, exercise) in [
        (LOCKFILES, lockfile_change as fn(&str, &[u8], &[u8]) -> bool),
        (MANIFESTS, manifest_change),
    ] {
        for (name, head, piece, tail) in samples {
            // Some formats reach their number of values first: half of it, until it reads.
            let mut most = MOST;
            loop {
                let text = sample(head, piece, tail, most);
                let start = Instant::now();
                let read = exercise(name, text.as_bytes(), text.as_bytes());
                let seconds = start.elapsed().as_secs_f64();
                if read {
                    let size = text.len() as f64 / 1e6;
                    // Three readings and two comparisons.
                    println!(
                        "{name:18} {size:5.1} MB in {seconds:5.2} s, {:6.1} MB/s read",
                        3.0 * size / seconds
                    );
                    break;
                }
                println!(
                    "{name:18} {:5.1} MB refused in {seconds:5.2} s",
                    text.len() as f64 / 1e6
                );
                most /= 2;
            }
        }
    }
}

fn sample(head: &str, piece: &str, tail: &str, most: usize) -> String {
    let mut text = head.to_owned();
    let mut n = 0;
    while text.len() < most {
        text.push_str(&piece.replace("NAME", &format!("name{n}")));
        n += 1;
    }
    text.push_str(tail);
    text
}
