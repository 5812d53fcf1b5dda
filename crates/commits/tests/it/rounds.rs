//! Many rounds of work on both sides, with nothing lost.

use std::collections::BTreeSet;
use std::fs;

use lazaret_commits::ObjectId;
use lazaret_commits::land_name::Source;

use crate::kit::{World, commit, git};

#[test]
fn a_hundred_rounds_lose_no_commit() {
    let world = World::new(&[]);
    let (user, agent) = (world.user(), world.agent());
    let mut landed_tips: Vec<ObjectId> = Vec::new();
    let mut seed = 7_u64;
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % most
    };
    for round in 0..100 {
        let branch = format!("b{}", next(4));
        if next(3) == 0 {
            fs::write(user.join(format!("u{round}")), "u\n").unwrap();
            commit(&user, "the user's");
        }
        git(&agent, &["checkout", "-q", "-B", &branch]);
        for _ in 0..=next(2) {
            fs::write(agent.join(format!("f{}", next(20))), format!("{round}\n")).unwrap();
            commit(&agent, "the agent's");
        }
        if next(4) == 0 {
            git(&agent, &["reset", "-q", "--hard", "main"]);
        }
        let tip = world.tip(&branch);
        if next(2) == 0 || round == 99 {
            let (quarantine, examined) = world.examine(&[tip]);
            examined.tips[0].as_ref().unwrap();
            let source = Source::Branch(branch.clone().into_bytes());
            let landed = world.land(&quarantine, &[(source, tip)]).remove(0);
            landed.unwrap();
            landed_tips.push(tip);
        }
    }
    // Everything that was ever landed can be reached still.
    let all = git(&user, &["rev-list", "--all"]);
    let reachable: BTreeSet<&str> = all.lines().collect();
    for tip in &landed_tips {
        assert!(reachable.contains(&*tip.to_string()), "{tip}");
    }
    assert!(landed_tips.len() > 30);
    git(&user, &["fsck", "--strict"]);
}
