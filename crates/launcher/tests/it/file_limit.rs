//! FLT-29: a file that no session could hold is said before anything is made.

use std::fs;

use crate::support::TestEnvironment;

const SIZE: u64 = 4_500_000_000;

fn workspace(env: &TestEnvironment) -> String {
    env.write("project/a.txt", "a");
    let large = env.path("project/data/large.bin");
    fs::create_dir_all(large.parent().unwrap()).unwrap();
    fs::File::create(&large).unwrap().set_len(SIZE).unwrap();
    env.path("project").display().to_string()
}

const REFUSED: &str = "cannot copy in data/large.bin (4.2 GiB): the limit for one file is 4.0 GiB";

/// The engine of these tests is not there: whatever asked it for a container would fail on that.
#[test]
fn flt_29_a_file_over_the_limit_is_said_before_anything_is_made() {
    let env = TestEnvironment::new();
    let dir = workspace(&env);
    for more in [
        "",
        "--dry-run ",
        "--keep --name a ",
        "--keep --name a --dry-run ",
    ] {
        let said = env.run(&format!("run base -w {dir} {more}-- true"));
        assert_eq!(said.code, 125, "{said}");
        assert!(said.stderr.contains(REFUSED), "{said}");
        assert!(
            said.stderr
                .contains("add the line /data/large.bin to .lazaretignore"),
            "{said}"
        );
        assert!(said.stderr.contains("gate.max_bytes"), "{said}");
        // The list is there all the same.
        assert_eq!(said.stdout.contains("data/large.bin"), more.contains("dry"));
    }
    let json = env.run(&format!("run base -w {dir} --dry-run --json"));
    assert_eq!(json.code, 125);
    assert_eq!(json.json()["files"][0]["path"], "data/large.bin");
    // By both ways out that the hint names.
    env.write("project/.lazaretignore", "/data/large.bin\n");
    let left_out = env.run(&format!("run base -w {dir} --dry-run"));
    assert_eq!(left_out.code, 0, "{left_out}");
    env.write("project/.lazaretignore", "");
    let profile = env.write(
        "own.toml",
        "image = \"base\"\n[gate]\nmax_bytes = \"16g\"\n",
    );
    let raised = env.run(&format!("run {} -w {dir} --dry-run", profile.display()));
    assert_eq!(raised.code, 0, "{raised}");
}

#[test]
fn flt_29_every_file_over_the_limit_counts_and_its_name_is_harmless() {
    let env = TestEnvironment::new();
    let dir = workspace(&env);
    for n in 1..7 {
        let name = format!("o\u{200b}ther {n}");
        let file = fs::File::create(env.path("project").join(name)).unwrap();
        file.set_len(SIZE + n * 1_000_000_000).unwrap();
    }
    let said = env.run(&format!("run base -w {dir} -- true"));
    let (first, last) = ("in o\\u{200b}ther 6 (9.8 GiB), ", ", and 2 more: ");
    assert!(
        said.stderr.contains(first) && said.stderr.contains(last),
        "{said}"
    );
}
