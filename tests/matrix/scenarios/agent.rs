//! Real coding agents, end to end: real programs, a scripted model, a real project.
//!
//! The model is ours and speaks TLS with a certificate of its own; everything between it and
//! the agent is what a user gets: the shipped profile, the gateway, the broker. The key is a
//! canary, and is looked for everywhere else (NET-17, NET-22).

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lazaret_tests::model::{Authority, Model, Turn};

use super::image::{copy_tree, declare, newest};
use crate::api;
use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    any engine;
    "agent/claude" => claude;
    "agent/codex" => codex;
}

/// An agent, and what is its own about it.
pub(super) struct Agent {
    /// The component and the shipped profile.
    name: &'static str,
    profile: &'static str,
    pub(super) host: &'static str,
    /// Where the user has the key.
    pub(super) variable: &'static str,
    /// What stands in the shipped profile, and what a scripted model needs instead.
    tuned: (&'static str, &'static str),
    /// The header that carries the key, and what is before the key.
    header: (&'static str, &'static str),
}

pub(super) const CLAUDE: Agent = Agent {
    name: "claude",
    profile: include_str!("../../../profiles/claude.toml"),
    host: "api.anthropic.com",
    variable: "ANTHROPIC_API_KEY",
    tuned: ("", ""),
    header: ("x-api-key", ""),
};

fn claude(ctx: &Ctx) -> Result<(), String> {
    work(ctx, &CLAUDE)
}

fn codex(ctx: &Ctx) -> Result<(), String> {
    work(
        ctx,
        &Agent {
            name: "codex",
            profile: include_str!("../../../profiles/codex.toml"),
            host: "api.openai.com",
            variable: "OPENAI_API_KEY",
            // The tools that are offered depend on the model.
            tuned: ("[\"exec\",", "[\"exec\", \"-m\", \"scripted\","),
            header: ("authorization", "Bearer "),
        },
    )
}

/// Has to be in the way of the key wherever it is searched for: it is not the key.
const PATTERN: &str = "sk-c[a]nary-";

/// Asks the proxy for a host, and prints the first line of its answer.
const ASK: &str = "ask() { exec 3<>/dev/tcp/127.0.0.1/3128; \
    printf 'CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' \"$1\" \"$1\" >&3; head -n 1 <&3; exec 3>&-; }";

fn script(host: &str) -> Vec<Turn> {
    let path = "/workspace/tests/answer.rs".to_owned();
    vec![
        Turn::Read { path: path.clone() },
        Turn::Edit {
            path,
            before: "    41".to_owned(),
            after: "    42".to_owned(),
        },
        // Everything that it can see, before the compiler fills the disk.
        Turn::Shell(format!(
            "echo count=$(cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | \
             grep -c '{PATTERN}')=; \
             echo files=$(grep -rlsI '{PATTERN}' /workspace /egress /tmp ~ /run /etc | tr '\\n' ,)="
        )),
        // Codex's shell is `sh`, which can't connect.
        Turn::Shell(format!(
            "bash << 'END'\n{ASK}; ask not-allowed.test:443; ask {host}:443\nEND"
        )),
        Turn::Shell(
            "cargo test --offline --lib --test answer 2>&1 | grep -e 'test result' -e error"
                .to_owned(),
        ),
        Turn::Shell(
            "git -c user.name=Agent -c user.email=agent@example.org commit -qam 'Answer right' \
             && git log --format=committed:%s -1"
                .to_owned(),
        ),
    ]
}

