//! The programs of a cluster: Kubernetes built from Debian's source package, the rest unpacked
//! from Debian's packages. None of them is installed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use super::cgroups::Cgroups;
use super::daemons::contained;
use super::home::{Home, VERSION};
use super::pause;
use super::sources::PrivateApt;
use crate::engines::service::create_private;
use crate::section::Section;

/// Packages that are unpacked. A package that is installed could start a service.
const PACKAGES: [&str; 6] = [
    "golang-1.19-go",
    "golang-1.19-src",
    "etcd-server",
    "containerd",
    "runc",
    "containernetworking-plugins",
];

/// What a cluster uses of them.
const UNPACKED: [&str; 6] = [
    "usr/bin/etcd",
    "usr/bin/containerd",
    "usr/bin/containerd-shim-runc-v2",
    "usr/bin/ctr",
    "usr/sbin/runc",
    "usr/lib/cni",
];

const BUILT: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kubectl",
];

/// Without the clients of cloud vendors, and without the runtime of Docker.
const TAGS: &str = "providerless,dockerless";

/// The package that Debian's source package lacks, because its build generates it.
const OPENAPI: &str = "k8s.io/kubernetes/pkg/generated/openapi";
/// Folders with types that it describes.
const DESCRIBED: [&str; 4] = ["vendor/k8s.io", "pkg", "cmd", "plugin"];
/// What has the marks of such a folder and is none.
const NOT_DESCRIBED: [&str; 2] = [
    "vendor/k8s.io/code-generator",
    "vendor/k8s.io/sample-apiserver",
];

/// True if an earlier setup made them.
pub(super) fn are_there(home: &Home) -> bool {
    home.programs().is_dir()
}

/// Makes them, all or none.
pub(super) fn make(sh: &Shell, home: &Home, cgroups: &Cgroups) -> Result<()> {
    let build = Build {
        sh,
        cgroups,
        dir: build_dir(home),
    };
    remove_build(home)?;
    create_private(&build.dir.join("out/bin"))?;
    {
        let _section = Section::new(sh, "fetch packages and Kubernetes' source");
        build.fetch()?;
    }
    {
        let _section = Section::new(sh, &format!("build Kubernetes {VERSION}"));
        build.generate()?;
        build.build()?;
        build.make_pause_image()?;
    }
    create_private(home.programs().parent().unwrap_or(&home.dir))?;
    fs::rename(build.dir.join("out"), home.programs()).context("keep the programs")?;
    remove_build(home)
}

/// Removes what an interrupted build left.
pub(super) fn remove_build(home: &Home) -> Result<()> {
    let dir = build_dir(home);
    match dir.exists() {
        true => fs::remove_dir_all(&dir).with_context(|| format!("remove `{}`", dir.display())),
        false => Ok(()),
    }
}

fn build_dir(home: &Home) -> PathBuf {
    home.dir.join("build")
}

/// A build in a directory that is removed afterwards.
#[derive(Debug)]
struct Build<'a> {
    sh: &'a Shell,
    cgroups: &'a Cgroups,
    dir: PathBuf,
}

