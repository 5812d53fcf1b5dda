//! Faults of a cluster, each with the error that says what to do.

mod api_server;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};

use lazaret_runtime::{
    ContainerSpec, Engine as _, EngineError, ExecSpec, HardenedSpec, Limits, Network, Privilege,
    Role, Stdin,
};
use serde_json::{Value, json};
use tungstenite::Message;
use tungstenite::handshake::server::{Request, Response};

use self::api_server::{Answer, ApiServer, engine_at, refusal};

const PODS: &str = "/api/v1/namespaces/agents/pods";
const REVIEW: &str = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

fn no_exec(_: TcpStream) {}

fn version() -> Answer {
    let version = json!({
        "major": "1", "minor": "20", "gitVersion": "v1.20.2", "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "", "platform": "linux/amd64",
    });
    (200, version)
}

/// Answers a review, with a no to what `denied` says.
fn review(body: &Value, denied: &str) -> Answer {
    let asked = &body["spec"]["resourceAttributes"];
    let resource = asked["resource"].as_str().unwrap();
    let resource = match asked["subresource"].as_str() {
        Some(sub) => format!("{resource}/{sub}"),
        None => resource.to_owned(),
    };
    let right = format!("{} {resource}", asked["verb"].as_str().unwrap());
    let mut answer = body.clone();
    answer["status"] = json!({ "allowed": right != denied });
    (201, answer)
}

/// A cluster that has the namespace and gives every right.
fn healthy(request: &str, body: &Value) -> Answer {
    match request {
        "GET /version" => version(),
        "GET /api/v1/namespaces/agents" => (200, json!({ "metadata": { "name": "agents" } })),
        REVIEW => review(body, ""),
        _ => refusal(404, "NotFound", "nothing is there"),
    }
}

#[track_caller]
fn probe_of(script: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static, expected: &str) {
    let server = ApiServer::start(script, no_exec);
    let error = server.engine.probe().expect_err("a fault");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_healthy_cluster_is_what_it_says() {
    let server = ApiServer::start(healthy, no_exec);
    let info = server.engine.probe().unwrap();
    assert_eq!(info.version, "1.20.2");
    assert_eq!(info.architecture, "amd64");
    assert_eq!(info.endpoint, "k8s://cluster/agents");
    assert!(!info.capabilities.has_gateway && !info.capabilities.has_root);
}

#[test]
fn an_unknown_context_is_named_with_those_that_are_there() {
    let directory = tempfile::tempdir().unwrap();
    let error = engine_at(1, &directory, "other").expect_err("no context");
    let file = directory.path().join("config");
    assert_eq!(
        error.to_string(),
        format!(
            "there is no context \"other\" in {}; there are: cluster",
            file.display()
        )
    );
}

#[test]
fn a_server_that_is_gone_is_unreachable() {
    let directory = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let error = engine_at(port, &directory, "cluster").unwrap().probe();
    let error = error.expect_err("no server");
    assert!(matches!(error, EngineError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("Connection refused"), "{error}");
}

#[test]
fn what_is_wrong_with_the_user_is_said_before_anything_is_made() {
    probe_of(
        |_, _| refusal(401, "Unauthorized", "Unauthorized"),
        "the cluster does not accept the credentials of context \"cluster\": Unauthorized",
    );
    probe_of(
        |request, body| match request {
            "GET /api/v1/namespaces/agents" => {
                refusal(404, "NotFound", "namespaces \"agents\" not found")
            }
            _ => healthy(request, body),
        },
        "the cluster has no namespace \"agents\"",
    );
    probe_of(
        |request, body| match request {
            "GET /api/v1/namespaces/agents" => refusal(403, "Forbidden", "not for you"),
            REVIEW => review(body, "create pods/exec"),
            _ => healthy(request, body),
        },
        "missing rights in namespace \"agents\": create pods/exec",
    );
}

fn hardened(server: &ApiServer) -> HardenedSpec {
    let spec = ContainerSpec {
        name: "p".parse().unwrap(),
        role: Role::Agent,
        image: format!("sha256:{}", "0".repeat(64)).parse().unwrap(),
        privilege: Privilege::Agent,
        volumes: Vec::new(),
        network: Network::None,
        hosts: Vec::new(),
        env: BTreeMap::new(),
        workdir: "/".to_owned(),
        limits: Limits {
            memory: 1 << 30,
            cpus: 1.0,
            pids: 64,
            tmp: 1 << 20,
            shm: 1 << 20,
            home: 1 << 20,
            nofile: 1024,
            fsize: 1 << 30,
        },
        labels: BTreeMap::new(),
    };
    HardenedSpec::new(spec, &server.engine.probe().unwrap()).unwrap()
}

#[track_caller]
fn creation_of(answer: fn(&Value) -> Answer, expected: &str) -> ApiServer {
    let server = ApiServer::start(
        move |request, body| match request.strip_suffix(PODS) {
            Some("GET ") => (200, json!({ "metadata": {}, "items": [] })),
            Some("POST ") => answer(body),
            _ => healthy(request, body),
        },
        no_exec,
    );
    let error = server.engine.create_container(&hardened(&server));
    assert_eq!(error.expect_err("a fault").to_string(), expected);
    server
}

#[test]
fn what_the_cluster_forbids_is_said_in_its_words() {
    creation_of(
        |_| {
            refusal(
                403,
                "Forbidden",
                "pods \"p\" is forbidden: violates PodSecurity",
            )
        },
        "create container: the cluster forbids it: pods \"p\" is forbidden: violates PodSecurity",
    );
    creation_of(
        |_| {
            refusal(
                403,
                "Forbidden",
                "pods \"p\" is forbidden: exceeded quota: small",
            )
        },
        "create container: the quota is used up: pods \"p\" is forbidden: exceeded quota: small",
    );
    creation_of(
        |_| refusal(404, "NotFound", "namespaces \"agents\" not found"),
        "the cluster has no namespace \"agents\"",
    );
}

#[test]
fn a_pod_that_is_not_what_was_asked_for_is_removed() {
    let server = creation_of(
        |body| {
            let mut created = body.clone();
            created["spec"]["securityContext"] = json!({});
            (201, created)
        },
        "the cluster changed or dropped spec.securityContext.fsGroup of pod p",
    );
    assert!(server.asked_for(&format!("DELETE {PODS}/p")));
}

/// A pod with a status.
fn pod(status: &Value) -> Value {
    json!({
        "metadata": { "name": "p" },
        "spec": { "nodeName": "n", "containers": [{ "name": "lazaret", "image": "sha256:1" }] },
        "status": status,
    })
}

fn with_pod(status: Value, exec: fn(TcpStream)) -> ApiServer {
    ApiServer::start(
        move |request, body| match request.strip_suffix("/p") {
            Some(request) if request == format!("GET {PODS}") => (200, pod(&status)),
            _ => healthy(request, body),
        },
        exec,
    )
}

#[test]
fn a_pod_that_can_not_start_ends_the_wait_at_once() {
    let waiting = json!({ "phase": "Pending", "containerStatuses": [{
        "name": "lazaret", "image": "", "imageID": "", "ready": false, "restartCount": 0,
        "state": { "waiting": { "reason": "ErrImageNeverPull", "message": "not present" } },
    }] });
    let server = with_pod(waiting, no_exec);
    let error = server.engine.start_container(&"p".parse().unwrap());
    assert_eq!(
        error.expect_err("no image").to_string(),
        "node n does not have image sha256:1: ErrImageNeverPull: not present"
    );
}

fn running() -> Value {
    json!({ "phase": "Running", "containerStatuses": [{
        "name": "lazaret", "image": "", "imageID": "", "ready": true, "restartCount": 0,
        "state": { "running": {} },
    }] })
}

/// Takes the WebSocket, says `messages`, and hangs up.
fn say(stream: TcpStream, messages: &[&[u8]]) {
    #[expect(
        clippy::result_large_err,
        reason = "the type of the callback is tungstenite's"
    )]
    let with_protocol = |request: &Request, mut response: Response| {
        let asked = request.headers()["sec-websocket-protocol"].clone();
        assert!(asked.to_str().unwrap().contains("v4.channel.k8s.io"));
        let protocol = "v4.channel.k8s.io".parse().unwrap();
        response
            .headers_mut()
            .insert("sec-websocket-protocol", protocol);
        Ok(response)
    };
    let accepted = tungstenite::accept_hdr(stream, with_protocol);
    let mut socket = accepted.unwrap();
    for message in messages {
        socket.send(Message::binary(message.to_vec())).unwrap();
    }
    // What the client has sent is read, so that no reset overtakes what was said.
    let _hung_up = socket.close(None);
    while socket.read().is_ok() {}
}

