//! A new session with PostgreSQL beside its command, and the same of two plain containers, from
//! Enter to the command's first byte after the server is ready.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use xshell::Shell;

use super::{profile, workspace};
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::timing::{self, GREET, Stream};

/// As the image's own service, with its data in the container.
const SERVER: &str = "initdb -D /tmp/data -U postgres -A trust; \
    exec postgres -D /tmp/data -c listen_addresses=localhost -c unix_socket_directories=/tmp";

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let image = station.build("postgres")?;
    let keys = "image = \"postgres\"\nservices.db = { image = \"postgres\" }\n";
    let profile = profile(scratch, "database", keys)?;
    let engine = Some(station.cli.name);
    for round in 0..=rounds {
        let own = session(sh, station, scratch, &profile, round)?;
        let reference = plain(sh, station, &image, round)?;
        if round > 0 {
            figures.add((engine, Series::ServiceStart), own.as_secs_f64() * 1e3);
            figures.add(
                (engine, Series::PlainServiceStart),
                reference.as_secs_f64() * 1e3,
            );
        }
    }
    Ok(())
}

fn session(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    profile: &str,
    round: usize,
) -> Result<Duration> {
    let name = station.name("database", round);
    let workspace = workspace(scratch, &name)?;
    timing::settle(sh)?;
    let run = ["run", profile, "-w", &workspace, "--name", &name];
    let run = station.lazaret(&[&run[..], &["--", "sh", "-c", GREET]].concat());
    let greeted = timing::greeted(run, Stream::Stdout)?;
    timing::done(station.lazaret(&["rm", &name]))?;
    Ok(greeted.after)
}

/// The server in one container, and in its network the command, which waits for it.
fn plain(sh: &Shell, station: &EngineUnderTest<'_>, image: &str, round: usize) -> Result<Duration> {
    let name = station.name("server", round);
    let run = |arguments: &[&str], script: &str| {
        let run = station.cli.cmd(sh).arg("run").args(arguments);
        run.args(["--entrypoint", "sh", image, "-ec", script])
    };
    let server = run(&["-d", "--name", &name, "--network", "none"], SERVER);
    let server = timing::whole(sh, server)?;
    let network = format!("container:{name}");
    let client = format!("until pg_isready -q -h localhost; do sleep 0.05; done; {GREET}");
    let client = run(&["--rm", "--network", &network], &client);
    let client = timing::greeted(client, Stream::Stdout)?.after;
    let remove = station.cli.cmd(sh).args(["rm", "--force", &name]);
    remove.ignore_stdout().run()?;
    Ok(server + client)
}
