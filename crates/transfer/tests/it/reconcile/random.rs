//! Properties over random trees.

use std::collections::BTreeMap;

use lazaret_protocol::UpdateRequest;
use lazaret_protocol::{FoundKind, SpecialType};
use lazaret_tests::Random;
use lazaret_transfer::{AgentChanges, SyncPlan};
use lazaret_tree::{Digest, Entry, Mode, RelPathBuf, Tree};

use super::kit::{Case, is_whole, starts_with};

const NAMES: [&str; 6] = ["a", "b", "a.b", "c", ".git", "HEAD"];
const SEEDS: u64 = 20_000;

fn file(random: &mut Random) -> Entry {
    Entry::File {
        mode: random.pick(&[Mode::Plain, Mode::Plain, Mode::Executable]),
        size: 1,
        digest: Digest::of(&[random.below(3) as u8]),
    }
}

/// Puts something at a random path, or takes it away; what is in the way goes.
fn edit(random: &mut Random, tree: &mut Tree) {
    let depth = 1 + random.below(3);
    let path: Vec<&str> = (0..depth).map(|_| random.pick(&NAMES)).collect();
    let path: RelPathBuf = path.join("/").parse().expect("a path");
    let ancestors: Vec<_> = path.ancestors().map(ToOwned::to_owned).collect();
    if ancestors
        .iter()
        .any(|dir| !matches!(tree.get(dir), None | Some(Entry::Dir)))
    {
        return;
    }
    let below: Vec<_> = tree.below(&path).map(|(path, _)| path.to_owned()).collect();
    for path in below {
        tree.remove(&path);
    }
    let entry = match random.below(8) {
        0 | 1 => return,
        2 => Entry::Dir,
        3 => Entry::Symlink {
            target: random.pick(&["x", "y"]).parse().expect("a target"),
        },
        _ => file(random),
    };
    for ancestor in ancestors {
        tree.insert(ancestor, Entry::Dir);
    }
    tree.insert(path, entry);
}

fn edited(random: &mut Random, tree: &Tree, most: usize) -> Tree {
    let mut tree = tree.clone();
    for _ in 0..random.below(most + 1) {
        edit(random, &mut tree);
    }
    tree
}

fn case(random: &mut Random) -> Case {
    let baseline = edited(random, &Tree::new(), 10);
    let mut host = edited(random, &baseline, 5);
    let volume = match random.below(6) {
        0 => host.clone(),
        _ => edited(random, &baseline, 5),
    };
    let mut others = BTreeMap::new();
    let dirs: Vec<String> = volume
        .iter()
        .filter(|(_, entry)| **entry == Entry::Dir)
        .map(|(path, _)| format!("{}/", path.as_str()))
        .chain([String::new()])
        .collect();
    for _ in 0..random.below(3) {
        let name = format!("{}{}", dirs[random.below(dirs.len())], random.pick(&NAMES));
        let path: RelPathBuf = name.parse().expect("a path");
        if volume.get(&path).is_none() {
            let fifo = FoundKind::Special(SpecialType::Fifo);
            others.insert(name, [FoundKind::Cache, fifo][random.below(2)].clone());
        }
    }
    let mut left_out = Vec::new();
    if random.below(3) == 0 {
        let there = host.iter().map(|(path, _)| path.to_owned());
        let there: Vec<_> = there.collect();
        if !there.is_empty() {
            let out = &there[random.below(there.len())];
            for path in there.iter().filter(|path| path.starts_with(out)) {
                host.remove(path);
            }
            left_out.push(out.as_str().to_owned());
        }
    }
    Case {
        baseline,
        host,
        left_out,
        volume,
        others,
    }
}

/// Whether a plan names the path as one that it can't settle.
fn is_told(plan: &SyncPlan, path: &RelPathBuf) -> bool {
    plan.conflicts
        .iter()
        .any(|conflict| path.starts_with(&conflict.path))
        || plan.stays.contains(path)
}

/// Carries the plan out and looks at what holds for both kinds of agent changes.
fn settled(case: &Case, agent_changes: AgentChanges, seed: u64) -> (SyncPlan, Case) {
    let plan = case.plan(agent_changes);
    let after = case.carry_out(&plan);
    assert!(is_whole(&after.baseline), "seed {seed}: {plan:?}");
    assert!(is_whole(&after.volume), "seed {seed}: {plan:?}");
    let again = after.plan(agent_changes);
    assert_eq!(again.request, UpdateRequest::default(), "seed {seed}");
    assert!(again.adopted.is_empty(), "seed {seed}: {again:?}");
    assert_eq!(again.conflicts, plan.conflicts, "seed {seed}");
    assert_eq!(again.stays, plan.stays, "seed {seed}");
    let unmoved = after.carry_out(&again).baseline;
    assert_eq!(unmoved, after.baseline, "seed {seed}");
    for (name, kind) in &case.others {
        let stays = after.others.contains_key(name) || *kind != FoundKind::Cache;
        assert!(stays, "seed {seed}: {name}");
    }
    (plan, after)
}

