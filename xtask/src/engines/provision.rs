//! Does the steps of a plan: packages, an account, three daemons.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use super::machine::{Account, Authority, Init, Machine, SSH_SERVER, SYSTEM_PATH};
use super::ping;
use super::plan::{SUBIDS, Step, TUN};
use super::service::{self, DOCKER, PODMAN, ROOTLESS};

impl Step {
    /// Does it; the machine's facts change with it.
    pub(crate) fn run(&self, sh: &Shell, machine: &mut Machine) -> Result<()> {
        match self {
            Self::Install(packages) => install(sh, machine, packages),
            Self::CreateUser(name) => {
                cmd!(
                    sh,
                    "useradd --create-home --user-group --shell /usr/sbin/nologin {name}"
                )
                .env("PATH", &machine.path)
                .run()?;
                machine.refresh_rootless()
            }
            Self::AddSubids(name) => add_subids(sh, machine, name),
            Self::OpenTun => open_tun(sh, machine.authority),
            Self::StartDocker(Init::Systemd) => {
                root_command(
                    sh,
                    machine.authority,
                    &["systemctl", "start", "docker.service"],
                )?;
                wait(&machine.docker_socket())
            }
            Self::StartDocker(Init::None) => start_docker(sh, machine),
            Self::StartPodman(Init::Systemd) => {
                root_command(
                    sh,
                    machine.authority,
                    &["systemctl", "start", "podman.socket"],
                )?;
                wait(&machine.podman_socket())
            }
            Self::StartPodman(Init::None) => start_podman(sh, machine),
            Self::StartRootless(init) => start_rootless(sh, machine, *init),
        }
    }
}

/// Runs a program as root. What it says goes to stderr.
fn root_command(sh: &Shell, authority: Authority, argv: &[&str]) -> Result<()> {
    let command = match authority {
        Authority::Root => sh.cmd(argv[0]).args(&argv[1..]),
        Authority::Sudo => sh.cmd("sudo").args(argv),
        Authority::User => bail!("only root can run `{}`", argv.join(" ")),
    };
    eprintln!("$ {command}");
    let status = Command::from(command).stdout(std::io::stderr()).status();
    let status = status.with_context(|| format!("run `{}`", argv[0]))?;
    match status.success() {
        true => Ok(()),
        false => bail!("`{}` failed: {status}", argv.join(" ")),
    }
}

fn install(sh: &Shell, machine: &Machine, packages: &[&str]) -> Result<()> {
    let (authority, init) = (machine.authority, machine.init);
    root_command(sh, authority, &["apt-get", "update", "-qq"])?;
    let mut argv = vec![
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "install",
        "--yes",
        "--no-install-recommends",
    ];
    argv.extend(packages);
    root_command(sh, authority, &argv)?;
    if packages.contains(&SSH_SERVER) && init == Init::Systemd {
        let units = ["ssh.service", "ssh.socket"];
        let off = [["systemctl", "disable", "--now"].as_slice(), &units].concat();
        root_command(sh, authority, &off)?;
    }
    Ok(())
}

fn add_subids(sh: &Shell, machine: &mut Machine, name: &str) -> Result<()> {
    if machine.rootless.has_subids {
        // useradd gave one: it depends on the machine's login.defs.
        return Ok(());
    }
    let used = |file: &str| next_free(&fs::read_to_string(file).unwrap_or_default());
    let first = used("/etc/subuid").max(used("/etc/subgid"));
    let range = format!("{first}-{}", first + SUBIDS - 1);
    let mut argv = vec!["usermod", "--add-subuids", &range, "--add-subgids", &range];
    argv.push(name);
    root_command(sh, machine.authority, &argv)?;
    machine.refresh_rootless()
}

/// First id after all ranges of an `/etc/subuid`.
fn next_free(text: &str) -> u32 {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split(':').skip(1);
            let first: u32 = fields.next()?.parse().ok()?;
            let count: u32 = fields.next()?.parse().ok()?;
            first.checked_add(count)
        })
        .fold(100_000, u32::max)
}

fn open_tun(sh: &Shell, authority: Authority) -> Result<()> {
    if !Path::new(TUN).exists() {
        root_command(sh, authority, &["mkdir", "-p", "/dev/net"])?;
        root_command(sh, authority, &["mknod", TUN, "c", "10", "200"])?;
    }
    root_command(sh, authority, &["chmod", "0666", TUN])
}

fn start_docker(sh: &Shell, machine: &Machine) -> Result<()> {
    let socket = machine.docker_socket();
    let environment = environment(sh, &[]);
    for (file, program) in [
        ("/var/run/docker.pid", "dockerd"),
        ("/var/run/docker/containerd/containerd.pid", "containerd"),
    ] {
        remove_stale_pid(Path::new(file), program)?;
    }
    let mut argv = vec![machine.program("dockerd")?];
    let Err(error) = DOCKER.start(sh, &machine.state, &argv, &environment, &socket) else {
        return Ok(());
    };
    let log = fs::read_to_string(DOCKER.log(&machine.state)).unwrap_or_default();
    if !is_network_trouble(&log) {
        return Err(error);
    }
    eprintln!(
        "dockerd can't make its bridge here; starting it without one: containers have no network"
    );
    argv.extend(["--bridge=none", "--iptables=false"].map(str::to_owned));
    DOCKER.start(sh, &machine.state, &argv, &environment, &socket)
}

