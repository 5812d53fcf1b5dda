//! What the matrix runs, by theme. A new scenario is one line in its theme's table.

/// Makes the table of a theme: a line for each scenario, with its name and its function. One that
/// begins with `any engine;` holds scenarios that ask the same of each engine.
macro_rules! scenarios {
    (any engine; $($name:literal => $run:expr;)*) => {
        scenarios! { @AnyEngine $($name => $run;)* }
    };
    (@$asks:ident $($name:literal => $run:expr;)*) => {
        pub(crate) const SCENARIOS: &[$crate::scenarios::Scenario] = &[
            $($crate::scenarios::Scenario {
                name: $name,
                asks: $crate::scenarios::Asks::$asks,
                run: $run,
            },)*
        ];
    };
    ($($name:literal => $run:expr;)*) => {
        scenarios! { @EachEngine $($name => $run;)* }
    };
}

mod acp;
mod acp_claude;
mod acp_sdk;
mod agent;
mod ask;
mod ask_live;
mod audit;
mod bad_input;
mod deadline;
mod depth;
mod disk;
mod each;
mod fault;
mod fault_daemon;
mod gate;
mod git;
mod git_captures;
mod git_from;
mod git_review;
mod group;
mod group_extra;
mod group_mail;
mod home;
mod hostile;
mod image;
mod image_combined;
mod image_layers;
mod interrupt;
mod isolation;
mod keeper;
mod keeper_killed;
mod keeper_notices;
mod keeper_run;
mod kept;
mod limits;
mod live;
mod login;
mod mapped;
mod mcp;
mod mcp_sdk;
mod net;
mod pool;
mod private;
mod protect;
mod recover;
mod remembered;
mod remote;
mod remote_ssh;
mod remote_tls;
mod round_trip;
mod round_trip_large;
mod seed_copy_workspace;
mod seed_devloop;
mod seed_group_chat;
mod seed_motor_cortex;
mod seed_tenant;
mod service;
mod setup;
mod soak;
mod starter;
mod terminal;
mod times;
mod volume;

use crate::ctx::Ctx;

/// What a scenario is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// What an engine does, or what is done with it.
    EachEngine,
    /// What the host does by itself, or a program inside that needs no more of its engine than a
    /// process with streams and a volume, which other scenarios try on each engine.
    AnyEngine,
}

/// A named run on one engine.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// `theme/what-happens`: stable, unique, typed after `--scenario`.
    pub(crate) name: &'static str,
    pub(crate) asks: Asks,
    /// Does it and says what was wrong. What is then left on the engine fails it as well.
    pub(crate) run: fn(&Ctx) -> Result<(), String>,
}

/// All themes, in the order of the table.
pub(crate) const ALL: &[&[Scenario]] = &[
    // The longest begins first.
    soak::SCENARIOS,
    round_trip::SCENARIOS,
    round_trip_large::SCENARIOS,
    gate::SCENARIOS,
    git::SCENARIOS,
    git_captures::SCENARIOS,
    git_from::SCENARIOS,
    git_review::SCENARIOS,
    hostile::SCENARIOS,
    isolation::SCENARIOS,
    protect::SCENARIOS,
    limits::SCENARIOS,
    deadline::SCENARIOS,
    depth::SCENARIOS,
    disk::SCENARIOS,
    each::SCENARIOS,
    live::SCENARIOS,
    mapped::SCENARIOS,
    acp::SCENARIOS,
    acp_claude::SCENARIOS,
    acp_sdk::SCENARIOS,
    mcp::SCENARIOS,
    mcp_sdk::SCENARIOS,
    net::SCENARIOS,
    login::SCENARIOS,
    terminal::SCENARIOS,
    keeper::SCENARIOS,
    keeper_killed::SCENARIOS,
    keeper_notices::SCENARIOS,
    keeper_run::SCENARIOS,
    seed_copy_workspace::SCENARIOS,
    seed_devloop::SCENARIOS,
    seed_motor_cortex::SCENARIOS,
    seed_tenant::SCENARIOS,
    service::SCENARIOS,
    setup::SCENARIOS,
    home::SCENARIOS,
    volume::SCENARIOS,
    private::SCENARIOS,
    kept::SCENARIOS,
    times::SCENARIOS,
    pool::SCENARIOS,
    interrupt::SCENARIOS,
    recover::SCENARIOS,
    remembered::SCENARIOS,
    remote::SCENARIOS,
    remote_ssh::SCENARIOS,
    remote_tls::SCENARIOS,
    starter::SCENARIOS,
    fault::SCENARIOS,
    fault_daemon::SCENARIOS,
    bad_input::SCENARIOS,
    image::SCENARIOS,
    image_combined::SCENARIOS,
    image_layers::SCENARIOS,
    agent::SCENARIOS,
    ask::SCENARIOS,
    ask_live::SCENARIOS,
    audit::SCENARIOS,
    group::SCENARIOS,
    group_extra::SCENARIOS,
    group_mail::SCENARIOS,
    seed_group_chat::SCENARIOS,
];