impl Build<'_> {
    fn fetch(&self) -> Result<()> {
        let (sh, dir) = (self.sh, &self.dir);
        let apt = PrivateApt::create(sh, self.cgroups, &dir.join("apt"))?;
        let packages = sh.create_dir(dir.join("packages"))?;
        let _directory = sh.push_dir(&packages);
        let download = [["download"].as_slice(), &PACKAGES].concat();
        apt.run(sh, self.cgroups, &download)?;
        for package in with_ending(&packages, "deb")? {
            let root = dir.join("root");
            cmd!(sh, "dpkg-deb --extract {package} {root}")
                .quiet()
                .run()?;
        }
        for path in UNPACKED {
            let from = dir.join("root").join(path);
            let name = Path::new(path).file_name().context("a path has a name")?;
            fs::rename(&from, dir.join("out/bin").join(name))
                .with_context(|| format!("take `{}` out of its package", from.display()))?;
        }
        apt.run(
            sh,
            self.cgroups,
            &["source", "--download-only", "kubernetes"],
        )?;
        let description = with_ending(&packages, "dsc")?;
        let [description] = description.as_slice() else {
            bail!(
                "apt-get brought {} source packages instead of one",
                description.len()
            );
        };
        // apt has checked it: its digest is in the release's signed list.
        let source = self.source();
        cmd!(
            sh,
            "dpkg-source --no-check --extract {description} {source}"
        )
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .context("unpack Kubernetes' source")?;
        sh.create_dir(dir.join("go/src/k8s.io"))?;
        symlink(&source, self.workspace()).context("link the source into a Go workspace")
    }

    fn generate(&self) -> Result<()> {
        let generator = self.dir.join("openapi-gen");
        let report = self.dir.join("violations");
        let [generator, report] = [&generator, &report].map(|path| path.display().to_string());
        let command = "./vendor/k8s.io/kube-openapi/cmd/openapi-gen";
        self.go(&["build", "-o", &generator, command])?;
        let packages = self.described()?.join(",");
        self.run(&[
            &generator,
            "--input-dirs",
            &packages,
            "--output-package",
            OPENAPI,
            "--output-file-base",
            "zz_generated.openapi",
            "--go-header-file",
            "vendor/k8s.io/code-generator/hack/boilerplate.go.txt",
            "--report-filename",
            &report,
        ])
        .context("generate the description of the API")
    }

    /// Packages with a type that asks to be described.
    fn described(&self) -> Result<Vec<String>> {
        let sh = self.sh;
        let _directory = sh.push_dir(self.workspace());
        // `-R` follows the links of `vendor` into `staging`.
        let files = cmd!(
            sh,
            "grep -Rl --include=*.go +k8s:openapi-gen= {DESCRIBED...}"
        )
        .quiet()
        .read()?;
        Ok(packages_of(&files))
    }

    fn build(&self) -> Result<()> {
        let out = format!("{}/", self.dir.join("out/bin").display());
        let [major, minor] = [0, 1].map(|at| VERSION.split('.').nth(at).unwrap_or_default());
        // In a Go workspace a vendored package has the path of its folder.
        let version = "-X k8s.io/kubernetes/vendor/k8s.io/component-base/version.git";
        let flags = format!(
            "-s -w {version}Version=v{VERSION} {version}Major={major} {version}Minor={minor}"
        );
        let commands = BUILT.map(|name| format!("./cmd/{name}"));
        let mut argv = vec!["build", "-tags", TAGS, "-ldflags", &flags, "-o", &out];
        argv.extend(commands.iter().map(String::as_str));
        self.go(&argv)
    }

    fn make_pause_image(&self) -> Result<()> {
        let [source, program] = ["pause.go", "pause"].map(|name| self.dir.join(name));
        fs::write(&source, pause::SOURCE)?;
        let argv = ["build", "-ldflags=-s -w", "-o"].map(str::to_owned);
        let paths = [&program, &source].map(|path| path.display().to_string());
        let argv: Vec<&str> = argv.iter().chain(&paths).map(String::as_str).collect();
        self.go(&argv)?;
        pause::write_image(&program, &self.dir.join("out/pause.tar"))
    }

    fn go(&self, arguments: &[&str]) -> Result<()> {
        let go = self.dir.join("root/usr/lib/go-1.19/bin/go");
        let go = go.display().to_string();
        let argv: Vec<&str> = [go.as_str()].iter().chain(arguments).copied().collect();
        self.run(&argv)
            .with_context(|| format!("go {}", arguments.first().unwrap_or(&"")))
    }

    /// Runs a program in the Go workspace, with half the processors and below other work.
    fn run(&self, argv: &[&str]) -> Result<()> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let argv = [["nice"].as_slice(), argv].concat();
        let workspace = self.workspace();
        let _directory = self.sh.push_dir(&workspace);
        contained(self.sh, self.cgroups, &argv)
            .quiet()
            // Go finds out by it that the directory is one of the workspace's.
            .env("PWD", &workspace)
            .env("GOROOT", self.dir.join("root/usr/lib/go-1.19"))
            .env("GOPATH", self.dir.join("go"))
            .env("GOCACHE", self.dir.join("cache"))
            .env("GO111MODULE", "off")
            .env("GOFLAGS", format!("-p={}", processors.div_ceil(2)))
            .env("GOMAXPROCS", processors.div_ceil(2).to_string())
            .env("CGO_ENABLED", "0")
            .run()?;
        Ok(())
    }

    fn source(&self) -> PathBuf {
        self.dir.join("source")
    }

    fn workspace(&self) -> PathBuf {
        self.dir.join("go/src/k8s.io/kubernetes")
    }
}

fn with_ending(dir: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(dir)?.flatten().map(|entry| entry.path());
    Ok(files
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect())
}

/// Returns the packages of Go files, sorted.
fn packages_of(files: &str) -> Vec<String> {
    let mut packages: Vec<String> = files
        .lines()
        .filter(|file| NOT_DESCRIBED.iter().all(|other| !file.starts_with(other)))
        .filter(|file| !file.contains("/generators/"))
        .filter_map(|file| Some(format!("k8s.io/kubernetes/{}", file.rsplit_once('/')?.0)))
        .collect();
    packages.sort();
    packages.dedup();
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_described_once_and_generators_never() {
        let files = "pkg/b/x.go\npkg/a/x.go\npkg/a/y.go\nvendor/k8s.io/code-generator/z.go\n\
                     vendor/k8s.io/kube-openapi/pkg/generators/g.go\n";
        assert_eq!(
            packages_of(files),
            ["k8s.io/kubernetes/pkg/a", "k8s.io/kubernetes/pkg/b"]
        );
    }
}