/// Removes the pid file of a process that is gone. dockerd takes any process that has got
/// the number since for itself, and then refuses to start.
fn remove_stale_pid(file: &Path, program: &str) -> Result<()> {
    let Ok(pid) = fs::read_to_string(file) else {
        return Ok(());
    };
    let command_line = fs::read(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
    if String::from_utf8_lossy(&command_line).contains(program) {
        return Ok(());
    }
    fs::remove_file(file).with_context(|| format!("remove {}", file.display()))
}

/// True when dockerd gave up over its bridge or its packet filter.
fn is_network_trouble(log: &str) -> bool {
    log.lines()
        .filter(|line| line.contains("failed to start daemon"))
        .any(|line| {
            ["network controller", "iptables", "bridge"]
                .iter()
                .any(|word| line.contains(word))
        })
}

fn start_podman(sh: &Shell, machine: &Machine) -> Result<()> {
    let socket = machine.podman_socket();
    service::create_private(&machine.state)?;
    let conf = machine.state.join("containers.conf");
    fs::write(&conf, containers_conf(machine))?;
    service::create_private(socket.parent().expect("the socket lies in a directory"))?;
    remove_stale(&socket)?;
    let mut argv = podman_service(&socket);
    argv.insert(0, machine.program("podman")?);
    let environment = environment(sh, &[("CONTAINERS_CONF", &conf)]);
    PODMAN.start(sh, &machine.state, &argv, &environment, &socket)
}

fn start_rootless(sh: &Shell, machine: &Machine, init: Init) -> Result<()> {
    let name = &machine.rootless.name;
    let account = machine
        .rootless
        .account
        .as_ref()
        .context("the user does not exist")?;
    let runtime_dir = machine.runtime_dir().context("the user does not exist")?;
    let socket = machine
        .rootless_socket()
        .context("the user does not exist")?;
    if init == Init::Systemd {
        root_command(sh, machine.authority, &["loginctl", "enable-linger", name])?;
        let user = format!("--machine={name}@.host");
        root_command(
            sh,
            machine.authority,
            &["systemctl", "--user", &user, "start", "podman.socket"],
        )?;
        return wait(&socket);
    }

    make_runtime_dir(sh, machine.authority, &runtime_dir, account)?;
    remove_stale(&socket)?;
    let conf_dir = account.home.join(".config/lazaret");
    let conf = conf_dir.join("containers.conf");
    give_directory(sh, machine.authority, &conf_dir, account)?;
    fs::write(&conf, containers_conf(machine))?;

    let mut podman = Vec::new();
    if machine.authority == Authority::Root {
        podman.extend([
            "setpriv".to_owned(),
            format!("--reuid={}", account.uid),
            format!("--regid={}", account.gid),
            "--init-groups".to_owned(),
        ]);
    }
    podman.push(machine.program("podman")?);
    // The default may be vfs, which copies a whole root for each container.
    podman.push("--storage-driver=overlay".to_owned());
    let environment = environment(
        sh,
        &[
            ("CONTAINERS_CONF", &conf),
            ("HOME", &account.home),
            ("XDG_RUNTIME_DIR", &runtime_dir),
        ],
    );
    let service = [podman.clone(), podman_service(&socket)].concat();
    let Err(error) = ROOTLESS.start(sh, &machine.state, &service, &environment, &socket) else {
        return Ok(());
    };
    let log = fs::read_to_string(ROOTLESS.log(&machine.state)).unwrap_or_default();
    if !is_lost_namespace(&log) {
        return Err(error);
    }
    eprintln!(
        "the processes of `{name}`'s containers were killed with the namespace that they held; \
         telling Podman so (podman system migrate)"
    );
    migrate(sh, &podman, &environment)?;
    ROOTLESS.start(sh, &machine.state, &service, &environment, &socket)
}

/// True when rootless Podman looks for its user namespace among processes that are all gone:
/// its records still call their containers running, as no reboot has emptied the runtime
/// directory (`SetupRootless` of Podman 4).
fn is_lost_namespace(log: &str) -> bool {
    log.lines()
        .any(|line| line.contains("invalid internal status") && line.contains("system migrate"))
}

/// Has Podman write down that those containers ended. None of them runs: one process alive
/// would have been a namespace to join.
fn migrate(sh: &Shell, podman: &[String], environment: &[(String, String)]) -> Result<()> {
    let (program, arguments) = podman.split_first().context("no program")?;
    // Root's own directories are closed to the account.
    let _directory = sh.push_dir("/");
    sh.cmd(program)
        .args(arguments)
        .args(["system", "migrate"])
        .env_clear()
        .envs(environment.iter().cloned())
        .ignore_stdout()
        .quiet()
        .run()
        .context("podman system migrate")
}

fn podman_service(socket: &Path) -> Vec<String> {
    vec![
        "system".to_owned(),
        "service".to_owned(),
        "--time=0".to_owned(),
        format!("unix://{}", socket.display()),
    ]
}

/// A socket without a listener keeps Podman from binding.
fn remove_stale(socket: &Path) -> Result<()> {
    match socket.exists() {
        true => fs::remove_file(socket).with_context(|| format!("remove `{}`", socket.display())),
        false => Ok(()),
    }
}

fn make_runtime_dir(
    sh: &Shell,
    authority: Authority,
    runtime_dir: &Path,
    account: &Account,
) -> Result<()> {
    if !runtime_dir.is_dir() {
        let (dir, uid, gid) = (runtime_dir.display(), account.uid, account.gid);
        let (dir, owner) = (dir.to_string(), format!("{uid}:{gid}"));
        root_command(sh, authority, &["mkdir", "-p", &dir])?;
        root_command(sh, authority, &["chmod", "0700", &dir])?;
        root_command(sh, authority, &["chown", &owner, &dir])?;
    }
    give_directory(sh, authority, &runtime_dir.join("podman"), account)
}

/// Makes a directory that belongs to the rootless user.
fn give_directory(
    sh: &Shell,
    authority: Authority,
    directory: &Path,
    account: &Account,
) -> Result<()> {
    if authority != Authority::Root {
        return service::create_private(directory);
    }
    let (uid, gid) = (account.uid.to_string(), account.gid.to_string());
    // As the user itself: a link that the user planted leads nowhere new.
    cmd!(
        sh,
        "setpriv --reuid={uid} --regid={gid} --init-groups mkdir -p -m 0700 {directory}"
    )
    .quiet()
    .run()?;
    Ok(())
}

/// The settings of the services that setup starts; nothing else on the machine reads them.
fn containers_conf(machine: &Machine) -> String {
    let mut text =
        String::from("# Written by `cargo xtask setup` for the services that it starts.\n");
    if let Some(limits) = machine.podman.ulimits {
        text.push_str("[containers]\n");
        text.push_str(&format!(
            "default_ulimits = [\"nofile={0}:{0}\", \"nproc={1}:{1}\"]\n",
            limits.nofile, limits.nproc
        ));
    }
    text.push_str("[engine]\n");
    if machine.init == Init::None {
        text.push_str("cgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n");
    }
    if let Some(runtime) = machine.podman.runtime {
        text.push_str(&format!("runtime = \"{runtime}\"\n"));
    }
    text
}

/// What a daemon sees of our environment: the search path and the way to the network.
fn environment(sh: &Shell, own: &[(&str, &PathBuf)]) -> Vec<(String, String)> {
    let mut environment = vec![("PATH".to_owned(), SYSTEM_PATH.to_owned())];
    const PASSED: [&str; 10] = [
        "HOME",
        "LANG",
        "TMPDIR",
        "SSL_CERT_FILE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    ];
    for name in PASSED {
        if own.iter().all(|(other, _)| *other != name)
            && let Ok(value) = sh.var(name)
        {
            environment.push((name.to_owned(), value));
        }
    }
    environment
        .into_iter()
        .chain(
            own.iter()
                .map(|(name, value)| ((*name).to_owned(), value.display().to_string())),
        )
        .collect()
}

fn wait(socket: &Path) -> Result<()> {
    match service::wait_until(Duration::from_secs(60), || ping::answers(socket)) {
        true => Ok(()),
        false => bail!("no answer on `{}`", socket.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_range_starts_after_every_other() {
        assert_eq!(next_free(""), 100_000);
        assert_eq!(next_free("a:100000:65536\nb:165536:65536\n"), 231_072);
        assert_eq!(next_free("a:1:2:3\nnonsense\n"), 100_000);
    }

    #[test]
    fn only_a_daemon_that_gave_up_over_its_network_is_started_without_one() {
        assert!(is_network_trouble(
            "failed to start daemon: Error initializing network controller: no chain\n"
        ));
        assert!(!is_network_trouble(
            "level=warning msg=\"bridge-nf-call-iptables is disabled\"\n"
        ));
        assert!(!is_network_trouble(
            "failed to start daemon: no space left\n"
        ));
    }

    #[test]
    fn a_namespace_is_lost_where_podman_asks_for_a_migration() {
        for end in [
            "could not find any running process: no such process",
            "cannot re-exec process to join the existing user namespace",
        ] {
            assert!(is_lost_namespace(&format!(
                "level=warning msg=\"\\\"/\\\" is not a shared mount\"\nlevel=error \
                 msg=\"invalid internal status, try resetting the pause process with \
                 \\\"/usr/bin/podman system migrate\\\": {end}\"\n"
            )));
        }
        assert!(!is_lost_namespace(
            "level=error msg=\"unable to open database: no space left on device\"\n"
        ));
    }
}
