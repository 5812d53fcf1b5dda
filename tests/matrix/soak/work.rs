//! What the sessions of a soak do: each counts, and acknowledges what is safe.
//!
//! A line `line RUN N` is the Nth of a start, `file NAME SHA256` tells of a file that was written
//! and synced, `row ID` of a row that PostgreSQL has committed, `commit HASH` of a commit.

use crate::ctx::Ctx;

/// What a session is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its command has a terminal, and so has its client.
    Terminal,
    /// Its clients are `attach`, `logs --follow` and `exec`, without a terminal.
    Piped,
    /// It has PostgreSQL beside it and makes commits.
    Service,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Terminal, Self::Piped, Self::Service];

    pub(super) fn of(number: usize) -> Self {
        Self::ALL[number % Self::ALL.len()]
    }

    /// The name of its profile.
    pub(super) fn profile(self) -> &'static str {
        match self {
            Self::Terminal => "soak-terminal",
            Self::Piped => "soak-piped",
            Self::Service => "soak-service",
        }
    }
}

/// Waits by a FIFO that has no writer: a `sleep` would be one process more for each line.
const BEGIN: &str = r#"
id=$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
mkfifo "/tmp/wait-$id"
exec 3<> "/tmp/wait-$id"
n=0
waits() { read -rt "$1" -u 3; }
file() {
    local name="f-$id-$n"
    seq -f "$id %.0f" "$n" "$((n + 300))" > "$name.part"
    sync "$name.part"
    mv "$name.part" "$name"
    sync .
    echo "file $name $(sha256sum < "$name" | cut -d ' ' -f 1)"
}
"#;

const COUNT: &str = r#"
while :; do
    n=$((n + 1))
    echo "line $id $n"
    ((n % 40)) || file
    waits 0.05
done
"#;

/// A commit that was cut off leaves its lock.
const SERVE: &str = r#"
export PGCONNECT_TIMEOUT=5
find .git -name '*.lock' -delete
git config gc.auto 0
sql() { psql -h localhost -qAt -v ON_ERROR_STOP=1 -c "$1" > /dev/null 2>&1; }
sql "create table if not exists t (id text)"
commit() {
    echo "$id $n" > committed
    git add committed
    git -c user.name=A -c user.email=a@example.org commit -qm "$id-$n"
}
while :; do
    n=$((n + 1))
    echo "line $id $n"
    if ! ((n % 40)); then
        if sql "insert into t values ('$id-$n')"; then echo "row $id-$n"; fi
        if commit > /dev/null 2>&1; then echo "commit $(git rev-parse HEAD)"; fi
    fi
    ((n % 200)) || file
    waits 0.05
done
"#;

/// A command beside the session's.
pub(super) fn beside() -> String {
    format!("{BEGIN}while :; do n=$((n + 1)); file; waits 1; done")
}

/// Writes the profiles.
pub(super) fn profiles(ctx: &Ctx) -> Result<(), String> {
    let network = "[network]\nmode = \"allowlist\"\nallow = [\"a.test:443\"]\n";
    let services = "services.db = { image = \"postgres\" }\n[workspace]\ngit = \"full\"\n";
    for (kind, image, keys, script) in [
        (
            Kind::Terminal,
            "base",
            format!("terminal = true\n{network}"),
            COUNT,
        ),
        (Kind::Piped, "base", network.to_owned(), COUNT),
        (Kind::Service, "postgres", services.to_owned(), SERVE),
    ] {
        let script = format!("{BEGIN}{script}");
        let text =
            format!("image = \"{image}\"\ncommand = [\"bash\", \"-c\", '''{script}''']\n{keys}");
        ctx.profile(kind.profile(), &text);
    }
    Ok(())
}
