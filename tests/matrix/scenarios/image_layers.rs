//! How images come to be: what is made again and what is not, and what is left when a
//! build ends in the middle.
//!
//! Each scenario has a cache of its own, in which the base's layer is the shared one.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::Value;

use super::image::{declare, declare_component};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::{Ended, Output};

scenarios! {
    any engine;
    "image/only-what-changed-is-made-again" => layers;
    "image/a-build-that-is-killed-leaves-no-image" => killed;
    "image/a-network-cut-and-a-full-disk-are-said" => broken_off;
}

/// A cache with nothing but the base in it.
fn own_cache(ctx: &Ctx, name: &str) -> Result<PathBuf, String> {
    let cache = ctx.home().join(name);
    borrow_base(ctx, &cache)?;
    Ok(cache)
}

/// Lends the base's layer of the shared cache to another one.
fn borrow_base(ctx: &Ctx, cache: &Path) -> Result<(), String> {
    let images = cache.join("lazaret/images");
    fs::create_dir_all(&images).map_err(|error| error.to_string())?;
    let shared = ctx.cache().join("lazaret/images");
    for slot in fs::read_dir(&shared)
        .map_err(|error| error.to_string())?
        .flatten()
    {
        // A component's slot begins with its name.
        let name = slot.file_name().to_string_lossy().into_owned();
        if slot.path().is_dir() && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            std::os::unix::fs::symlink(slot.path(), images.join(&name))
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn build(ctx: &Ctx, cache: &Path, name: &str) -> Result<Ended, String> {
    ctx.call(&format!("image build {name} --json"))
        .env("XDG_CACHE_HOME", &cache.display().to_string())
        .run()
}

fn field(output: &Output, key: &str) -> Result<Value, String> {
    Ok(output.json()?[0][key].clone())
}

/// The components that a build says it installed.
fn installed(output: &Output) -> Vec<String> {
    let lines = output.stderr.lines();
    lines
        .filter_map(|line| {
            let (_, rest) = line.split_once("image layered: ")?;
            rest.strip_suffix(" from script").map(str::to_owned)
        })
        .collect()
}

/// Declares a component. Its hash is this run's own: an image that an earlier run was killed
/// over must not be found.
fn step(ctx: &Ctx, name: &str, text: &str) {
    let mark = ctx.store_id();
    declare_component(
        ctx,
        name,
        &format!(
            "description = \"{mark}\"\nverify = [\"grep {text} /opt/{name} && echo 1.0\"]\n\
             [[source]]\nname = \"script\"\ninstall = \"echo {text} > /opt/{name}\"\n"
        ),
    );
}

fn layers(ctx: &Ctx) -> Result<(), String> {
    for name in ["first", "middle", "last"] {
        step(ctx, name, "one");
    }
    let recipe = "description = \"x\"\nbase = \"base\"\nmax_age = \"1d\"\n\
        [components]\nfirst = {}\nmiddle = {}\nlast = {}\n";
    declare(ctx, "layered", recipe);
    let cache = own_cache(ctx, "one")?;
    let built = build(ctx, &cache, "layered")?.expect_code(0)?;
    expect_eq(
        "all are installed",
        &installed(&built),
        &["first", "middle", "last"].map(str::to_owned).to_vec(),
    )?;
    let again = build(ctx, &cache, "layered")?.expect_code(0)?;
    expect_eq("nothing to do", &field(&again, "reused")?, &true)?;

    // Elsewhere, from nothing: the same bytes. The image goes first, so that it is loaded.
    ctx.ok("image rm layered")?;
    let other = own_cache(ctx, "other")?;
    let twin = build(ctx, &other, "layered")?.expect_code(0)?;
    expect_eq("made anew", &installed(&twin).len(), &3)?;
    expect_eq(
        "the same image",
        &field(&twin, "id")?,
        &field(&built, "id")?,
    )?;

    // The engine has it, and a cache that lost its layers makes them again for the lock.
    let lock = ctx.config().join("images/layered/lock.toml");
    let locks = ctx.config().join("images").display().to_string();
    let bare = own_cache(ctx, "bare")?;
    let locked = ctx
        .call(&["image", "build", "layered", "--json", "--locks", &locks])
        .env("XDG_CACHE_HOME", &bare.display().to_string())
        .run()?
        .expect_code(0)?;
    expect_eq("made for the lock", &installed(&locked).len(), &3)?;
    let text = fs::read_to_string(&lock).map_err(|error| error.to_string())?;
    expect("the lock names the layers", || {
        text.contains("name = \"last\"")
    })?;

    // The lock is a record: another one changes nothing.
    fs::write(&lock, "format = 9\n").map_err(|error| error.to_string())?;
    let same = build(ctx, &cache, "layered")?.expect_code(0)?;
    expect_eq("nothing to do", &field(&same, "reused")?, &true)?;

    step(ctx, "last", "two");
    expect_eq(
        "stale",
        &reason(ctx, &cache)?,
        "its declaration or lazaret has changed",
    )?;
    let changed = build(ctx, &cache, "layered")?.expect_code(0)?;
    expect_eq("from there", &installed(&changed), &vec!["last".to_owned()])?;
    let is_new = field(&changed, "id")? != field(&built, "id")?;
    expect("another image", || is_new)?;

    step(ctx, "middle", "two");
    let changed = build(ctx, &cache, "layered")?.expect_code(0)?;
    let above = ["middle", "last"].map(str::to_owned).to_vec();
    expect_eq("from there", &installed(&changed), &above)?;

    // Two days later, for one layer.
    age(&cache, "middle-", Duration::from_secs(2 * 86_400))?;
    expect_eq(
        "old",
        &reason(ctx, &cache)?,
        "middle is 2 d old, 1 d is the most",
    )?;
    let old = build(ctx, &cache, "layered")?.expect_code(0)?;
    expect_eq("that one", &installed(&old), &vec!["middle".to_owned()])?;
    expect_eq(
        "the same bytes",
        &field(&old, "id")?,
        &field(&changed, "id")?,
    )?;
    expect_eq("young again", &reason(ctx, &cache)?, &Value::Null)?;

    // Stale builds of this configuration go, and what the others share the engine with stays.
    let pruned = ctx
        .call("image prune --json")
        .env("XDG_CACHE_HOME", &cache.display().to_string())
        .run()?
        .expect_code(0)?;
    let pruned = pruned.json()?;
    let images = pruned.as_array().into_iter().flatten();
    let images: Vec<_> = images.filter(|one| one["kind"] == "image").collect();
    expect("two stale builds", || {
        images.len() == 2
            && images.iter().all(|one| {
                let name = one["reference"].as_str().unwrap_or_default();
                name.starts_with("localhost/lazaret/layered:")
            })
    })
    .map_err(|error| format!("{error}: {images:?}"))?;
    ctx.ok("image rm layered")?;
    Ok(())
}

/// Why the image is stale, as `image ls` says it.
fn reason(ctx: &Ctx, cache: &Path) -> Result<Value, String> {
    let listed = ctx
        .call("image ls --json")
        .env("XDG_CACHE_HOME", &cache.display().to_string())
        .run()?
        .expect_code(0)?
        .json()?;
    let listed = listed.as_array().into_iter().flatten();
    let mut found = listed.filter(|image| image["name"] == "layered");
    Ok(found
        .next()
        .map_or(Value::Null, |image| image["reason"].clone()))
}

/// Makes a component's layers look that much older. The newest of them is the one in use.
fn age(cache: &Path, prefix: &str, by: Duration) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    for slot in fs::read_dir(cache.join("lazaret/images"))
        .map_err(failed)?
        .flatten()
    {
        let record = slot.path().join("lock.toml");
        if slot.file_name().to_string_lossy().starts_with(prefix) && record.is_file() {
            let file = fs::File::options()
                .write(true)
                .open(&record)
                .map_err(failed)?;
            file.set_modified(SystemTime::now() - by).map_err(failed)?;
        }
    }
    Ok(())
}

fn killed(ctx: &Ctx) -> Result<(), String> {
    declare_component(
        ctx,
        "slow",
        "description = \"x\"\nverify = [\"test -e /opt/done && echo 1.0\"]\n\
         [[source]]\nname = \"script\"\ninstall = \"echo half > /opt/half; echo at work; sleep 600; touch /opt/done\"\n",
    );
    declare(
        ctx,
        "slowly",
        "description = \"x\"\nbase = \"base\"\n[components]\nslow = {}\n",
    );
    let cache = own_cache(ctx, "one")?;
    let running = ctx
        .call("image build slowly -v")
        .env("XDG_CACHE_HOME", &cache.display().to_string())
        .start()?;
    running.wait_until("the step is at work", Duration::from_secs(120), || {
        running.output_so_far().contains("\nat work\n")
    })?;
    running.signal(Signal::KILL)?;
    running.ends()?;

    // What is there is no image; a container of the step is, and prune knows whose it is.
    let listed = ctx.run_json("image ls --json")?;
    let mut listed = listed.as_array().into_iter().flatten();
    let found = listed.find(|image| image["name"] == "slowly");
    let state = found
        .map(|image| image["state"].clone())
        .unwrap_or_default();
    expect_eq("no image", &state, "missing")?;
    let pruned = ctx
        .call("image prune --json")
        .env("XDG_CACHE_HOME", &cache.display().to_string())
        .run()?
        .expect_code(0)?;
    let text = pruned.json()?.to_string();
    for kind in ["\"container\"", "localhost/lazaret/build:slow-"] {
        expect("the half-built one goes", || text.contains(kind))
            .map_err(|error| format!("{error}: {kind} in {text}"))?;
    }

    // And `run` does not take it for an image either: it builds, and fails as the step does.
    declare_component(
        ctx,
        "slow",
        "description = \"x\"\nverify = [\"echo 1.0\"]\n\
         [[source]]\nname = \"script\"\ninstall = \"test -e /opt/half && echo half is there; echo gave up; exit 3\"\n",
    );
    ctx.workspace("project", "f a \"a\"");
    ctx.profile("mine", "image = \"slowly\"\n");
    let run = ctx
        .call("run mine -w project -- true")
        .env("XDG_CACHE_HOME", &cache.display().to_string())
        .run()?
        .expect_code(125)?
        .expect_text("gave up")?;
    expect("from nothing", || !run.stderr.contains("half is there"))
}

/// A server that ends in the middle of what it has announced, and a cache without room.
fn broken_off(ctx: &Ctx) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let port = listener
        .local_addr()
        .map_err(|error| error.to_string())?
        .port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            // Each client gets a tenth of an answer.
            let _asked = stream.read(&mut request);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: 100000\r\n\r\n";
            let _sent = stream.write_all(head.as_bytes());
            let _sent = stream.write_all(&[b'0'; 10_000]);
        }
    });
    let cache = own_cache(ctx, "one")?;
    declare_component(
        ctx,
        "fetched",
        &format!(
            "description = \"x\"\nverify = [\"echo 1.0\"]\n[[source]]\nname = \"network\"\n\
             install = \"git clone http://127.0.0.1:{port}/x.git /opt/x\"\n"
        ),
    );
    let recipe = |component: &str| {
        format!("description = \"x\"\nbase = \"base\"\n[components]\n{component} = {{}}\n")
    };
    declare(ctx, "cut", &recipe("fetched"));
    let output = ctx
        .call("image build cut")
        .env("XDG_CACHE_HOME", &cache.display().to_string())
        .env("LAZARET_BUILD_NETWORK", "host")
        .run()?
        .expect_code(125)?
        .expect_text("no source gives `fetched`")?
        .expect_text("the install step: it ended with exit code 128")?;
    expect("its last lines", || output.stderr.contains("fatal: "))?;
    expect("the line that wants it", || {
        output.stderr.contains("image.toml:4")
    })?;

    let disk = Tmpfs::mount(&ctx.home().join("small"))?;
    borrow_base(ctx, &disk.path)?;
    declare_component(
        ctx,
        "large",
        "description = \"x\"\nverify = [\"echo 1.0\"]\n[[source]]\nname = \"script\"\n\
         install = \"head -c 40000000 /dev/zero > /opt/large; echo written\"\n",
    );
    declare(ctx, "cut", &recipe("large"));
    let output = build(ctx, &disk.path, "cut")?
        .expect_code(125)?
        .expect_text("No space left on device")?;
    expect("the step", || {
        output.stderr.contains("no source gives `large`")
    })?;
    // Room again: the same cache serves.
    disk.grow()?;
    let built = build(ctx, &disk.path, "cut")?.expect_code(0)?;
    expect_eq("built", &field(&built, "reused")?, &false)?;
    ctx.ok("image rm cut").map(drop)
}

/// A file system of 16 MiB; it goes with this value.
struct Tmpfs {
    path: PathBuf,
}

impl Tmpfs {
    fn mount(path: &Path) -> Result<Self, String> {
        fs::create_dir_all(path).map_err(|error| error.to_string())?;
        let place = path.display().to_string();
        command("mount", &["-t", "tmpfs", "-o", "size=16m", "none", &place])?;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    fn grow(&self) -> Result<(), String> {
        let place = self.path.display().to_string();
        command("mount", &["-o", "remount,size=256m", &place])
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let place = self.path.display().to_string();
        if let Err(error) = command("umount", &["-l", &place]) {
            println!("{error}");
        }
    }
}

fn command(program: &str, arguments: &[&str]) -> Result<(), String> {
    let ended = duct::cmd(program, arguments).run();
    ended
        .map(drop)
        .map_err(|error| format!("{program}: {error}"))
}
