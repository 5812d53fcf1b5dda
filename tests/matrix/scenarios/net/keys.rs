//! Keys that a session uses and never has: the wiring on an engine of what the broker's own
//! tests enumerate.

use lazaret_tests::model::{Authority, Model};

use super::upstream::{NAME, Upstream};
use super::{ASK, said};
use crate::api;
use crate::ctx::{Ctx, expect, expect_eq};

const KEY: &str = "sk-canary-of-a-vendor-0123456789abcdef";

pub(super) fn net_17_18_19_20_21_22_keys_stay_outside(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let (address, port) = (upstream.address, upstream.port);
    let authority = Authority::new("a test's authority");
    let model = Model::start("0.0.0.0", &authority, "vendor.test", vec![], |_| ())
        .map_err(|error| format!("the vendor's server: {error}"))?;
    let vendor = format!("vendor.test:{}", model.port());
    upstream.open(ctx, &format!("\"vendor.test\" = \"{address}\"\n"));
    let ca = ctx.config().join("ca.pem");
    let file = ctx.config().join("network.toml");
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    std::fs::write(&file, format!("ca = \"{}\"\n{text}", ca.display()))
        .and_then(|()| std::fs::write(&ca, authority.pem()))
        .map_err(|error| error.to_string())?;
    ctx.profile(
        "keys",
        &format!(
            "image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [\"{NAME}:{port}\"]\n\
             [secrets.VENDOR_KEY]\nfrom = {{ env = \"VENDOR_KEY\" }}\n\
             broker = {{ host = \"{vendor}\", header = \"x-api-key\", base_url_env = \"VENDOR_URL\" }}\n\
             [limits]\ntimeout = \"10m\"\n"
        ),
    );
    // What a program inside could have come by in another way.
    ctx.workspace("project", &format!("f a \"a\\n\"\nf leaked \"{KEY}\\n\"\n"));
    let script = format!(
        r#"{ASK}
        vendor=${{VENDOR_URL#http://127.0.0.1:}}
        exec 3<>/dev/tcp/127.0.0.1/$vendor
        printf 'GET /v1/things?key=%s&page=2 HTTP/1.1\r\nHost: x\r\n' "$VENDOR_KEY" >&3
        printf 'x-api-key: mine\r\nAuthorization: Bearer mine\r\nCookie: mine\r\n' >&3
        printf 'X_Api_Key: mine\r\nPRIVATE-TOKEN: mine\r\nX-Other: mine\r\n' >&3
        printf 'X-Goog-Api-Key: mine\r\nConnection: close\r\n\r\n' >&3
        IFS= read -r -t 60 line <&3; echo "vendor ${{line%$'\r'}}"; exec 3<&-
        exec 3<>/dev/tcp/127.0.0.1/$vendor
        printf 'GET /v1/things?oauth_token=mine HTTP/1.1\r\nHost: x\r\n\r\n' >&3
        IFS= read -r -t 60 line <&3; echo "query ${{line%$'\r'}}"; exec 3<&-
        exec 3<>/dev/tcp/127.0.0.1/$vendor
        printf 'GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3
        cat <&3 >/tmp/echo; exec 3<&-
        echo "echoed $(grep -c 'sk-can[a]ry' /tmp/echo) $(grep -c 'secret VENDOR_KEY' /tmp/echo)"
        leaked=$(cat leaked)
        printf 'split %s' "${{leaked:0:20}}"; sleep 0.3; printf '%s end\n' "${{leaked:20}}"
        echo "encoded $(base64 -w 0 leaked)"
        echo "around $(connect {vendor})"
        exec 3<>/dev/tcp/127.0.0.1/3128
        printf 'GET http://{NAME}:{port}/x HTTP/1.1\r\nHost: {NAME}:{port}\r\n' >&3
        printf 'X-Api-Key: %s\r\nConnection: close\r\n\r\n' "$VENDOR_KEY" >&3
        IFS= read -r -t 60 line <&3; echo "elsewhere ${{line%$'\r'}}"; exec 3<&-
        echo "environment $(cat /proc/*/environ /proc/*/cmdline 2>/dev/null | grep -c 'sk-can[a]ry')"
        echo ready; until test -e /tmp/go; do sleep 0.1; done
        "#
    );
    let running = ctx
        .script("run keys -w project --name net -- bash -c", &script)
        .env("VENDOR_KEY", KEY)
        .start()?;
    running.until_said("ready")?;
    let found = outside(ctx)?;
    ctx.tell("go")?;
    let output = running.wait()?.expect_code(0)?;
    expect_eq("places of the key outside", &found, &Vec::<String>::new())?;
    expect_eq("places inside", &said(&output.stdout, "environment"), &"0")?;
    scrubbed(ctx, &output.stdout)?;
    expect_eq(
        "the vendor",
        &said(&output.stdout, "vendor "),
        &"HTTP/1.1 200",
    )?;
    let query = said(&output.stdout, "query ");
    expect(&format!("a credential in a query: {query}"), || {
        query.starts_with("HTTP/1.1 403")
    })?;
    let around = said(&output.stdout, "around");
    expect(&format!("no other way to the vendor: {around}"), || {
        around.starts_with("HTTP/1.1 403")
    })?;
    let requests = model.requests();
    expect_eq("requests at the vendor", &requests.len(), &2)?;
    let request = requests.first().ok_or("no request")?;
    expect_eq("the key", &request.header("x-api-key"), &Some(KEY))?;
    expect(
        &format!("nothing of the workload's own: {request:?}"),
        || !request.text().contains("mine"),
    )?;
    expect_eq(
        "the rest of the query",
        &request.path.as_str(),
        &"/v1/things?page=2",
    )?;
    expect_eq(
        "elsewhere",
        &said(&output.stdout, "elsewhere"),
        &"HTTP/1.1 200 OK",
    )?;
    let heard = upstream.requests().concat();
    expect("the placeholder stays one elsewhere", || {
        heard.contains("lazaret-placeholder") && !heard.contains(KEY)
    })
}

/// What a vendor that echoes the key gives away, and what a program could print of it (NET-20,
/// NET-21).
fn scrubbed(ctx: &Ctx, stdout: &str) -> Result<(), String> {
    expect_eq(
        "echoes of the key, and marks",
        &said(stdout, "echoed"),
        &"0 2",
    )?;
    expect_eq(
        "the split key",
        &said(stdout, "split"),
        &"[secret VENDOR_KEY] end",
    )?;
    let encoded = said(stdout, "encoded");
    expect(&format!("the key in base64: {encoded}"), || {
        encoded.starts_with("[secret VENDOR_KEY]")
    })?;
    let log = ctx.state().join("sessions/net/runs/1/log.0");
    let log = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    expect("the log has the output", || log.contains("encoded"))?;
    expect("the log has no key", || {
        !log.contains(&KEY[..20]) && !log.contains("c2stY2FuYXJ5")
    })
}

/// Where the key is, of what the engine and other users of this machine can see (NET-17, NET-22).
fn outside(ctx: &Ctx) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut look = |place: String, text: &str| {
        if text.contains(KEY) {
            found.push(place);
        }
    };
    let socket = ctx.engine().socket();
    let objects = ctx.objects()?;
    expect("two containers and two volumes at least", || {
        objects.len() >= 4
    })?;
    for object in &objects {
        let path = match object {
            api::Object::Container { id, .. } => format!("/containers/{id}/json"),
            api::Object::Volume { name } => format!("/volumes/{name}"),
        };
        // One may just be going.
        if let Ok(shown) = api::get(&socket, &path) {
            look(object.to_string(), &shown.to_string());
        }
    }
    for process in std::fs::read_dir("/proc")
        .map_err(|error| error.to_string())?
        .flatten()
    {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        look(
            format!("arguments of process {}", process.file_name().display()),
            &String::from_utf8_lossy(&line),
        );
    }
    Ok(found)
}
