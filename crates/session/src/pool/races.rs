//! A sweep beside a run that takes a slot, in every order of their steps.

use lazaret_runtime::SessionId;

use crate::engine::tags::KnownPrefixes;
use crate::pool::{Fingerprint, LockedSlot, PoolStore, SlotFile};
use crate::store::example::example_record;
use crate::store::{LockedSession, Store};

/// A store with one slot, a run that takes it, and a sweep that looks for what has no owner.
struct Race {
    _root: tempfile::TempDir,
    store: Store,
    pool: PoolStore,
    tag: SessionId,
    /// The run's.
    locked: Option<LockedSlot>,
    session: Option<LockedSession>,
    /// The sweep's.
    files: Vec<SlotFile>,
    tags: KnownPrefixes,
}

/// Steps of a run: see `take`.
const TAKING: usize = 4;
/// Steps of a sweep: see `KnownPrefixes::of`. A slot that is renamed between the two lists is in
/// the list under two names.
const SWEEPING: usize = 5;

impl Race {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let pool = PoolStore::of(&store);
        let fit: Fingerprint = serde_json::from_str("\"fit\"").unwrap();
        let locked = pool.begin("base", "engine", fit).unwrap();
        let tag = locked.owner.tag.clone();
        locked.ready().unwrap();
        Self {
            _root: root,
            store,
            pool,
            tag,
            locked: None,
            session: None,
            files: Vec::new(),
            tags: KnownPrefixes::none(),
        }
    }

    fn take(&mut self, step: usize) {
        match step {
            0 => self.locked = Some(self.pool.lock(&self.tag).unwrap().unwrap()),
            1 => self.locked.as_mut().unwrap().take().unwrap(),
            2 => {
                let mut record = example_record();
                record.pool_slot = Some(self.tag.clone());
                self.session = Some(self.store.create(record).unwrap());
            }
            _ => self.locked.take().unwrap().forget().unwrap(),
        }
    }

    /// `sees` is false where a list falls together with a rename, and shows neither name.
    fn sweep(&mut self, step: usize, sees: bool) {
        match step {
            0 | 1 if sees => {
                self.files.extend(self.pool.files().unwrap());
                self.files.sort_unstable();
                self.files.dedup();
            }
            2 | 3 if !self.files.is_empty() => {
                let file = self.files.remove(0);
                self.tags.add_slot(&self.pool, file).unwrap();
            }
            4 => self.tags.add_sessions(&self.store).unwrap(),
            _ => {}
        }
    }
}

/// Every order of so many steps of a run (true) and of a sweep.
fn orders(taking: usize, sweeping: usize) -> Vec<Vec<bool>> {
    if taking == 0 && sweeping == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (step, left) in [(true, taking), (false, sweeping)] {
        if left == 0 {
            continue;
        }
        let rest = orders(taking - usize::from(step), sweeping - usize::from(!step));
        all.extend(rest.into_iter().map(|order| {
            let mut whole = vec![step];
            whole.extend(order);
            whole
        }));
    }
    all
}

fn run(order: &[bool], blind: Option<usize>) {
    let mut race = Race::new();
    let (mut taken, mut swept) = (0, 0);
    for is_take in order {
        if *is_take {
            race.take(taken);
            taken += 1;
        } else {
            race.sweep(swept, blind != Some(swept));
            swept += 1;
        }
    }
    assert!(race.files.is_empty(), "{order:?}");
    assert!(
        race.tags.knows(race.tag.as_str()),
        "{order:?}, blind at {blind:?}"
    );
    let record = race.session.unwrap();
    assert_eq!(record.record().pool_slot, Some(race.tag));
}

#[test]
fn flt_14_a_place_that_is_taken_is_known_at_every_step_of_a_sweep() {
    let orders = orders(TAKING, SWEEPING);
    assert_eq!(orders.len(), 126);
    for order in &orders {
        run(order, None);
    }
}

#[test]
fn flt_14_a_list_that_falls_together_with_the_rename_does_not_lose_it() {
    let mut met = 0;
    for order in &orders(TAKING, SWEEPING) {
        // The rename is the second step of the run, and the file's removal its last.
        let renamed = order.iter().enumerate().filter(|(_, take)| **take).nth(1);
        let at = renamed.map_or(0, |(at, _)| at);
        if at > 0 && !order[at - 1] {
            let step = order[..at].iter().filter(|take| !**take).count() - 1;
            if step < 2 {
                run(order, Some(step));
                met += 1;
            }
        }
    }
    assert!(met > 10, "{met}");
}
