//! A registry on loopback, for one image: just enough of the distribution API to pull.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::json;

use crate::registry::{gzip, sha256, tar_of};

/// Serves until the process ends.
pub(crate) struct MiniRegistry {
    /// The image, pinned: `127.0.0.1:PORT/tools@sha256:…`.
    pub(crate) reference: String,
}

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

impl MiniRegistry {
    /// Starts a registry with an image whose only layer holds `files`.
    pub(crate) fn start(files: &[(&str, &[u8])]) -> Self {
        let layer = tar_of(files);
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": { "Entrypoint": ["/bin/sh"], "Volumes": { "/surprise": {} } },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))] },
        });
        let config = config.to_string().into_bytes();
        let layer = gzip(&layer);
        let describe = |media_type: &str, blob: &[u8]| {
            json!({
                "mediaType": media_type,
                "size": blob.len(),
                "digest": format!("sha256:{}", sha256(blob)),
            })
        };
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": describe("application/vnd.docker.container.image.v1+json", &config),
            "layers": [describe("application/vnd.docker.image.rootfs.diff.tar.gzip", &layer)],
        });
        let manifest = manifest.to_string().into_bytes();
        let digest = sha256(&manifest);
        let blobs: BTreeMap<String, Vec<u8>> = [config, layer, manifest]
            .map(|blob| (sha256(&blob), blob))
            .into();

        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let blobs = Arc::new(blobs);
        // Ends with the process: nothing waits for it.
        drop(thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let blobs = Arc::clone(&blobs);
                drop(thread::spawn(move || answer(stream, &blobs)));
            }
        }));
        Self {
            reference: format!("127.0.0.1:{port}/tools@sha256:{digest}"),
        }
    }
}

fn answer(stream: TcpStream, blobs: &BTreeMap<String, Vec<u8>>) {
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    for _header in lines.take_while(|line| !line.is_empty()) {}
    let mut words = request.split(' ');
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let digest = path.rsplit(':').next().unwrap_or_default();
    let (status, media_type, body): (_, _, &[u8]) = match blobs.get(digest) {
        Some(blob) if path.contains("/manifests/") => ("200 OK", MANIFEST, blob),
        Some(blob) => ("200 OK", "application/octet-stream", blob),
        None if path == "/v2/" => ("200 OK", "application/json", b"{}"),
        None => ("404 Not Found", "application/json", b"{}"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
         Docker-Content-Digest: sha256:{digest}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if method == "HEAD" { &[] } else { body };
    // A client that went away is no concern of ours.
    let _sent = (&stream)
        .write_all(head.as_bytes())
        .and_then(|()| (&stream).write_all(body));
}
