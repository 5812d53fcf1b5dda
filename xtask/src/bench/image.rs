//! What images cost: a build with nothing to do, one of which only the last component
//! changed, and their sizes beside the sum of what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use xshell::{Cmd, Shell};

use crate::bench::figures::Spread;
use crate::project::{Porter, root, target_dir};
use crate::section::Section;

/// A build with nothing to do, in seconds.
const NOTHING_TO_DO: f64 = 2.0;
/// The claude image beside base and agent.
const CLAUDE: f64 = 1.1;

/// The image whose last component changes; its components are files of a line.
const RECIPE: &str = "description = \"A bench\"\nbase = \"base\"\n[components]\nbench-first = {}\nbench-middle = {}\nbench-last = {}\n";

/// A figure and what is promised of it.
struct Row {
    name: String,
    unit: &'static str,
    spread: Spread,
    target: Option<f64>,
}

/// Builds every shipped image where it is missing, on one engine, and measures.
pub(super) fn run(sh: &Shell, engine: &str, rounds: usize) -> Result<Value> {
    let lazaret = Porter::build(sh)?.build_lazaret(sh)?;
    let folder = target_dir(sh).join(format!("bench/image{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let place = Place {
        sh,
        lazaret: &lazaret,
        engine,
        folder: &folder,
    };
    let measured = place.measure(rounds);
    // Whatever came of it: no image of the bench's own stays.
    let removed = place
        .image(&["rm", "bench"])
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run();
    sh.remove_path(&folder)?;
    let (rows, sizes) = measured?;
    removed.context("remove the bench's image")?;
    println!("{}", table(&rows));
    Ok(json!({
        "engine": engine,
        "rounds": rounds,
        "sizes": sizes,
        "rows": rows.iter().map(row_json).collect::<Vec<_>>(),
    }))
}

struct Place<'a> {
    sh: &'a Shell,
    lazaret: &'a Path,
    engine: &'a str,
    folder: &'a Path,
}

impl Place<'_> {
    fn image(&self, arguments: &[&str]) -> Cmd<'_> {
        let config = self.folder.join("config");
        let cmd = self.sh.cmd(self.lazaret).arg("image").args(arguments);
        cmd.arg("--engine")
            .arg(self.engine)
            .env("XDG_CONFIG_HOME", config)
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let said = self.image(arguments).arg("--json").quiet().read()?;
        serde_json::from_str(&said).with_context(|| format!("lazaret image {arguments:?}"))
    }

    /// Seconds that a build takes, and whether it had nothing to do.
    fn build(&self, name: &str) -> Result<(f64, bool)> {
        let started = Instant::now();
        let built = self.json(&["build", name])?;
        Ok((started.elapsed().as_secs_f64(), built[0]["reused"] == true))
    }

    fn measure(&self, rounds: usize) -> Result<(Vec<Row>, Value)> {
        let names = shipped()?;
        for name in &names {
            let _section = Section::new(self.sh, "build what is missing");
            self.build(name)?;
        }
        let mut rows = Vec::new();
        {
            let _section = Section::new(self.sh, "nothing to do");
            for name in &names {
                rows.push(self.nothing_to_do(name, rounds)?);
            }
        }
        {
            let _section = Section::new(self.sh, "the last component");
            rows.extend(self.last_component(rounds)?);
        }
        let sizes = self.sizes(&names)?;
        rows.extend(size_rows(&sizes)?);
        let sizes = sizes.into_iter().map(|(name, size)| {
            let value = json!({ "image": size.image, "layers": size.layers });
            (name, value)
        });
        Ok((rows, Value::Object(sizes.collect())))
    }

    fn nothing_to_do(&self, name: &str, rounds: usize) -> Result<Row> {
        let mut seconds = Vec::new();
        for _ in 0..rounds {
            let (took, reused) = self.build(name)?;
            if !reused {
                bail!("image {name} was built again, and nothing had changed");
            }
            seconds.push(took);
        }
        row(
            format!("{name}: nothing to do"),
            "s",
            &seconds,
            Some(NOTHING_TO_DO),
        )
    }

    /// Builds of three components, and of the last alone.
    fn last_component(&self, rounds: usize) -> Result<Vec<Row>> {
        let images = self.folder.join("config/lazaret/images");
        self.sh.create_dir(images.join("components"))?;
        self.sh.create_dir(images.join("bench"))?;
        self.sh
            .write_file(images.join("bench/image.toml"), RECIPE)?;
        let (mut all, mut last) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            for name in ["bench-first", "bench-middle", "bench-last"] {
                self.component(&images, name, &format!("all{round}"))?;
            }
            all.push(self.build("bench")?.0);
            self.component(&images, "bench-last", &format!("last{round}"))?;
            last.push(self.build("bench")?.0);
        }
        let ratios: Vec<f64> = last
            .iter()
            .zip(&all)
            .map(|(last, all)| last / all)
            .collect();
        Ok(vec![
            row("three components".to_owned(), "s", &all, None)?,
            row("the last of them alone".to_owned(), "s", &last, None)?,
            row("the last / all three".to_owned(), "", &ratios, Some(1.0))?,
        ])
    }

    /// Never built before: no layer of an earlier bench is in the cache.
    fn component(&self, images: &Path, name: &str, text: &str) -> Result<()> {
        let mark = format!("{text} {}", std::process::id());
        let file = images.join(format!("components/{name}.toml"));
        let toml = format!(
            "description = \"{mark}\"\nverify = [\"grep -q . /opt/{name} && echo 1.0\"]\n\
             [[source]]\nname = \"script\"\ninstall = \"echo {mark} > /opt/{name}\"\n"
        );
        Ok(self.sh.write_file(file, toml)?)
    }

    /// Of each image, what the engine says of it and what its layers sum up to.
    fn sizes(&self, names: &[String]) -> Result<BTreeMap<String, Sizes>> {
        let locks = self.folder.join("locks");
        let mut sizes = BTreeMap::new();
        let listed = self.json(&["ls"])?;
        for name in names {
            self.sh.create_dir(locks.join(name))?;
            let place = locks.display().to_string();
            self.json(&["build", name, "--locks", &place])?;
            let lock = locks.join(name).join("lock.toml");
            let layers = match lock.is_file() {
                true => layers(&self.sh.read_file(&lock)?)?,
                false => Vec::new(),
            };
            let mut found = listed.as_array().into_iter().flatten();
            let image = found.find(|image| image["name"] == name.as_str());
            let image = image.and_then(|image| image["size"].as_u64());
            let image = image.with_context(|| format!("the engine says no size of {name}"))?;
            sizes.insert(name.clone(), Sizes { image, layers });
        }
        Ok(sizes)
    }
}

