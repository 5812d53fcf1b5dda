//! An API server that answers by a script, for faults that a real cluster rarely shows.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use lazaret_runtime::{EngineError, KubernetesAddress, KubernetesEngine};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A status and a body.
pub(crate) type Answer = (u16, Value);

/// A request, as `GET /path`, without its query.
type Script = dyn Fn(&str, &Value) -> Answer + Send + Sync;

/// Serves until the test ends.
pub(crate) struct ApiServer {
    pub(crate) engine: KubernetesEngine,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    _kubeconfig: TempDir,
}

impl ApiServer {
    /// Starts a server that answers by `script`, and takes what is not of HTTP to `exec`.
    pub(crate) fn start(
        script: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static,
        exec: fn(TcpStream),
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Script> = Arc::new(script);
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                thread::spawn(move || serve(stream.unwrap(), &*script, &log, exec));
            }
        });
        let directory = tempfile::tempdir().unwrap();
        let engine = engine_at(port, &directory, "cluster").unwrap();
        Self {
            engine,
            asked,
            _kubeconfig: directory,
        }
    }

    pub(crate) fn asked_for(&self, request: &str) -> bool {
        self.asked
            .lock()
            .unwrap()
            .iter()
            .any(|asked| asked == request)
    }
}

/// Returns the engine of a server at a port of this machine.
pub(crate) fn engine_at(
    port: u16,
    directory: &TempDir,
    context: &str,
) -> Result<KubernetesEngine, EngineError> {
    let file = directory.path().join("config");
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "c", "cluster": { "server": format!("http://127.0.0.1:{port}") } }],
        "users": [{ "name": "u", "user": {} }],
        "contexts": [{ "name": "cluster", "context": { "cluster": "c", "user": "u" } }],
    });
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    KubernetesEngine::new(KubernetesAddress {
        context: context.to_owned(),
        namespace: "agents".to_owned(),
        kubeconfig: vec![file],
    })
}

/// Answers the requests of one connection.
fn serve(stream: TcpStream, script: &Script, log: &Mutex<Vec<String>>, exec: fn(TcpStream)) {
    let mut start = [0; 4096];
    let Ok(length) = stream.peek(&mut start) else {
        return;
    };
    if String::from_utf8_lossy(&start[..length]).contains("/exec?") {
        return exec(stream);
    }
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let Some((request, body)) = read_request(&mut reader) else {
            return;
        };
        log.lock().unwrap().push(request.clone());
        let (status, answer) = script(&request, &body);
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        if writer.write_all((head + &text).as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|length| *length > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let path = path.split('?').next()?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some((format!("{method} {path}"), body))
}

/// Returns the body of a refusal.
pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    (code, status)
}
