//! The engine's own word on what exists: its HTTP API, asked without lazaret.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::watch::wait_until;

/// A container or a volume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    Container { id: String, name: String },
    Volume { name: String },
}

impl Object {
    fn name(&self) -> &str {
        match self {
            Self::Container { name, .. } | Self::Volume { name } => name,
        }
    }
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Container { name, .. } => write!(f, "container {name}"),
            Self::Volume { name } => write!(f, "volume {name}"),
        }
    }
}

/// True when the engine answers.
pub(crate) fn answers(socket: &Path) -> bool {
    if let Some(cluster) = Cluster::at(socket) {
        return cluster.answers();
    }
    request(socket, "GET", "/_ping").is_ok_and(|answer| answer.status == 200)
}

/// Containers and volumes that carry `label` (`name=value`), sorted.
pub(crate) fn labelled(socket: &Path, label: &str) -> Result<Vec<Object>, String> {
    if let Some(cluster) = Cluster::at(socket) {
        return cluster.labelled(label);
    }
    let filter = encode(&format!("{{\"label\":[\"{label}\"]}}"));
    let mut objects = Vec::new();
    let containers = get(socket, &format!("/containers/json?all=1&filters={filter}"))?;
    for container in containers.as_array().into_iter().flatten() {
        objects.push(Object::Container {
            id: text(&container["Id"]),
            name: text(&container["Names"][0])
                .trim_start_matches('/')
                .to_owned(),
        });
    }
    let volumes = get(socket, &format!("/volumes?filters={filter}"))?;
    for volume in volumes["Volumes"].as_array().into_iter().flatten() {
        objects.push(Object::Volume {
            name: text(&volume["Name"]),
        });
    }
    objects.sort();
    Ok(objects)
}

/// Removes what a failed scenario left. Only ever called with objects of its own store.
pub(crate) fn remove(socket: &Path, object: &Object) -> Result<(), String> {
    if let Some(cluster) = Cluster::at(socket) {
        return cluster.remove(object);
    }
    let path = match object {
        Object::Container { id, .. } => format!("/containers/{id}?force=1&v=1"),
        Object::Volume { name } => format!("/volumes/{name}?force=1"),
    };
    let answer = request(socket, "DELETE", &path)?;
    match answer.status {
        200..=299 | 404 => Ok(()),
        status => Err(format!("remove {object}: {status} {}", answer.body)),
    }
}

/// Pauses a container, as a user of another program would.
pub(crate) fn pause(socket: &Path, object: &Object) -> Result<(), String> {
    let path = format!("/containers/{}/pause", object.name());
    let answer = request(socket, "POST", &path)?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(format!("pause {object}: {status} {}", answer.body)),
    }
}

/// Whether a container is paused.
pub(crate) fn is_paused(socket: &Path, object: &Object) -> bool {
    let found = get(socket, &format!("/containers/{}/json", object.name()));
    found.is_ok_and(|found| found["State"]["Paused"] == true)
}

/// Ends every process of a container at once, as a user of another program would.
pub(crate) fn kill(socket: &Path, object: &Object) -> Result<(), String> {
    let path = format!("/containers/{}/kill?signal=SIGKILL", object.name());
    let answer = request(socket, "POST", &path)?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(format!("kill {object}: {status} {}", answer.body)),
    }
}

/// Runs a program in a container, beside the command, and returns its exit code.
///
/// Its output is attached, and ends with it: Podman 4.3 never says that a detached one has ended.
pub(crate) fn exec(socket: &Path, object: &Object, argv: &[&str]) -> Result<i64, String> {
    if let Some(cluster) = Cluster::at(socket) {
        return cluster.exec(object, argv);
    }
    let failed = |answer: &Answer| format!("exec in {object}: {} {}", answer.status, answer.body);
    let body = serde_json::json!({ "Cmd": argv, "AttachStdout": true }).to_string();
    let path = format!("/containers/{}/exec", object.name());
    let answer = send(socket, "POST", &path, &body)?;
    let created: Value = match answer.status {
        200..=299 => serde_json::from_str(&answer.body).map_err(|error| error.to_string())?,
        _ => return Err(failed(&answer)),
    };
    let id = text(&created["Id"]);
    let path = format!("/exec/{id}/start");
    let answer = send(socket, "POST", &path, "{\"Detach\":false}")?;
    if !matches!(answer.status, 101 | 200..=299) {
        return Err(failed(&answer));
    }
    let mut code = None;
    wait_until(&format!("{argv:?} ends in {object}"), || {
        let exec = get(socket, &format!("/exec/{id}/json"))?;
        code = exec["ExitCode"].as_i64();
        Ok(exec["Running"] == Value::Bool(false) && code.is_some())
    })?;
    code.ok_or_else(|| format!("{argv:?} has no exit code"))
}

