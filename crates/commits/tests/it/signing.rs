//! Commits that are landed with the user's signature.

use std::ffi::OsString;
use std::fs;

use lazaret_commits::ObjectId;
use lazaret_commits::land::LandedHow;
use lazaret_commits::land_name::Source;
use lazaret_commits::sign::{SignError, Signed, Signer, SigningSettings};

use crate::kit::{World, commit, git};

/// Gives the user a key of ssh's to sign with, and one to verify.
fn give_key(world: &World) {
    let key = world.user().join("../key").display().to_string();
    let made = duct::cmd("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", &key]);
    made.run().expect("openssh-client is installed");
    let public = fs::read_to_string(format!("{key}.pub")).unwrap();
    let signers = world.user().join("../signers").display().to_string();
    fs::write(&signers, format!("user@example.invalid {public}")).unwrap();
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingkey", &*key),
        ("user.name", "User"),
        ("user.email", "user@example.invalid"),
        ("gpg.ssh.allowedSignersFile", &*signers),
    ] {
        git(&world.user(), &["config", name, value]);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "programs are found by the environment that tests run in"
)]
fn variables(world: &World) -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap();
    let pairs = [
        ("PATH", path),
        ("HOME", world.user().into()),
        ("GIT_COMMITTER_NAME", "Mallory".into()),
        ("GIT_DIR", "/nonexistent".into()),
    ];
    pairs.map(|(name, value)| (name.into(), value)).into()
}

/// Signs and lands one tip; returns what it became.
fn land_signed(world: &World, tip: ObjectId, signed: &mut Signed) -> (ObjectId, LandedHow) {
    let (quarantine, examination) = world.examine(&[tip]);
    let examined = examination.tips[0].as_ref().unwrap();
    let settings =
        SigningSettings::read(quarantine.git(), &world.user(), variables(world), &|| false);
    let mut signer = Signer::new(&quarantine, settings.unwrap(), std::mem::take(signed));
    let id = signer.sign(tip, examined, &examination, &|| false).unwrap();
    *signed = signer.into_signed();
    let landed = world.land(&quarantine, &[(Source::Branch(b"main".to_vec()), id)]);
    let landed = landed.into_iter().next().unwrap().unwrap();
    (id, landed.how)
}

#[test]
fn every_new_commit_is_signed_and_nothing_else_of_it_changes() {
    for form in crate::kit::FORMS {
        let world = World::new(form);
        give_key(&world);
        let agent = world.agent();
        git(&agent, &["checkout", "-q", "-b", "side"]);
        fs::write(agent.join("side"), "1").unwrap();
        commit(&agent, "side\n\nwith a body");
        git(&agent, &["checkout", "-q", "main"]);
        fs::write(agent.join("b"), "2").unwrap();
        commit(&agent, "two");
        git(&agent, &["merge", "-q", "--no-ff", "-m", "merge", "side"]);
        let before = world.user_state();
        let mut signed = Signed::new();
        let tip = world.tip("main");
        let (id, how) = land_signed(&world, tip, &mut signed);
        assert_eq!((signed.len(), how), (3, LandedHow::New));
        assert_ne!(id, tip);
        let user = world.user();
        let first = git(&user, &["rev-parse", "main"]);
        let shown = |dir, name: &str, format: &str| {
            let (format, range) = (format!("--format={format}"), format!("{first}..{name}"));
            git(dir, &["log", "--topo-order", &format, &range])
        };
        let by_user = shown(&user, "lazaret/s/main", "%G? %cn");
        assert_eq!(by_user, "G User\nG User\nG User");
        let format = "%T %an %ae %ad %cd %B";
        let landed = shown(&user, "lazaret/s/main", format);
        assert_eq!(landed, shown(&agent, "main", format));
        assert!(landed.contains("with a body"));
        git(&user, &["fsck", "--strict"]);
        assert_eq!(world.user_state(), before);

        // What comes later goes on from the signed commits.
        fs::write(agent.join("b"), "3").unwrap();
        commit(&agent, "three");
        let (_, how) = land_signed(&world, world.tip("main"), &mut signed);
        assert_eq!((signed.len(), how), (4, LandedHow::Forwarded));
    }
}

#[test]
fn without_a_key_nothing_is_signed_and_git_says_why() {
    let world = World::new(&[]);
    give_key(&world);
    fs::remove_file(world.user().join("../key")).unwrap();
    fs::remove_file(world.user().join("../key.pub")).unwrap();
    fs::write(world.agent().join("b"), "2").unwrap();
    commit(&world.agent(), "two");
    git(&world.agent(), &["tag", "-a", "-m", "note", "v1"]);
    let tips = [world.tip("main"), world.tip("v1")];
    let (quarantine, examination) = world.examine(&tips);
    let settings =
        SigningSettings::read(quarantine.git(), &world.user(), variables(&world), &|| {
            false
        });
    let mut signer = Signer::new(&quarantine, settings.unwrap(), Signed::new());
    let mut errors = tips.iter().zip(&examination.tips).map(|(id, tip)| {
        let tip = tip.as_ref().unwrap();
        signer.sign(*id, tip, &examination, &|| false).unwrap_err()
    });
    let error = errors.next().unwrap();
    assert!(
        matches!(&error, SignError::Refused { commit, .. } if *commit == tips[0]),
        "{error}"
    );
    assert!(matches!(errors.next().unwrap(), SignError::Tag));
}
