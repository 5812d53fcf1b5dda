//! Puts an image together: the base's layer, then what makes it lazaret's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io;

use lazaret_protocol::PORTER_PATH;

use crate::User;
use crate::image::archive::{Archive, Layer, LayerSource};
use crate::image::config::Config;
use crate::layer::normalize;
use crate::layer::writer::{Attributes, LayerDigest, LayerWriter};

/// The agent's home inside; a tmpfs in every container.
const HOME: &str = "/home/agent";

/// Where programs are in a system that does not say.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What an image is made of, besides the system's layers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) user: &'a User,
    pub(crate) porter: &'a [u8],
    pub(crate) architecture: &'a str,
    /// The hash of everything that goes in, in hexadecimal.
    pub(crate) inputs: &'a str,
    pub(crate) tag: &'a str,
    /// What install steps are given in `/lazaret/build`: name, mode, contents. An image
    /// that sessions are made of has none.
    pub(crate) for_build: &'a [(&'a str, u32, &'a [u8])],
}

/// Assembles an image of the porter alone: root, and no other program.
pub(crate) fn from_scratch(parts: Parts<'_>) -> io::Result<Archive> {
    let mut layer = LayerWriter::new(Vec::new());
    layer.dir(b"dev", Attributes::root(0o755))?;
    layer.dir(b"etc", Attributes::root(0o755))?;
    let root = "root:x:0:0:root:/:/lazaret/porter\n";
    put(
        &mut layer,
        "etc/passwd",
        with_agent(root, &passwd_line(&User::default())).as_bytes(),
    )?;
    put(
        &mut layer,
        "etc/group",
        with_agent("root:x:0:\n", &group_line(&User::default())).as_bytes(),
    )?;
    put_porter(&mut layer, parts.porter)?;
    layer.dir(b"proc", Attributes::root(0o555))?;
    // Closed: Kubernetes mounts a file of the node's in it.
    layer.dir(b"root", Attributes::root(0o700))?;
    layer.dir(b"sys", Attributes::root(0o555))?;
    layer.dir(b"tmp", Attributes::root(0o1777))?;
    put_workspace(&mut layer)?;
    // The gateway's sockets; a fresh volume takes over this owner as well.
    layer.dir(b"egress", Attributes::agent(0o755))?;
    let (bytes, digest) = layer.finish()?;
    finish(
        parts,
        ("0:0", "/", SEARCH_PATH),
        vec![in_memory("the porter", bytes, digest)],
    )
}

/// Puts an image on top of a whole system together.
///
/// `path` is where the system's programs are, if it says so itself.
pub(crate) fn on_system(
    parts: Parts<'_>,
    system: Vec<Layer>,
    path: Option<&str>,
) -> io::Result<Archive> {
    let accounts = read_accounts(&system)?;
    let account = |path: &str| accounts.get(path).map(String::as_str).unwrap_or_default();
    let user = parts.user;

    // `etc` and `home` are the system's own and keep its attributes: only what is in them is named.
    let mut layer = LayerWriter::new(Vec::new());
    let group = with_agent(account("etc/group"), &group_line(user));
    put(&mut layer, "etc/group", group.as_bytes())?;
    let passwd = with_agent(account("etc/passwd"), &passwd_line(user));
    put(&mut layer, "etc/passwd", passwd.as_bytes())?;
    // The tmpfs on it gets this mode from the OCI runtime, but never an owner.
    layer.dir(b"home/agent", Attributes::agent(0o1777))?;
    put_porter(&mut layer, parts.porter)?;
    if !parts.for_build.is_empty() {
        layer.dir(b"lazaret/build", Attributes::root(0o755))?;
        layer.dir(b"lazaret/build/apt.d", Attributes::root(0o755))?;
    }
    for (name, mode, contents) in parts.for_build {
        let path = format!("lazaret/build/{name}");
        let size = contents.len() as u64;
        layer.file(path.as_bytes(), Attributes::root(*mode), size, *contents)?;
    }
    put_workspace(&mut layer)?;
    let (bytes, digest) = layer.finish()?;

    let mut layers = system;
    layers.push(in_memory(
        "the porter, the agent and its workspace",
        bytes,
        digest,
    ));
    finish(
        parts,
        ("1000:1000", HOME, path.unwrap_or(SEARCH_PATH)),
        layers,
    )
}