/// Bytes of an image, and of each of its layers but the porter's.
#[derive(Debug)]
struct Sizes {
    image: u64,
    layers: Vec<(String, u64)>,
}

impl Sizes {
    fn sum(&self) -> u64 {
        self.layers.iter().map(|(_, bytes)| bytes).sum()
    }

    fn layer(&self, name: &str) -> Option<u64> {
        let mut layers = self.layers.iter();
        layers
            .find(|(layer, _)| layer == name)
            .map(|(_, bytes)| *bytes)
    }
}

/// The images that come with lazaret, but for the porter, which is in all of them.
fn shipped() -> Result<Vec<String>> {
    let images = root().join("images");
    let mut names = Vec::new();
    for entry in fs::read_dir(&images).with_context(|| images.display().to_string())? {
        let entry = entry?;
        if entry.path().join("lock.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Reads names and sizes of layers from a lock file. xtask has no TOML reader.
fn layers(lock: &str) -> Result<Vec<(String, u64)>> {
    let mut layers: Vec<(String, u64)> = Vec::new();
    for line in lock.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            layers.push((name.trim_matches('"').to_owned(), 0));
        } else if let (Some(bytes), Some(layer)) =
            (line.strip_prefix("bytes = "), layers.last_mut())
        {
            layer.1 = bytes.parse().context("bytes of a layer")?;
        }
    }
    Ok(layers)
}

fn size_rows(sizes: &BTreeMap<String, Sizes>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, size) in sizes {
        let ratio = size.image as f64 / size.sum() as f64;
        let mib = size.image as f64 / f64::from(1 << 20);
        rows.push(row(format!("{name}: size"), "MiB", &[mib], None)?);
        rows.push(row(
            format!("{name}: size / sum of its layers"),
            "",
            &[ratio],
            None,
        )?);
    }
    let agent = sizes.get("claude").zip(sizes.get("base"));
    if let Some((claude, base)) = agent
        && let Some(agent) = claude.layer("claude")
    {
        let ratio = claude.image as f64 / (base.image + agent) as f64;
        rows.push(row(
            "claude / (base + agent)".to_owned(),
            "",
            &[ratio],
            Some(CLAUDE),
        )?);
    }
    Ok(rows)
}

fn row(name: String, unit: &'static str, values: &[f64], target: Option<f64>) -> Result<Row> {
    let spread = Spread::of(values).context("no rounds measure nothing: --rounds 1 at least")?;
    Ok(Row {
        name,
        unit,
        spread,
        target,
    })
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from("| what | median | rounds | target |\n|---|---:|---|---:|\n");
    for Row {
        name,
        unit,
        spread,
        target,
    } in rows
    {
        let target = target.map_or("–".to_owned(), |target| format!("{target} {unit}"));
        text.push_str(&format!(
            "| {name} | {:.2} {unit} | {:.2}..{:.2} | {target} |\n",
            spread.median, spread.min, spread.max
        ));
    }
    text
}

fn row_json(row: &Row) -> Value {
    json!({
        "name": row.name,
        "unit": row.unit,
        "median": row.spread.median,
        "min": row.spread.min,
        "max": row.spread.max,
        "target": row.target,
        "met": row.target.map(|target| row.spread.median <= target),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_says_how_large_each_layer_is() {
        let lock = "format = 1\n[[layer]]\nname = \"debian\"\nbytes = 7\n[layer.packages]\ngit = \"1\"\n\
            [[layer]]\nname = \"cc\"\nbytes = 35\n";
        let sizes = Sizes {
            image: 84,
            layers: layers(lock).expect("a lock"),
        };
        assert_eq!((sizes.sum(), sizes.layer("cc")), (42, Some(35)));
        let rows = size_rows(&BTreeMap::from([("x".to_owned(), sizes)])).expect("rows");
        assert_eq!(rows[1].spread.median, 2.0);
    }
}