/// Makes a volume that carries a name like lazaret's and labels of another owner.
pub(crate) fn create_foreign_volume(socket: &Path, name: &str) -> Result<(), String> {
    if let Some(cluster) = Cluster::at(socket) {
        return cluster.create_foreign_volume(name);
    }
    let labels = "{\"io.lazaret.store\":\"0123456789abcdef\",\"io.lazaret.session\":\"lost\"}";
    let body = format!("{{\"Name\":\"{name}\",\"Labels\":{labels}}}");
    let answer = send(socket, "POST", "/volumes/create", &body)?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(format!("create volume {name}: {status} {}", answer.body)),
    }
}

/// Makes a container of another owner, from the porter's image; it is never started.
pub(crate) fn create_foreign_container(socket: &Path, name: &str) -> Result<Object, String> {
    let images = get(socket, "/images/json")?;
    let tags = images
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|image| image["RepoTags"].as_array().into_iter().flatten());
    let image = tags
        .filter_map(Value::as_str)
        .find(|tag| tag.contains("lazaret/porter:"))
        .ok_or("the engine has no porter image")?;
    let body = format!("{{\"Image\":\"{image}\"}}");
    let answer = send(
        socket,
        "POST",
        &format!("/containers/create?name={name}"),
        &body,
    )?;
    match answer.status {
        200..=299 => {
            let created: Value =
                serde_json::from_str(&answer.body).map_err(|error| error.to_string())?;
            Ok(Object::Container {
                id: text(&created["Id"]),
                name: name.to_owned(),
            })
        }
        status => Err(format!("create container {name}: {status} {}", answer.body)),
    }
}

/// Whether a container is there.
pub(crate) fn has_container(socket: &Path, name: &str) -> Result<bool, String> {
    if let Some(cluster) = Cluster::at(socket) {
        return cluster.has("pod", name);
    }
    Ok(request(socket, "GET", &format!("/containers/{name}/json"))?.status == 200)
}

/// Whether a volume is there.
pub(crate) fn has_volume(socket: &Path, name: &str) -> Result<bool, String> {
    if let Some(cluster) = Cluster::at(socket) {
        return cluster.has("persistentvolumeclaim", name);
    }
    Ok(request(socket, "GET", &format!("/volumes/{name}"))?.status == 200)
}

/// Where the files of a volume lie on this machine.
pub(crate) fn mountpoint(socket: &Path, name: &str) -> Result<PathBuf, String> {
    let volume = get(socket, &format!("/volumes/{name}"))?;
    match text(&volume["Mountpoint"]) {
        place if place.is_empty() => Err(format!("volume {name} has no place")),
        place => Ok(place.into()),
    }
}

/// The answer to `GET path` as JSON.
pub(crate) fn get(socket: &Path, path: &str) -> Result<Value, String> {
    let mut answer = request(socket, "GET", path)?;
    // Podman fails a list when something on it is removed meanwhile.
    for _ in 0..3 {
        if answer.status < 500 {
            break;
        }
        std::thread::sleep(Duration::from_millis(300));
        answer = request(socket, "GET", path)?;
    }
    if answer.status != 200 {
        return Err(format!("GET {path}: {} {}", answer.status, answer.body));
    }
    serde_json::from_str(&answer.body).map_err(|error| format!("GET {path}: {error}"))
}

struct Answer {
    status: u16,
    body: String,
}

/// HTTP/1.0, so that the end of the answer is the end of the connection.
fn request(socket: &Path, method: &str, path: &str) -> Result<Answer, String> {
    send(socket, method, path, "")
}

fn send(socket: &Path, method: &str, path: &str, body: &str) -> Result<Answer, String> {
    let exchange = || {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = exchange().map_err(|error| format!("{}: {error}", socket.display()))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Ok(Answer {
        status: status.unwrap_or(0),
        body: body.to_owned(),
    })
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
