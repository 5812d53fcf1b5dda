//! Images with their toolchains: built, verified and put to work, on each engine.
//!
//! Layers are made once for all engines; what is measured here is that every engine gets
//! the same image and that its tools work as hardened as in any session.

use std::fs;
use std::path::Path;

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    any engine;
    "image/rust" => rust;
    "image/go" => go;
    "image/node" => node;
    "image/python" => python;
    "image/postgres" => postgres;
    "image/claude" => claude;
    "image/codex" => codex;
    "image/a-verify-that-fails-moves-no-tag" => failing_verify;
    "image/no-source-and-no-trace" => failing_step;
    "image/certificates-leave-no-trace" => certificates;
}

/// Builds an image of lazaret's own, looks that a second build has nothing to do, and
/// verifies it.
fn build(ctx: &Ctx, name: &str) -> Result<(), String> {
    let built = ctx.ok(&format!("image build {name} --json"))?;
    let again = ctx.ok(&format!("image build {name} --json"))?;
    let (built, again) = (built.json()?, again.json()?);
    expect_eq("the same image", &built[0]["id"], &again[0]["id"])?;
    expect_eq("nothing to do", &again[0]["reused"].as_bool(), &Some(true))?;
    let verified = ctx.ok(&format!("image verify {name} --json"))?;
    let verified = verified.json()?;
    let commands = verified[0]["verified"].as_array().map_or(0, Vec::len);
    expect("its tools ran", || commands > 0)
}

/// Runs a command of a profile on a workspace, and wants its output.
fn session(ctx: &Ctx, profile: &str, script: &str, needle: &str) -> Result<(), String> {
    ctx.lazaret(&[
        "run", profile, "-w", "project", "--apply", "never", "--name", "s", "--", "sh", "-ec",
        script,
    ])?
    .output()
    .expect_text(needle)
    .map(drop)
}

/// A published crate of 100 files and more is compiled, and its own tests pass, offline.
fn rust(ctx: &Ctx) -> Result<(), String> {
    build(ctx, "rust")?;
    let source = newest(&ctx.registry(), "libm-")?;
    let project = ctx.workspace("project", "");
    let files = copy_tree(&source, &project)?;
    expect("it has 100 files and more", || files >= 100)?;
    fs::write(
        project.join("Cargo.toml"),
        "[package]\nname = \"libm\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[lib]\ntest = true\n[features]\ndefault = [\"arch\"]\narch = []\nforce-soft-floats = []\nunstable-float = []\n[workspace]\n",
    )
    .map_err(|error| error.to_string())?;
    let script =
        "cargo --offline test --lib 2>&1 | tail -n 3; cargo clippy --version; cargo fmt --version";
    session(ctx, "rust", script, "test result: ok")?;
    // What was compiled.
    ctx.ok("discard s --yes")?;
    Ok(())
}

const GO: &str = r#"package sum

// int sum(int a, int b) { return a + b; }
import "C"

func Sum(a, b int) int { return int(C.sum(C.int(a), C.int(b))) }
"#;

const GO_TEST: &str = r#"package sum

import "testing"

func TestSum(t *testing.T) {
	if Sum(40, 2) != 42 {
		t.Fail()
	}
}
"#;

/// A module that calls C is compiled, and its test passes, offline; `init` names the image.
fn go(ctx: &Ctx) -> Result<(), String> {
    build(ctx, "go")?;
    let workspace = ctx.workspace("project", "f go.mod \"module example.org/sum\\n\"\n");
    for (name, text) in [("sum.go", GO), ("sum_test.go", GO_TEST)] {
        fs::write(workspace.join(name), text).map_err(|error| error.to_string())?;
    }
    session(
        ctx,
        "go",
        "go vet ./...; gofmt -l .; go test -v ./...",
        "--- PASS: TestSum",
    )?;
    // Its cache lasts as long as it.
    ctx.ok("rm s")?;
    let written = ctx.run_json("init -w project --extends base --json")?;
    expect_eq("its image", &written["image"], &"go")?;
    expect_eq("its hosts", &written["allow"][0], &"@go")
}