#[track_caller]
fn outcome_of(exec: fn(TcpStream)) -> (String, Result<i32, String>) {
    let server = with_pod(running(), exec);
    let spec = ExecSpec::new(vec!["/bin/true".to_owned()], Stdin::Closed);
    let mut process = server.engine.exec(&"p".parse().unwrap(), &spec).unwrap();
    let mut said = Vec::new();
    let read = process.stdout.read_to_end(&mut said);
    let code = process.control.wait().map_err(|error| error.to_string());
    assert_eq!(read.is_ok(), code.is_ok(), "{read:?} {code:?}");
    (String::from_utf8(said).unwrap(), code)
}

/// The channel of stdout is 1; a seat's frame of output is 17, that of an exit code 19.
#[test]
fn only_the_word_of_the_seat_is_an_exit_code() {
    let (said, code) = outcome_of(|stream| {
        say(stream, &[b"\x01\x11\0\0\0\x02hi\x13\0\0\0\x01\x07"]);
    });
    assert_eq!((&*said, code), ("hi", Ok(7)));
    let (said, code) = outcome_of(|stream| say(stream, &[b"\x01\x11\0\0\0\x02hi"]));
    assert_eq!(said, "hi");
    assert!(code.unwrap_err().contains("the connection was cut"));
    let (_, code) = outcome_of(|stream| say(stream, &[b"\x01\x11\0\0"]));
    code.expect_err("half a frame");
    let (_, code) = outcome_of(|stream| {
        say(stream, &[b"\x03{\"metadata\":{},\"status\":\"Success\"}"]);
    });
    code.expect_err("the cluster says that all is well, and the seat has said nothing");
}

#[test]
fn an_eviction_is_said_when_a_process_starts() {
    let evicted = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" });
    // The connection is closed before an answer.
    let server = with_pod(evicted, drop);
    let spec = ExecSpec::new(vec!["/bin/true".to_owned()], Stdin::Closed);
    let error = server.engine.exec(&"p".parse().unwrap(), &spec);
    assert_eq!(
        error.expect_err("evicted").to_string(),
        "the cluster ended pod p: Evicted: low on memory"
    );
}