fn work(ctx: &Ctx, agent: &Agent) -> Result<(), String> {
    let key = format!("sk-canary-{}-{}-0123456789", agent.name, ctx.engine());
    let project = project(ctx)?;
    let address = address_of_this_host()?;
    let authority = Authority::new("a test's authority");
    let found: Arc<Mutex<Vec<String>>> = Arc::default();
    let watch = {
        let (found, key, state) = (Arc::clone(&found), key.clone(), ctx.state());
        let socket = ctx.engine().socket();
        move |done: usize| {
            if done == 3 {
                let seen = outside(&socket, &state, &key).unwrap_or_else(|error| vec![error]);
                found.lock().expect("no thread panicked").extend(seen);
            }
        }
    };
    // The brokered port differs from run to run, and so is only known to the profile.
    let port_later = |port: u16| format!("{}:{port}", agent.host);
    let model = Model::start("0.0.0.0", &authority, agent.host, script(agent.host), watch)
        .map_err(|error| format!("the model's server: {error}"))?;
    let target = port_later(model.port());
    configure(ctx, agent, &target, address, &authority)?;
    let image = format!("{}-and-rust", agent.name);
    declare(
        ctx,
        &image,
        &format!(
            "description = \"x\"\nbase = \"base\"\n[build]\nca = \"host\"\n[components]\ncc = {{}}\n\
             rust = {{}}\n{} = {{}}\n",
            agent.name
        ),
    );
    ctx.ok(&format!("image build {image}"))?;
    let ended = ctx
        .call(&[
            "run",
            "agent",
            "--image",
            &image,
            "-w",
            "project",
            "--name",
            "s",
            "--apply",
            "auto",
            "--prompt",
            "Make the tests pass, and commit.",
        ])
        .env(agent.variable, &key)
        .run()?;
    let requests = model.requests();
    let talk: String = requests.iter().map(|request| request.text()).collect();
    let explain = |error: String| format!("{error}\n--- the model heard\n{}", tail(&talk));
    // What it changed is applied; what it committed waits in its copy.
    let ended = ended.expect_code(120).map_err(explain)?;
    let ended = ended
        .expect_text("branch main: 1 commit")
        .map_err(explain)?;
    ended.expect_text("All of it is done.").map_err(explain)?;
    // What it was told to do, it did.
    for needle in [
        // Inside, the key was found nowhere.
        "count=0=",
        "files==",
        "test result: ok",
        "committed:Answer right",
        "HTTP/1.1 403",
    ] {
        expect(needle, || talk.contains(needle)).map_err(explain)?;
    }
    let answer = fs::read_to_string(project.join("tests/answer.rs"));
    let answer = answer.map_err(|error| error.to_string())?;
    expect("the change is applied", || answer.contains("42"))?;
    // Every request of the conversation had the key, and none the placeholder.
    let (header, prefix) = agent.header;
    let posts = requests.iter().filter(|request| request.method == "POST");
    for request in posts {
        let carried = request.header(header).map(str::to_owned);
        expect_eq("the key", &carried, &Some(format!("{prefix}{key}")))?;
    }
    expect("no placeholder", || !talk.contains("lazaret-placeholder"))?;
    let bodies: String = requests
        .iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    expect("the key is in no conversation", || !bodies.contains(&key))?;
    let found = found.lock().expect("no thread panicked").clone();
    expect_eq("places of the key outside", &found, &Vec::<String>::new())?;
    // Both refusals are in the log, with their reasons.
    let log = ctx.ok("policy log s")?;
    log.expect_text("not-allowed.test:443")?
        .expect_text(agent.host)?;
    let mut left = Vec::new();
    search(&ctx.state(), &key, &mut left)?;
    expect_eq("files with the key", &left, &Vec::<PathBuf>::new())?;
    ctx.ok("rm --force s")?;
    ctx.ok(&format!("image rm {image}")).map(drop)
}

fn tail(text: &str) -> String {
    let characters: Vec<char> = text.chars().rev().take(6000).collect();
    characters.into_iter().rev().collect()
}

/// A published crate of 100 files and more, with a test that fails, in a repository.
fn project(ctx: &Ctx) -> Result<PathBuf, String> {
    let source = newest(&ctx.registry(), "libm-")?;
    let project = ctx.workspace("project", "");
    let files = copy_tree(&source, &project)?;
    expect("it has 100 files and more", || files >= 100)?;
    let write = |name: &str, text: &str| {
        let path = project.join(name);
        let made = fs::create_dir_all(path.parent().unwrap_or(&project));
        made.and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"libm\"\nversion = \"0.0.0\"\nedition = \"2021\"\nautobenches = false\n\
         autoexamples = false\n[lib]\ntest = true\n[features]\ndefault = [\"arch\"]\narch = []\n\
         force-soft-floats = []\nunstable-float = []\n[workspace]\n",
    )?;
    write(
        "Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"libm\"\nversion = \"0.0.0\"\n",
    )?;
    write(
        "tests/answer.rs",
        "fn answer() -> u32 {\n    41\n}\n\n#[test]\nfn the_answer() {\n    assert_eq!(answer(), 42);\n}\n",
    )?;
    write(".gitignore", "/target\n")?;
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-qm", "Begin"],
    ] {
        let git = [
            &[
                "-c",
                "user.name=U",
                "-c",
                "user.email=u@example.org",
                "-c",
                "commit.gpgSign=false",
            ],
            arguments,
        ];
        let output = duct::cmd("git", git.concat())
            .dir(&project)
            .stderr_to_stdout()
            .stdout_capture()
            .unchecked()
            .run()
            .map_err(|error| format!("git: {error}"))?;
        expect(&String::from_utf8_lossy(&output.stdout), || {
            output.status.success()
        })?;
    }
    Ok(project)
}