/// A published package and what its tests need, put into an image of the user's own; the
/// tests run in a copy in the workspace, offline.
fn node(ctx: &Ctx) -> Result<(), String> {
    build(ctx, "node")?;
    begun(ctx)?;
    declare_component(
        ctx,
        "minimist",
        "description = \"x\"\npaths = [\"opt/minimist\"]\nverify = [\"grep version /opt/minimist/package.json\"]\n\
         [[source]]\nname = \"npm\"\ntools = [\"node\"]\ninstall = \"\"\"\ncd /tmp\nnpm pack minimist@1.2.8\n\
         tar -xzf minimist-*.tgz\nmv package /opt/minimist\ncd /opt/minimist\nrm -rf .nyc_output\n\
         npm pkg delete devDependencies scripts\nnpm install --no-save --ignore-scripts tape@5.9.0\n\"\"\"\n",
    );
    let script = "cp -R /opt/minimist .; cd minimist; ls test/*.js | wc -l; \
        node node_modules/tape/bin/tape 'test/*.js' | tail -n 6; cd ..; rm -r minimist";
    package(ctx, "node", "minimist", script, "# pass")
}

/// `init` in a project of npm's: its tests run, and its downloads lie in a volume.
fn begun(ctx: &Ctx) -> Result<(), String> {
    let test = "node -e 'console.log(1 + 1, process.env.npm_config_cache)'";
    let package = serde_json::json!({ "name": "app", "scripts": { "test": test } });
    let workspace = ctx.workspace("app", "");
    fs::write(workspace.join("package.json"), package.to_string())
        .map_err(|error| error.to_string())?;
    let written = ctx.run_json("init -w app --extends base --json")?;
    expect_eq("the image", &written["image"], &"node")?;
    let script = "npm test; mountpoint /caches/npm; echo > /caches/npm/x";
    ctx.exits(0, "run -w app --name s --apply never", script)?
        .expect_text("2 /caches/npm")?
        .expect_text("/caches/npm is a mountpoint")?;
    // The cache lasts as long as its session.
    ctx.ok("rm s")?;
    Ok(())
}

fn python(ctx: &Ctx) -> Result<(), String> {
    build(ctx, "python")?;
    declare_component(
        ctx,
        "simplejson",
        "description = \"x\"\npaths = [\"opt/simplejson\"]\nverify = [\"ls /opt/simplejson/simplejson-3.20.1.dist-info\"]\n\
         [[source]]\nname = \"pypi\"\ntools = [\"python\"]\n\
         install = \"pip install --no-compile --no-deps --target /opt/simplejson simplejson==3.20.1\"\n",
    );
    let script = "cp -R /opt/simplejson/simplejson .; python3 -m unittest discover -s simplejson/tests -t . 2>&1 | tail -n 3; \
        uv --version; rm -r simplejson";
    package(ctx, "python", "simplejson", script, "OK")
}

/// Builds an image of a component that is declared for it, and runs `script` in it.
fn package(
    ctx: &Ctx,
    base: &str,
    component: &str,
    script: &str,
    needle: &str,
) -> Result<(), String> {
    let image = format!("{base}-package");
    declare(
        ctx,
        &image,
        &format!(
            "description = \"x\"\nbase = \"{base}\"\n[build]\nca = \"host\"\n[components]\n{component} = {{}}\n"
        ),
    );
    ctx.profile("own", &format!("image = \"{image}\"\n"));
    ctx.workspace("project", "f a \"a\"");
    session(ctx, "own", script, needle)?;
    ctx.ok(&format!("image rm {image}")).map(drop)
}

fn postgres(ctx: &Ctx) -> Result<(), String> {
    build(ctx, "postgres")?;
    ctx.workspace("project", "f rows.csv \"1\\n2\\n39\\n\"");
    let script = "postgres-serve; psql -h 127.0.0.1 -d postgres -qc 'create table t (n int)'; \
        psql -h 127.0.0.1 -d postgres -qc \"\\\\copy t from rows.csv csv\"; \
        echo sum=$(psql -h 127.0.0.1 -d postgres -Atc 'select sum(n) from t'); postgres-serve stop";
    session(ctx, "postgres", script, "sum=42")
}