fn all_paths(case: &Case) -> Vec<RelPathBuf> {
    let trees = [&case.baseline, &case.host, &case.volume];
    let paths = trees.iter().flat_map(|tree| tree.iter());
    let mut paths: Vec<_> = paths.map(|(path, _)| path.to_owned()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[test]
fn nothing_of_the_agents_is_lost_and_nothing_of_the_hosts_is_forgotten() {
    let (mut sent, mut clashed, mut adopted) = (0, 0, 0);
    for seed in 0..SEEDS {
        let case = case(&mut Random::new(seed));
        let (plan, after) = settled(&case, AgentChanges::Keep, seed);
        sent += plan.request.send.len();
        clashed += plan.conflicts.len();
        adopted += plan.adopted.len();
        for path in all_paths(&case) {
            let (b, h) = (case.baseline.get(&path), case.host.get(&path));
            let (v, now) = (case.volume.get(&path), after.volume.get(&path));
            let out = case.left_out.iter().any(|out| starts_with(&path, out));
            if starts_with(&path, ".git") {
                continue;
            }
            if v != b {
                assert_eq!(now, v, "seed {seed}: {path} was the agent's");
                let noted = after.baseline.get(&path);
                assert!(noted == b || noted == v && v == h, "seed {seed}: {path}");
            }
            if out {
                assert_eq!(now, v, "seed {seed}: {path} takes no part");
                assert_eq!(after.baseline.get(&path), b, "seed {seed}: {path}");
            } else if h != b && !is_told(&plan, &path) {
                let other = case.others.contains_key(path.as_str());
                assert!(now == h && !other, "seed {seed}: {path} was the host's");
                assert_eq!(after.baseline.get(&path), h, "seed {seed}: {path}");
            }
        }
        let git = |tree: &Tree| -> Tree {
            let inside = tree.iter().filter(|(path, _)| starts_with(path, ".git"));
            inside
                .map(|(path, entry)| (path.to_owned(), entry.clone()))
                .collect()
        };
        let now = git(&after.volume);
        let stays = |tree: &Tree| {
            let mut tree = git(tree);
            for path in plan.stays.iter().filter(|path| starts_with(path, ".git")) {
                tree.insert(path.clone(), Entry::Dir);
            }
            tree
        };
        assert!(
            now == git(&case.volume) || now == stays(&case.host),
            "seed {seed}: half a repository"
        );
    }
    assert!(sent > 1000 && clashed > 1000 && adopted > 1000);
}

#[test]
fn after_a_discard_the_volume_is_the_host() {
    for seed in 0..SEEDS {
        let case = case(&mut Random::new(seed));
        let (plan, after) = settled(&case, AgentChanges::Discard, seed);
        for path in all_paths(&case) {
            let out = case.left_out.iter().any(|out| starts_with(&path, out));
            if out && !(starts_with(&path, ".git") && case.left_out != [".git"]) {
                assert_eq!(
                    after.volume.get(&path),
                    case.volume.get(&path),
                    "seed {seed}: {path}"
                );
            } else if !is_told(&plan, &path) {
                let host = case.host.get(&path);
                assert_eq!(after.volume.get(&path), host, "seed {seed}: {path}");
                assert_eq!(after.baseline.get(&path), host, "seed {seed}: {path}");
            }
        }
    }
}

/// Whatever part of an order was carried out, the baseline of the intent tells the agent's
/// changes from the host's.
#[test]
fn an_update_that_ends_early_is_finished_by_the_next_one() {
    for seed in 0..SEEDS {
        let random = &mut Random::new(seed);
        let case = case(random);
        let plan = case.plan(AgentChanges::Keep);
        let whole = case.carry_out(&plan);
        // As many steps as it came to.
        let mut cut = plan.clone();
        let (removals, sends) = (cut.request.remove.len(), cut.request.send.len());
        let steps = random.below(removals + sends + 1);
        let first = cut.request.remove.split_off(removals.saturating_sub(steps));
        cut.request.remove = first;
        let sent = cut.request.send.iter().take(steps.saturating_sub(removals));
        cut.request.send = sent
            .map(|(path, entry)| (path.to_owned(), entry.clone()))
            .collect();
        let mut broken = case.carry_out(&cut);
        broken.baseline = plan
            .pending_update()
            .fold_into_baseline(case.baseline.clone(), &broken.state());
        assert!(is_whole(&broken.baseline), "seed {seed}");
        let again = broken.plan(AgentChanges::Keep);
        assert_eq!(again.conflicts, plan.conflicts, "seed {seed}");
        let after = broken.carry_out(&again);
        assert_eq!(after.volume, whole.volume, "seed {seed}");
        // Odd entries in a repository block nothing.
        let others = |case: Case| -> Vec<String> {
            let names = case.others.into_keys();
            names.filter(|name| !name.starts_with(".git/")).collect()
        };
        assert_eq!(after.baseline, whole.baseline, "seed {seed}");
        assert_eq!(others(after), others(whole), "seed {seed}");
    }
}
