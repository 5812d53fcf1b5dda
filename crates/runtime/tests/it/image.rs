//! The tests' image: one static program of ours as `/lazaret/porter`.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::OnceLock;

use lazaret_runtime::ImageRef;
use sha2::{Digest as _, Sha256};

/// What an archive's image is to declare.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe<'a> {
    pub(crate) tag: &'a str,
    /// The value of the label `io.lazaret.test`.
    pub(crate) label: &'a str,
    pub(crate) volumes: &'a [&'a str],
}

impl Recipe<'_> {
    pub(crate) fn image_ref(&self) -> ImageRef {
        self.tag.parse().unwrap()
    }

    /// Returns a `docker save` archive with the guest as its porter.
    pub(crate) fn archive(&self) -> Vec<u8> {
        self.archive_of(&[("lazaret/porter", guest())])
    }

    /// Returns a `docker save` archive with these programs, by their paths.
    pub(crate) fn archive_of(&self, programs: &[(&str, &[u8])]) -> Vec<u8> {
        let mut layer = tar::Builder::new(Vec::new());
        for directory in [
            "lazaret/",
            "workspace/",
            "tmp/",
            "home/",
            "home/agent/",
            "etc/",
        ] {
            let mut header = header(0);
            header.set_entry_type(tar::EntryType::Directory);
            header.set_mode(match directory {
                "tmp/" | "home/agent/" => 0o1777,
                _ => 0o755,
            });
            if matches!(directory, "workspace/" | "home/agent/") {
                header.set_uid(1000);
                header.set_gid(1000);
            }
            layer
                .append_data(&mut header, directory, [].as_slice())
                .unwrap();
        }
        let passwd = b"root:x:0:0::/:/x\nagent:x:1000:1000::/home/agent:/x\n";
        append(&mut layer, "etc/passwd", passwd);
        for (path, program) in programs {
            append(&mut layer, path, program);
        }
        let layer = layer.into_inner().unwrap();

        let volumes: serde_json::Map<_, _> = self
            .volumes
            .iter()
            .map(|target| ((*target).to_owned(), serde_json::json!({})))
            .collect();
        let config = serde_json::json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Entrypoint": ["/lazaret/porter"],
                "Cmd": ["init"],
                "Labels": { "io.lazaret.test": self.label },
                "Volumes": volumes,
            },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", hex(&layer))] },
            "history": [{ "created": "1980-01-01T00:00:00Z" }],
        });
        let config = serde_json::to_vec(&config).unwrap();
        let config_name = format!("{}.json", hex(&config));
        let manifest = serde_json::json!([{
            "Config": config_name,
            "RepoTags": [self.tag],
            "Layers": ["layer.tar"],
        }]);

        let mut archive = tar::Builder::new(Vec::new());
        append(&mut archive, &config_name, &config);
        append(&mut archive, "layer.tar", &layer);
        append(
            &mut archive,
            "manifest.json",
            &serde_json::to_vec(&manifest).unwrap(),
        );
        archive.into_inner().unwrap()
    }
}

fn header(size: usize) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_size(size as u64);
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(315_532_800);
    header
}

fn append(archive: &mut tar::Builder<Vec<u8>>, name: &str, bytes: &[u8]) {
    let mut header = header(bytes.len());
    archive
        .append_data(&mut header, name, Cursor::new(bytes))
        .unwrap();
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Builds the real porter once, or takes the one that xtask has built.
pub(crate) fn porter() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        #[expect(clippy::disallowed_methods, reason = "xtask says where the porter is")]
        let built = std::env::var_os("LAZARET_PORTER").map(PathBuf::from);
        let program = built.unwrap_or_else(|| {
            const TARGET: &str = "x86_64-unknown-linux-gnu";
            let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
            duct::cmd!(
                "cargo",
                "build",
                "--quiet",
                "--package",
                "lazaret-porter",
                "--profile",
                "porter",
                "--target",
                TARGET,
                "--target-dir",
                "target/porter"
            )
            .dir(&root)
            .env("RUSTFLAGS", "-C target-feature=+crt-static")
            .run()
            .unwrap();
            root.join("target/porter")
                .join(TARGET)
                .join("porter/lazaret-porter")
        });
        std::fs::read(program).unwrap()
    })
}

/// Compiles `tests/guest` once.
pub(crate) fn guest() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/guest/main.rs");
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("guest");
        duct::cmd!(
            "rustc",
            "--edition",
            "2024",
            "-O",
            "-C",
            "target-feature=+crt-static",
            "-C",
            "panic=abort",
            "-C",
            "strip=symbols",
            "-o",
            &program,
            &source
        )
        .run()
        .unwrap();
        std::fs::read(program).unwrap()
    })
}