fn finish(
    parts: Parts<'_>,
    (user, home, path): (&str, &str, &str),
    layers: Vec<Layer>,
) -> io::Result<Archive> {
    let named: Vec<_> = layers
        .iter()
        .map(|layer| (layer.purpose.as_str(), layer.digest.hex.as_str()))
        .collect();
    let config = Config {
        name: parts.name,
        description: parts.description,
        architecture: parts.architecture,
        inputs: parts.inputs,
        user,
        home,
        path,
        layers: &named,
    }
    .to_json()?;
    Archive::assemble(config, parts.tag, layers)
}

fn in_memory(purpose: &str, bytes: Vec<u8>, digest: LayerDigest) -> Layer {
    Layer {
        purpose: purpose.to_owned(),
        digest,
        source: LayerSource::Memory(bytes),
    }
}

fn put(layer: &mut LayerWriter<Vec<u8>>, path: &str, contents: &[u8]) -> io::Result<()> {
    layer.file(
        path.as_bytes(),
        Attributes::root(0o644),
        contents.len() as u64,
        contents,
    )
}

fn put_porter(layer: &mut LayerWriter<Vec<u8>>, porter: &[u8]) -> io::Result<()> {
    let path = PORTER_PATH.trim_start_matches('/');
    layer.dir(b"lazaret", Attributes::root(0o755))?;
    layer.file(
        path.as_bytes(),
        // The agent may start the porter but not read it. So the kernel makes it undumpable when it
        // begins (`would_dump` in fs/exec.c), and the agent can't attach to a porter that the engine
        // has started before that has filtered its system calls.
        Attributes::root(0o711),
        porter.len() as u64,
        porter,
    )
}

/// The volume's place. A fresh volume takes over its owner, so it must be there and empty.
fn put_workspace(layer: &mut LayerWriter<Vec<u8>>) -> io::Result<()> {
    layer.dir(b"workspace", Attributes::agent(0o755))
}

/// Reads the account files; an upper layer's hides a lower one's.
fn read_accounts(layers: &[Layer]) -> io::Result<BTreeMap<String, String>> {
    let mut accounts = BTreeMap::new();
    for layer in layers {
        let LayerSource::File(path) = &layer.source else {
            continue;
        };
        let found = normalize::read_files(&mut File::open(path)?, &["etc/passwd", "etc/group"])?;
        for (name, contents) in found {
            let text = String::from_utf8(contents)
                .map_err(|_| io::Error::other(format!("{name} of the base is not UTF-8")))?;
            accounts.insert(name, text);
        }
    }
    Ok(accounts)
}

fn passwd_line(user: &User) -> String {
    format!("{}:x:1000:1000:agent:{HOME}:{}\n", user.name, user.shell)
}

fn group_line(user: &User) -> String {
    format!("{}:x:1000:\n", user.name)
}