fn claude(ctx: &Ctx) -> Result<(), String> {
    build(ctx, "claude")?;
    ctx.workspace("project", "f a \"a\"");
    // The profile of that name wants a key.
    ctx.profile("own", "image = \"claude\"\n");
    session(ctx, "own", "claude --version", "(Claude Code)")
}

fn codex(ctx: &Ctx) -> Result<(), String> {
    build(ctx, "codex")?;
    ctx.workspace("project", "f a \"a\"");
    ctx.profile("own", "image = \"codex\"\n");
    session(ctx, "own", "codex --version", "codex-cli ")
}

/// Declares an image of the user's own.
pub(super) fn declare(ctx: &Ctx, name: &str, toml: &str) {
    let dir = ctx.config().join("images").join(name);
    fs::create_dir_all(&dir).expect("the configuration is writable");
    fs::write(dir.join("image.toml"), toml).expect("the configuration is writable");
}

pub(super) fn declare_component(ctx: &Ctx, name: &str, toml: &str) {
    let dir = ctx.config().join("images/components");
    fs::create_dir_all(&dir).expect("the configuration is writable");
    fs::write(dir.join(format!("{name}.toml")), toml).expect("the configuration is writable");
}

fn listed_state(ctx: &Ctx, name: &str) -> Result<String, String> {
    let listed = ctx.run_json("image ls --json")?;
    let listed = listed.as_array().cloned().unwrap_or_default();
    let found = listed.iter().find(|image| image["name"] == name);
    let state = found.and_then(|image| image["state"].as_str());
    state
        .map(str::to_owned)
        .ok_or_else(|| format!("{name} is not listed"))
}

fn failing_verify(ctx: &Ctx) -> Result<(), String> {
    let wrong = "description = \"x\"\nbase = \"base\"\nverify = [\"echo the reason; exit 3\"]\n";
    declare(ctx, "promises", wrong);
    ctx.lazaret("image build promises")?
        .expect_code(125)?
        .expect_text("the reason")?
        .expect_text("exit code 3")?;
    expect_eq("no tag", &listed_state(ctx, "promises")?, "missing")?;
    ctx.workspace("project", "f a \"a\"");
    ctx.profile("mine", "image = \"promises\"\n");
    ctx.lazaret("run mine -w project -- true")?
        .expect_code(125)?
        .expect_text("the reason")?;
    // What was right before stays: a tag is moved by a good build only.
    declare(
        ctx,
        "promises",
        "description = \"x\"\nbase = \"base\"\nverify = [\"git --version\"]\n",
    );
    ctx.ok("image build promises")?;
    declare(ctx, "promises", wrong);
    ctx.lazaret("image build promises")?.expect_code(125)?;
    expect_eq(
        "the old one is there",
        &listed_state(ctx, "promises")?,
        "stale",
    )?;
    ctx.ok("image rm promises")?;
    expect_eq("it is gone", &listed_state(ctx, "promises")?, "missing")
}

/// Two sources: a site that is not there, and a step that fails after it has done half.
fn failing_step(ctx: &Ctx) -> Result<(), String> {
    declare_component(
        ctx,
        "half",
        "description = \"x\"\nverify = [\"half --version\"]\n\
         [[source]]\nname = \"vendor\"\nreach = \"127.0.0.1:1\"\ninstall = \"true\"\n\
         [[source]]\nname = \"script\"\ninstall = \"echo '#!/bin/sh' > /usr/bin/half; echo no such luck; exit 7\"\n",
    );
    declare(
        ctx,
        "halves",
        "description = \"x\"\nbase = \"base\"\n[components]\nhalf = {}\n",
    );
    let output = ctx
        .lazaret("image build halves")?
        .expect_code(125)?
        .expect_text("127.0.0.1:1 can't be reached")?
        .expect_text("no such luck")?
        .expect_text("exit code 7")?;
    expect("the line that wants it", || {
        output.stderr.contains("image.toml:4")
    })?;
    expect_eq("no tag", &listed_state(ctx, "halves")?, "missing")?;

    declare_component(
        ctx,
        "old",
        "description = \"x\"\nversion = \"9\"\nverify = [\"echo 1.2.3\"]\n\
         [[source]]\nname = \"script\"\ninstall = \"true\"\n",
    );
    declare(
        ctx,
        "olds",
        "description = \"x\"\nbase = \"base\"\n[components]\nold = {}\n",
    );
    ctx.lazaret("image build olds")?
        .expect_code(125)?
        .expect_text("it has version 1.2.3, wanted 9")?;
    Ok(())
}

