//! An engine behind TLS: a real dockerd that verifies its clients.

use std::fs;

use lazaret_tests::model::Authority;

use crate::ctx::{Ctx, expect};
use crate::lazaret::Call;
use crate::private_engine::{PrivateEngine, TLS_PORT};

scenarios! {
    any engine;
    "remote/over-tls" => over_tls;
}

/// Both sides are verified, by the variables and files of Docker's own command.
fn over_tls(ctx: &Ctx) -> Result<(), String> {
    let authority = Authority::new("an authority of the engine's");
    let engine = PrivateEngine::start_docker_over_tls(ctx, &authority)?;
    let certificates = ctx.home().join(".docker");
    let trusted = |authority: &Authority| {
        let written = authority.write(&["client"], &certificates);
        written.map_err(|error| error.to_string())
    };
    let call = |host: &str, line: &str| -> Call {
        ctx.call(line)
            .env("LAZARET_ENGINE", "")
            .env("DOCKER_HOST", &format!("tcp://{host}:{TLS_PORT}"))
            .env("DOCKER_TLS_VERIFY", "1")
            .behind(engine.unshared().on_its_network())
    };
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    trusted(&authority)?;
    let run = "run base -w project --apply auto -- cp a b";
    for host in ["127.0.0.1", "localhost"] {
        call(host, run).run()?.expect_code(0)?;
        ctx.tree_is(&workspace, "f a \"a\\n\"\nf b \"a\\n\"\n")?;
        fs::remove_file(workspace.join("b")).map_err(|error| error.to_string())?;
    }
    // The session's record alone leads there again.
    call("localhost", "start base -w project --name s -- sleep 1000")
        .run()?
        .expect_code(0)?;
    call("localhost", "exec s -- cat a")
        .env("DOCKER_HOST", "")
        .env("DOCKER_TLS_VERIFY", "")
        .run()?
        .expect_code(0)?
        .expect_text("a")?;
    call("localhost", "stop s").run()?.expect_code(0)?;
    call("localhost", "rm --force s").run()?.expect_code(0)?;

    // A name that the certificate does not have; a client without one; another authority.
    for (host, prepare, said) in [
        (
            "127.0.0.2",
            &|| trusted(&authority) as _,
            "not valid for name",
        ),
        (
            "127.0.0.1",
            &|| {
                fs::remove_file(certificates.join("cert.pem"))
                    .and_then(|()| fs::remove_file(certificates.join("key.pem")))
                    .map_err(|error| error.to_string())
            },
            "certificate",
        ),
        (
            "127.0.0.1",
            &|| trusted(&Authority::new("another authority")),
            "UnknownIssuer",
        ),
    ] as [(&str, &dyn Fn() -> Result<(), String>, &str); 3]
    {
        prepare()?;
        call(host, "image ls")
            .run()?
            .expect_code(125)?
            .expect_text(said)?
            .expect_text("DOCKER_HOST")?;
    }
    let left = engine.objects(ctx)?;
    expect(&format!("nothing on the engine, of {left:?}"), || {
        left.is_empty()
    })
}