/// Returns an account file with `line` at its end, and without any other of its
/// name or id 1000 (bases made for an unprivileged user have one).
fn with_agent(accounts: &str, line: &str) -> String {
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let id = |line: &str| line.split(':').nth(2).unwrap_or_default().to_owned();
    let mut text = String::new();
    for other in accounts.lines() {
        if name(other) != name(line) && id(other) != id(line) {
            // Writing into a string can't fail.
            let _written = writeln!(text, "{other}");
        }
    }
    text.push_str(line);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, ImageName, ImageSpec};

    fn parts<'a>(spec: &'a ImageSpec, porter: &'a [u8]) -> Parts<'a> {
        Parts {
            name: spec.name.as_str(),
            description: &spec.description,
            user: &spec.user,
            porter,
            architecture: "amd64",
            inputs: "00ff",
            tag: "localhost/lazaret/porter:00ff",
            for_build: &[],
        }
    }

    /// Lists an archive: name, mode, owner, time, size; layers and JSON in full.
    fn dump(bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut archive = tar::Archive::new(bytes);
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let header = entry.header();
            writeln!(
                text,
                "{:?} {name} {:o} {}:{} {} {}",
                header.entry_type(),
                header.mode().unwrap(),
                header.uid().unwrap(),
                header.gid().unwrap(),
                header.mtime().unwrap(),
                header.size().unwrap(),
            )
            .unwrap();
            let mut contents = Vec::new();
            io::Read::read_to_end(&mut entry, &mut contents).unwrap();
            if name.ends_with(".tar") {
                for line in dump(&contents).lines() {
                    writeln!(text, "  {line}").unwrap();
                }
            } else if name.ends_with(".json") {
                writeln!(text, "  {}", String::from_utf8(contents).unwrap()).unwrap();
            }
        }
        text
    }

    #[test]
    fn the_porter_image_holds_the_porter_alone() {
        let catalog = Catalog::embedded().unwrap();
        let spec = catalog.get("porter").unwrap();
        let mut archive = from_scratch(parts(spec, b"\x7fELF")).unwrap();
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut archive, &mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, archive.size);
        let text = dump(&bytes)
            .replace(archive.id.trim_start_matches("sha256:"), "<id>")
            .replace(env!("CARGO_PKG_VERSION"), "<version>");
        insta::assert_snapshot!(text, @r#"
        Regular <id>.json 644 0:0 1735689600 767
          {"architecture":"amd64","config":{"User":"0:0","Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","HOME=/","LANG=C.UTF-8"],"Entrypoint":["/lazaret/porter"],"Cmd":["init"],"WorkingDir":"/workspace","Labels":{"io.lazaret.image":"porter","io.lazaret.inputs":"00ff","org.opencontainers.image.description":"Nothing but the porter: reads a volume after its session has ended","org.opencontainers.image.title":"porter","org.opencontainers.image.vendor":"lazaret","org.opencontainers.image.version":"<version>"}},"created":"2025-01-01T00:00:00Z","history":[{"created":"2025-01-01T00:00:00Z","created_by":"lazaret: the porter"}],"os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:df6296e19126f4cb77fec4ba077360e7f3b4e6a036d961a31d2fb8204b8d70fc"]}}
        Regular df6296e19126f4cb77fec4ba077360e7f3b4e6a036d961a31d2fb8204b8d70fc.tar 644 0:0 1735689600 8704
          Directory dev 755 0:0 1735689600 0
          Directory etc 755 0:0 1735689600 0
          Regular etc/passwd 644 0:0 1735689600 78
          Regular etc/group 644 0:0 1735689600 24
          Directory lazaret 755 0:0 1735689600 0
          Regular lazaret/porter 711 0:0 1735689600 4
          Directory proc 555 0:0 1735689600 0
          Directory root 700 0:0 1735689600 0
          Directory sys 555 0:0 1735689600 0
          Directory tmp 1777 0:0 1735689600 0
          Directory workspace 755 1000:1000 1735689600 0
          Directory egress 755 1000:1000 1735689600 0
        Regular manifest.json 644 0:0 1735689600 211
          [{"Config":"<id>.json","RepoTags":["localhost/lazaret/porter:00ff"],"Layers":["df6296e19126f4cb77fec4ba077360e7f3b4e6a036d961a31d2fb8204b8d70fc.tar"]}]
        "#);
    }

    #[test]
    fn the_same_parts_give_the_same_bytes() {
        let name: ImageName = "x".parse().unwrap();
        let source = "description = 'x'\nbase.debootstrap = { suite = 'bookworm' }\n";
        let spec = ImageSpec::parse(&name, "x", source).unwrap();
        let read = || {
            let mut archive = on_system(parts(&spec, b"porter"), Vec::new(), None).unwrap();
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut archive, &mut bytes).unwrap();
            (archive.id, bytes)
        };
        assert_eq!(read(), read());
    }

    #[test]
    fn an_account_with_our_name_or_id_gives_way() {
        let accounts = "root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/bash\nagent:x:7:7::/:/bin/sh";
        insta::assert_snapshot!(with_agent(accounts, &passwd_line(&User::default())), @"
        root:x:0:0:root:/root:/bin/bash
        agent:x:1000:1000:agent:/home/agent:/bin/sh
        ");
    }
}