/// A step sees the host's certificates and proxies, and no layer holds a byte of them.
fn certificates(ctx: &Ctx) -> Result<(), String> {
    const MARK: &str = "LAZARETTESTCERTIFICATE";
    let bundle = ctx.home().join("bundle.pem");
    fs::write(
        &bundle,
        format!("-----BEGIN CERTIFICATE-----\n{MARK}\n-----END CERTIFICATE-----\n"),
    )
    .map_err(|error| error.to_string())?;
    declare_component(
        ctx,
        "looks",
        "description = \"x\"\nverify = [\"test -e /etc/looked && echo 1.0\"]\n\
         [[source]]\nname = \"script\"\ninstall = '''\ngrep -q LAZARETTEST $SSL_CERT_FILE\n\
         test $https_proxy = http://user:hunter2@127.0.0.1:9\nenv > /tmp/env\nenv > /root/env\ntouch /etc/looked\n'''\n",
    );
    declare(
        ctx,
        "looking",
        "description = \"x\"\nbase = \"base\"\n[build]\nca = \"host\"\n[components]\nlooks = {}\n",
    );
    ctx.call("image build looking")
        .env("SSL_CERT_FILE", &bundle.display().to_string())
        .env("https_proxy", "http://user:hunter2@127.0.0.1:9")
        .run()?
        .expect_code(0)?;
    ctx.workspace("project", "f a \"a\"");
    ctx.profile("looking", "image = \"looking\"\n");
    let script = "grep -rlsI -e LAZARETTEST -e hunter2 / --exclude-dir=proc --exclude-dir=sys || echo nothing found";
    session(ctx, "looking", script, "nothing found")?;
    for layer in layers(&ctx.cache())? {
        let bytes = fs::read(&layer).map_err(|error| error.to_string())?;
        for mark in [MARK.as_bytes(), b"hunter2"] {
            let found = bytes.windows(mark.len()).any(|window| window == mark);
            expect("no layer holds it", || !found)?;
        }
    }
    ctx.ok("image rm looking").map(drop)
}

/// The layers of the component `looks` in the cache.
fn layers(cache: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let mut layers = Vec::new();
    let read =
        |path: &Path| fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()));
    for slot in read(&cache.join("lazaret/images"))?.flatten() {
        if slot.file_name().to_string_lossy().starts_with("looks-") && slot.path().is_dir() {
            let files = read(&slot.path())?.flatten().map(|file| file.path());
            layers.extend(files.filter(|file| file.extension().is_some_and(|kind| kind == "tar")));
        }
    }
    match layers.is_empty() {
        true => Err("the cache has no layer of `looks`".to_owned()),
        false => Ok(layers),
    }
}

/// The last of the sources in cargo's registry whose names begin so.
pub(super) fn newest(registry: &Path, prefix: &str) -> Result<std::path::PathBuf, String> {
    let indexes = fs::read_dir(registry).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for index in indexes.flatten() {
        let crates = fs::read_dir(index.path()).map_err(|error| error.to_string())?;
        let crates = crates.flatten().map(|one| one.path());
        found.extend(crates.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
        }));
    }
    found.sort();
    found
        .pop()
        .ok_or_else(|| format!("no source of {prefix} in cargo's registry"))
}

/// Copies regular files and says how many.
pub(super) fn copy_tree(from: &Path, to: &Path) -> Result<usize, String> {
    let mut count = 0;
    for entry in fs::read_dir(from)
        .map_err(|error| error.to_string())?
        .flatten()
    {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).map_err(|error| error.to_string())?;
            count += copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).map_err(|error| error.to_string())?;
            count += 1;
        }
    }
    Ok(count)
}
