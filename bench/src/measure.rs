//! The rounds: everything in turn, each thing once per round.
//!
//! A slow minute slows all of them then, and ratios are taken round by round. Nothing is
//! deleted before the end and no name is used twice: on ext4 every create pays for what was
//! deleted in the minutes before.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use xshell::{Shell, cmd};

use super::corpus::{Corpus, Size};
use super::figures::Figures;
use super::series::{Key, Series};
use super::station::{EngineUnderTest, tar};
use super::timing::{self, GREET};

/// Files that the command changes, of many.
const FEW: usize = 20;

/// What is measured, and on what.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) sh: &'a Shell,
    pub(super) stations: Vec<EngineUnderTest<'a>>,
    pub(super) small: Corpus,
    pub(super) medium: Corpus,
    pub(super) large: Option<Corpus>,
    pub(super) scratch: &'a Path,
    pub(super) wanted: BTreeSet<Key>,
    pub(super) has_rsync: bool,
}

/// The large tree takes so long, and so much room, that this must do.
const MOST_LARGE_ROUNDS: usize = 2;

impl Bench<'_> {
    /// Whether any row needs one of these.
    fn wants(&self, keys: &[Key]) -> bool {
        keys.iter().any(|key| self.wanted.contains(key))
    }

    /// Measures `rounds` times, once everything is warm.
    pub(super) fn measure(&self, rounds: usize, figures: &mut Figures) -> Result<()> {
        self.warm_up()?;
        for round in 1..=rounds {
            let start = Instant::now();
            self.host(round, figures)?;
            for station in &self.stations {
                self.medium(station, round, figures)?;
                self.small(station, round, figures)?;
                if round <= MOST_LARGE_ROUNDS {
                    self.large(station, round, figures)?;
                }
            }
            let took = start.elapsed().as_secs_f64();
            eprintln!("round {round} of {rounds}: {took:.0} s");
        }
        Ok(())
    }

    /// Brings each engine to life.
    fn warm_up(&self) -> Result<()> {
        for station in &self.stations {
            station.plain_run()?;
            station.run(&self.small, &station.name("warm", 0), GREET, &[])?;
        }
        Ok(())
    }

    /// Bytes that so many rounds leave behind until the end, at most.
    pub(super) fn room(&self, rounds: usize) -> u64 {
        // The floor; by hand in and out; `cp`; few changes, from the pool, kept with a pool; all
        // of it in and out; and the texts that four sessions keep of it.
        const PER_ENGINE: u64 = 13;
        const ON_HOST: u64 = 1;
        const LARGE: u64 = 5;
        let (rounds, engines) = (rounds as u64, self.stations.len() as u64);
        let large = self.large.as_ref().map_or(0, |large| large.bytes);
        let large_rounds = rounds.min(MOST_LARGE_ROUNDS as u64);
        let medium = rounds * (ON_HOST + engines * PER_ENGINE) * self.medium.bytes;
        // Small files take whole blocks.
        (medium + large_rounds * LARGE * large) * 6 / 5
    }

    fn host(&self, round: usize, figures: &mut Figures) -> Result<()> {
        if self.has_rsync && self.wants(&[(None, Series::HostRsync)]) {
            let source = format!("{}/", self.medium.path.display());
            let target = self.scratch.join(format!("rsync-{round}"));
            timing::warm(self.sh, &self.medium.path)?;
            let took = timing::whole(self.sh, cmd!(self.sh, "rsync -a {source} {target}").quiet())?;
            add(figures, (None, Series::HostRsync), took);
        }
        Ok(())
    }

    /// The floor: the same files, no engine.
    fn host_tar(&self, corpus: &Corpus, name: &str) -> Result<Duration> {
        let target = self.scratch.join(name);
        self.sh.create_dir(&target)?;
        let unpack = cmd!(self.sh, "tar -C {target} -x -f -").quiet();
        timing::warm(self.sh, &corpus.path)?;
        timing::piped(self.sh, tar(self.sh, corpus), unpack)
    }

    fn medium(
        &self,
        station: &EngineUnderTest<'_>,
        round: usize,
        figures: &mut Figures,
    ) -> Result<()> {
        let key = |series| (Some(station.cli.name), series);
        let medium = &self.medium;
        let others = [Series::TarIntoCp, Series::NaiveStart, Series::CpOut];
        if self.wants(&others.map(key)) {
            self.by_hand(station, round, figures)?;
        }
        if self.wants(&[
            key(Series::CopyIn),
            key(Series::ColdStart),
            key(Series::FewOut),
            key(Series::KeptStart),
        ]) {
            if self.wants(&[key(Series::HostTar)]) {
                // Right before: a file system is slower at one time than at another.
                let name = format!("host-{}-{round}", station.cli.name);
                add(figures, key(Series::HostTar), self.host_tar(medium, &name)?);
            }
            let ran = station.run(
                medium,
                &station.name("few", round),
                &change(),
                &medium.some_files(FEW)?,
            )?;
            figures.add(key(Series::CopyIn), ran.phase("copy_in_ms")?);
            figures.add(key(Series::FewOut), ran.phase("collect_ms")?);
            add(figures, key(Series::ColdStart), ran.first_byte);
        }
        if self.wants(&[key(Series::PoolStart)]) {
            station.pool(&["fill", "base"])?;
            let ran = station.run(medium, &station.name("pool", round), GREET, &[]);
            // Else the next run would take the one that this one made.
            station.pool(&["drain"])?;
            add(figures, key(Series::PoolStart), ran?.first_byte);
        }
        if self.wants(&[key(Series::KeptStart)]) {
            let edits = medium.edit(FEW)?;
            let ran = station.run(medium, &station.name("few", round), GREET, &[])?;
            drop(edits);
            figures.add(key(Series::EditsIn), ran.phase("sync_in_ms")?);
            add(figures, key(Series::KeptStart), ran.first_byte);
        }
        if self.wants(&[key(Series::CpIn)]) {
            let name = station.name("cp", round);
            station.create(&name)?;
            timing::warm(self.sh, &medium.path)?;
            add(
                figures,
                key(Series::CpIn),
                station.time_cp_in(medium, &name)?,
            );
        }
        if self.wants(&[key(Series::CopyOut)]) {
            // Under another name everything is new, the history too. Moved, and not copied: what
            // `cp` reads is no longer being written either.
            let script =
                format!("{GREET}; mkdir full && mv tree full/tree && mv .git full/history");
            timing::touch_memory()?;
            let ran = station.run(medium, &station.name("all", round), &script, &[])?;
            figures.add(key(Series::CopyOut), ran.phase("collect_ms")?);
        }
        Ok(())
    }

    /// What people type without lazaret: create, fill, start, and in the end copy out.
    fn by_hand(
        &self,
        station: &EngineUnderTest<'_>,
        round: usize,
        figures: &mut Figures,
    ) -> Result<()> {
        let key = |series| (Some(station.cli.name), series);
        let name = station.name("tar", round);
        let start = Instant::now();
        station.create(&name)?;
        let created = start.elapsed();
        timing::warm(self.sh, &self.medium.path)?;
        let filled = station.time_tar_into(&self.medium, &name)?;
        let started = station.start(&name)?;
        add(figures, key(Series::TarIntoCp), filled);
        add(figures, key(Series::NaiveStart), created + filled + started);
        timing::touch_memory()?;
        add(figures, key(Series::CpOut), station.time_cp_out(&name)?);
        Ok(())
    }

    fn small(
        &self,
        station: &EngineUnderTest<'_>,
        round: usize,
        figures: &mut Figures,
    ) -> Result<()> {
        let key = |series| (Some(station.cli.name), series);
        if self.wants(&[key(Series::PlainRun), key(Series::SmallStart)]) {
            add(figures, key(Series::PlainRun), station.plain_run()?);
            let ran = station.run(&self.small, &station.name("small", round), GREET, &[])?;
            add(figures, key(Series::SmallStart), ran.first_byte);
        }
        Ok(())
    }

    fn large(
        &self,
        station: &EngineUnderTest<'_>,
        round: usize,
        figures: &mut Figures,
    ) -> Result<()> {
        let key = |series| (Some(station.cli.name), series);
        let Some(large) = &self.large else {
            return Ok(());
        };
        let edits = [key(Series::EditsFoundLarge), key(Series::EditsInLarge)];
        if !self.wants(&edits) && !self.wants(&[key(Series::FewOutLarge)]) {
            return Ok(());
        }
        if self.wants(&[key(Series::CpOutLarge)]) {
            let name = station.name("large", round);
            station.create(&name)?;
            station.tar_into(large, &name)?;
            let took = station.time_cp_out(&name)?;
            add(figures, key(Series::CpOutLarge), took);
        }
        let name = station.name("few-large", round);
        let ran = station.run(large, &name, &change(), &large.some_files(FEW)?)?;
        figures.add(key(Series::FewOutLarge), ran.phase("collect_ms")?);
        if self.wants(&edits) {
            let took = self.host_tar(large, &format!("host-large-{round}"))?;
            add(figures, (None, Series::HostTarLarge), took);
            let edits = large.edit(FEW)?;
            let found = station.time_dry_run(large, &name)?;
            add(figures, key(Series::EditsFoundLarge), found);
            let ran = station.run(large, &name, GREET, &[])?;
            drop(edits);
            figures.add(key(Series::EditsInLarge), ran.phase("sync_in_ms")?);
        }
        Ok(())
    }
}

/// Greets, then changes every file that it is given.
fn change() -> String {
    format!("{GREET}; for file; do echo changed >> \"$file\"; done")
}

fn add(figures: &mut Figures, key: Key, took: Duration) {
    figures.add(key, took.as_secs_f64() * 1000.0);
}

/// Which sizes of corpora a bench needs.
pub(super) fn needs(wanted: &BTreeSet<Key>, size: Size) -> bool {
    let large = [
        Series::CpOutLarge,
        Series::FewOutLarge,
        Series::EditsFoundLarge,
        Series::EditsInLarge,
        Series::HostTarLarge,
        Series::PackerPeak,
    ];
    size != Size::Large || wanted.iter().any(|(_, series)| large.contains(series))
}