/// Makes the shipped profile `agent`, with the model's port, and says where its name leads here.
pub(super) fn configure(
    ctx: &Ctx,
    agent: &Agent,
    target: &str,
    address: Ipv4Addr,
    authority: &Authority,
) -> Result<(), String> {
    let shipped = format!("{}:443", agent.host);
    expect("the profile names its host", || {
        agent.profile.contains(&shipped) && agent.profile.contains(agent.tuned.0)
    })?;
    let profile = agent.profile.replace(&shipped, target);
    let profile = match agent.tuned {
        ("", _) => profile,
        (shipped, tuned) => profile.replace(shipped, tuned),
    };
    ctx.profile("agent", &profile);
    let ca = ctx.config().join("ca.pem");
    let network = format!(
        "private_networks = [\"{address}/32\"]\nca = \"{}\"\n[hosts]\n\"{}\" = \"{address}\"\n",
        ca.display(),
        agent.host
    );
    fs::write(&ca, authority.pem())
        .and_then(|()| fs::write(ctx.config().join("network.toml"), network))
        .map_err(|error| error.to_string())
}

/// An address of this host that a container can reach: the one that it would send from.
/// Nothing is sent.
pub(super) fn address_of_this_host() -> Result<Ipv4Addr, String> {
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(|error| error.to_string())?;
    // TEST-NET-3 (RFC 5737) is anywhere but here.
    let routed = socket
        .connect("203.0.113.1:9")
        .and_then(|()| socket.local_addr());
    match routed.map(|address| address.ip()) {
        Ok(std::net::IpAddr::V4(address)) if !address.is_loopback() => Ok(address),
        // Without a route outward: the bridge of Docker's default network.
        _ => Ok(Ipv4Addr::new(172, 17, 0, 1)),
    }
}

/// Where the key is, of all that can be seen from outside while the agent works.
pub(super) fn outside(socket: &Path, state: &Path, key: &str) -> Result<Vec<String>, String> {
    let mut places = Vec::new();
    let mut look = |place: String, text: &str| {
        if text.contains(key) {
            places.push(place);
        }
    };
    let store = fs::read_to_string(state.join("store-id")).map_err(|error| error.to_string())?;
    let objects = api::labelled(socket, &format!("io.lazaret.store={}", store.trim()))?;
    let mut seen = 0;
    for object in &objects {
        let path = match object {
            api::Object::Container { id, .. } => format!("/containers/{id}/json"),
            api::Object::Volume { name } => format!("/volumes/{name}"),
        };
        // One may just be going.
        let Ok(found) = api::get(socket, &path) else {
            continue;
        };
        seen += 1;
        look(object.to_string(), &found.to_string());
        if let Some(image) = found["Image"].as_str() {
            let history = api::get(socket, &format!("/images/{image}/history"))?;
            look(format!("history of {image}"), &history.to_string());
        }
    }
    if seen < 4 {
        return Err(format!(
            "only {seen} of two containers and two volumes were seen"
        ));
    }
    let processes = fs::read_dir("/proc").map_err(|error| error.to_string())?;
    for process in processes.flatten() {
        let read = |file: &str| {
            let bytes = fs::read(process.path().join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let name = process.file_name().to_string_lossy().into_owned();
        look(format!("arguments of process {name}"), &read("cmdline"));
        let program = fs::read_link(process.path().join("exe")).unwrap_or_default();
        let is_lazaret = program.file_name().is_some_and(|name| name == "lazaret");
        if !is_lazaret {
            look(format!("environment of process {name}"), &read("environ"));
        }
    }
    let mut files = Vec::new();
    search(state, key, &mut files)?;
    places.extend(files.iter().map(|file| file.display().to_string()));
    Ok(places)
}

/// Adds the files below `dir` that hold `key`.
pub(super) fn search(dir: &Path, key: &str, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let kind = entry.file_type().map_err(|error| error.to_string())?;
        if kind.is_dir() {
            let searched = search(&path, key, found);
            // A session's directory gets its name once the session has begun.
            if path.exists() {
                searched?;
            }
        } else if kind.is_file() {
            // Files come and go while a session runs.
            let bytes = fs::read(&path).unwrap_or_default();
            if bytes
                .windows(key.len())
                .any(|window| window == key.as_bytes())
            {
                found.push(path);
            }
        }
    }
    Ok(())
}
