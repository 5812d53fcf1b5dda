//! Specs to the arguments of Apple `container`; pure.

use std::collections::BTreeMap;

use crate::{Access, ContainerName, ExecSpec, HardenedSpec, Stdin, VolumeName};

const MIB: u64 = 1 << 20;

/// Arguments, and variables that the command takes over from its own environment
/// (`--env NAME`): a value may be a secret, and arguments are readable by every user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) argv: Vec<String>,
    pub(super) inherited: BTreeMap<String, String>,
}

impl Arguments {
    fn new(words: &[&str]) -> Self {
        Self {
            argv: words.iter().map(|&word| word.to_owned()).collect(),
            inherited: BTreeMap::new(),
        }
    }

    fn add(&mut self, option: &str, value: impl Into<String>) {
        self.argv.push(option.to_owned());
        self.argv.push(value.into());
    }

    fn env(&mut self, name: &str, value: &str) {
        if steers_the_command(name) {
            // Of these the command itself must keep its own. None of them is a secret.
            self.add("--env", format!("{name}={value}"));
        } else {
            self.add("--env", name);
            self.inherited.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// Whether a variable would change what the command on the host does.
fn steers_the_command(name: &str) -> bool {
    ["PATH", "HOME", "USER", "LANG", "TMPDIR"].contains(&name)
        || ["DYLD_", "CONTAINER_", "LC_", "NS", "CF", "OBJC_", "Malloc"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Returns arguments as they are.
pub(super) fn plain(words: &[&str]) -> Arguments {
    Arguments::new(words)
}

/// `volume create`.
pub(super) fn create_volume(name: &VolumeName, labels: &BTreeMap<String, String>) -> Arguments {
    let mut arguments = Arguments::new(&["volume", "create"]);
    for (key, value) in labels {
        arguments.add("--label", format!("{key}={value}"));
    }
    arguments.argv.push(name.as_str().to_owned());
    arguments
}

/// `create`.
pub(super) fn create_container(spec: &HardenedSpec) -> Arguments {
    let wanted = spec.spec();
    let controls = spec.controls();
    let mut arguments = Arguments::new(&["create", "--name", wanted.name.as_str()]);
    for (key, value) in &wanted.labels {
        arguments.add("--label", format!("{key}={value}"));
    }
    arguments.add(
        "--user",
        format!("{}:{}", controls.user.uid, controls.user.gid),
    );
    arguments.add("--workdir", wanted.workdir.clone());
    // Whole cores of a machine of its own, and whole MiB.
    let cores = controls.nano_cpus.div_ceil(1_000_000_000).max(1);
    arguments.add("--cpus", cores.to_string());
    arguments.add("--memory", format!("{}M", controls.memory.div_ceil(MIB)));
    for ulimit in &controls.ulimits {
        let (name, limit) = (ulimit.resource.name(), ulimit.limit);
        arguments.add("--ulimit", format!("{name}={limit}:{limit}"));
    }
    if controls.read_only_rootfs {
        arguments.argv.push("--read-only".to_owned());
    }
    for capability in &controls.cap_drop {
        arguments.add("--cap-drop", *capability);
    }
    for capability in &controls.cap_add {
        arguments.add("--cap-add", format!("CAP_{capability}"));
    }
    arguments.add("--network", &*controls.network);
    arguments.argv.push("--no-dns".to_owned());
    arguments.add(
        "--shm-size",
        format!("{}M", controls.shm_size.div_ceil(MIB)),
    );
    for tmpfs in &controls.tmpfs {
        let (target, size, mode) = (&tmpfs.target, tmpfs.size, tmpfs.mode);
        arguments.add(
            "--mount",
            format!("type=tmpfs,target={target},size={size},mode={mode:o}"),
        );
    }
    for mount in &wanted.volumes {
        let access = match mount.access {
            Access::ReadOnly => ",readonly",
            Access::ReadWrite => "",
        };
        let (volume, target) = (&mount.volume, &mount.target);
        arguments.add(
            "--mount",
            format!("type=volume,source={volume},target={target}{access}"),
        );
    }
    for (name, value) in &controls.env {
        arguments.env(name, value);
    }
    // The rest of the entrypoint, and the command, are arguments behind the image.
    let mut words = controls.entrypoint.iter().chain(controls.cmd);
    if let Some(program) = words.next() {
        arguments.add("--entrypoint", *program);
    }
    arguments.argv.push(wanted.image.as_str().to_owned());
    arguments.argv.extend(words.map(|&word| word.to_owned()));
    arguments
}

/// `exec`.
pub(super) fn exec(name: &ContainerName, spec: &ExecSpec) -> Arguments {
    let mut arguments = Arguments::new(&["exec"]);
    if spec.stdin == Stdin::Piped {
        arguments.argv.push("--interactive".to_owned());
    }
    if let Some(workdir) = &spec.workdir {
        arguments.add("--workdir", workdir.clone());
    }
    for (name, value) in &spec.env {
        arguments.env(name.as_str(), value);
    }
    arguments.argv.push(name.as_str().to_owned());
    arguments.argv.extend(spec.argv.iter().cloned());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apple::parse;
    use crate::{
        ContainerSpec, Limits, Network, Privilege, Role, Terminal, VolumeMount, WhenAbandoned,
    };

    fn spec() -> HardenedSpec {
        let info = parse::engine_info(
            "container",
            br#"[{"appName":"container","version":"1.2.2"}]"#,
        )
        .unwrap();
        let spec = ContainerSpec {
            name: "lazaret-s-agent".parse().unwrap(),
            role: Role::Agent,
            image: "lazaret/base:1".parse().unwrap(),
            privilege: Privilege::Agent,
            volumes: vec![VolumeMount {
                volume: "lazaret-s-workspace".parse().unwrap(),
                target: "/workspace".to_owned(),
                access: Access::ReadOnly,
            }],
            network: Network::None,
            hosts: Vec::new(),
            env: BTreeMap::from([("API_KEY".parse().unwrap(), "secret".to_owned())]),
            workdir: "/workspace".to_owned(),
            limits: Limits {
                memory: 1 << 30,
                cpus: 1.5,
                pids: 100,
                tmp: 64 * MIB,
                shm: MIB,
                home: 32 * MIB,
                nofile: 1024,
                fsize: 1 << 30,
            },
            labels: BTreeMap::from([("io.lazaret.session".to_owned(), "s".to_owned())]),
        };
        HardenedSpec::new(spec, &info).unwrap()
    }

    /// One option a line.
    fn show(arguments: &Arguments) -> String {
        let text = arguments.argv.join(" ").replace(" --", "\n--");
        text.replace(" lazaret/", "\nlazaret/")
    }

    #[test]
    fn a_container_is_created_with_every_flag_there_is() {
        let arguments = create_container(&spec());
        insta::assert_snapshot!(show(&arguments), @"
        create
        --name lazaret-s-agent
        --label io.lazaret.session=s
        --user 1000:1000
        --workdir /workspace
        --cpus 2
        --memory 1024M
        --ulimit core=0:0
        --ulimit fsize=1073741824:1073741824
        --ulimit nofile=1024:1024
        --ulimit nproc=100:100
        --read-only
        --cap-drop ALL
        --network none
        --no-dns
        --shm-size 1M
        --mount type=tmpfs,target=/run,size=16777216,mode=1777
        --mount type=tmpfs,target=/tmp,size=67108864,mode=1777
        --mount type=tmpfs,target=/var/tmp,size=67108864,mode=1777
        --mount type=tmpfs,target=/home/agent,size=33554432,mode=1777
        --mount type=volume,source=lazaret-s-workspace,target=/workspace,readonly
        --env API_KEY
        --env HOME=/home/agent
        --env LANG=C.UTF-8
        --env LAZARET
        --env LAZARET_SESSION
        --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        --entrypoint /lazaret/porter
        lazaret/base:1 init
        ");
        assert_eq!(
            arguments.inherited.get("API_KEY").map(String::as_str),
            Some("secret")
        );
        assert!(!arguments.argv.iter().any(|word| word.contains("secret")));
    }

    #[test]
    fn a_process_keeps_its_words_apart() {
        let spec = ExecSpec {
            argv: vec![
                "/lazaret/porter".into(),
                "run".into(),
                "--".into(),
                "a b; c".into(),
            ],
            env: BTreeMap::from([
                ("PATH".parse().unwrap(), "/bin".to_owned()),
                ("TOKEN".parse().unwrap(), "secret".to_owned()),
            ]),
            workdir: None,
            stdin: Stdin::Piped,
            terminal: Terminal::None,
            when_abandoned: WhenAbandoned::Leave,
        };
        let arguments = exec(&"c".parse().unwrap(), &spec);
        assert_eq!(
            arguments.argv,
            [
                "exec",
                "--interactive",
                "--env",
                "PATH=/bin",
                "--env",
                "TOKEN",
                "c",
                "/lazaret/porter",
                "run",
                "--",
                "a b; c"
            ]
        );
    }
}
