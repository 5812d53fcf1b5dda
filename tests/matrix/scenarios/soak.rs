//! A small soak; `cargo xtask soak` runs a large one.

use std::time::Duration;

use crate::ctx::Ctx;
use crate::soak::{self, Plan};

scenarios! {
    "soak/every-part-is-killed" => every_part;
}

/// One session of each kind, and one whose keeper grows old.
fn every_part(ctx: &Ctx) -> Result<(), String> {
    let plan = Plan {
        seed: soak::seed(),
        sessions: 4,
        // Five minutes on three engines.
        lasts: Duration::from_secs(100),
    };
    soak::scenario(ctx, plan)
}
