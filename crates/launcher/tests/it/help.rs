//! What `--help` says, and the version.

use insta::assert_snapshot;

use crate::support::TestEnvironment;

#[test]
fn short_help_names_every_verb() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.run("-h"), @"
    exit 0
    --- stdout
    Runs a coding agent, or any command you don't trust, in a hardened container

    Usage: lazaret [OPTIONS] <COMMAND>

    Commands:
      init         Write a profile of your own for this project
      run          Run a command on a copy of the workspace, then pass its changes through the gate
      start        Start a session that goes on by itself
      attach       Show a session of `start` on this terminal, and type to its command
      exec         Run a command beside the one of a session of `start`
      shell        Open a shell in a session of `start`
      ask          Ask a profile, a group or a session: one JSON object in, one out
      acp          Put an agent behind an editor, by the Agent Client Protocol
      mail         Print what a group's command wants sent or scheduled, as JSON lines
      stop         End a session of `start`, and collect what it changed
      wait         Wait until a session of `start` has come to something
      diff         Show what a session changed, with the findings
      watch        Show what a running session has changed, until its command ends
      sync         Send what you changed in the workspace into a session's copy
      review       Review a session's changes on the whole screen, choose, and apply
      apply        Apply a session's changes to its workspace
      commits      Show and land commits made inside
      pr           Push a landed branch and open a pull request
      allowed      List or remove what you allowed for good with `apply --remember`
      export       Write a session's changes as a patch, a JSON report or an HTML page
      check        Judge a directory or an archive against a base, by the rules of the gate
      discard      Discard a session's changes
      undo         Take back what a session's last apply did to the workspace
      ls           List sessions, newest first
      show         Show everything about one session
      logs         Show what a session's command wrote
      events       Show what happened in a session of `start`
      limits       Show or change how long a session may last, and what it may hold
      services     List the services of a session, or restart one
      rm           Remove sessions; refuses if one has changes that you have not applied or discarded
      recover      Resume or clean up sessions after lazaret was killed
      prune        Remove settled sessions, and objects that no session owns
      audit        Show what ran and who approved what, and check that none of it was changed
      mcp          Serve the Model Context Protocol, for an agent that starts sessions
      doctor       Show the engines, what they can enforce, and what to do
      rules        List the rules, or explain one code
      group        Make and list groups: chats that are asked, each with a folder and a home of its own
      home         Review and reset homes that sessions keep
      policy       Show and change what a session's command may reach
      pool         Keep warm containers, so that runs start faster
      volume       Fill, list and remove shared volumes, such as caches
      image        Build, check and list images
      profile      Show and check profiles
      completions  Print the completion script of a shell
      man          Print the manual page, or write all of them to a directory
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Global options:
          --json             Print results as JSON on stdout, and failures as JSON on stderr
          --engine <ENGINE>  Engine: docker, podman, apple, or an endpoint such as
                             unix:///run/podman/podman.sock or k8s://CONTEXT/NAMESPACE [env:
                             LAZARET_ENGINE] [default: what DOCKER_HOST, DOCKER_CONTEXT, CONTAINER_HOST,
                             config.toml or Docker's current context names, else the first one found]
          --color <WHEN>     When to colour [env: LAZARET_COLOR, NO_COLOR, CLICOLOR_FORCE] [default:
                             auto] [possible values: auto, always, never]
          --progress <HOW>   How to show progress [env: LAZARET_PROGRESS] [default: auto] [possible
                             values: auto, plain, none, tty]
      -q, --quiet            Show only warnings and errors
      -v, --verbose          Show details
          --no-input         Never ask: what needs an answer is kept or refused

    Exit codes: 0 settled, 1 refused, 2 usage, 120 changes kept for review, 121 changes rejected, 122 no
    command runs, 123 another client drives, 124 timeout, 125 lazaret or the engine failed, 126 command
    not executable, 127 command not found, 130 interrupted; else the command's own.
    [EOF]
    ");
}

#[test]
fn run_help_shows_what_can_be_typed() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.run("run -h"), @"
    exit 0
    --- stdout
    Run a command on a copy of the workspace, then pass its changes through the gate

    Usage: lazaret run [OPTIONS] [PROFILE] [-- <CMD>...]

    Arguments:
      [PROFILE]  Profile: a built-in name, one of your own, or a path to a TOML file [default: yours for
                 this project, which `lazaret init` writes, else `profile` of config.toml]
      [CMD]...   Command to run instead of the profile's

    Options:
      -w, --workspace <DIR>             Workspace [default: the current directory]
          --name <NAME>                 Name of the session; an existing one continues, with what you
                                        changed since [default: made from the workspace's name]
          --from <BRANCH>               Clone this branch, tag or commit instead of copying the
                                        workspace's files: nothing uncommitted goes in
          --apply <MODE>                What to do with changes [default: the profile's, else ask]
                                        [possible values: never, ask, auto]
          --with-ignored                Take new files that git ignores too, which otherwise stay in the
                                        copy
          --timeout <TIME>              Time limit of the command, such as 90s, 5m, 2h [default: the
                                        profile's]
      -e, --env <NAME[=VALUE]>          Variable for the command, or the name of one of yours;
                                        repeatable
      -p, --publish <[HOST_PORT:]PORT>  Port inside that a port of 127.0.0.1 leads to; repeatable
          --allow <HOST[:PORT]>         Host that the command may reach too, or @crates, @github, @go,
                                        @npm, @pypi; a workspace's lazaret.toml still tightens;
                                        repeatable
          --prompt <TEXT>               Task for the command, passed as the profile's `prompt` says; -
                                        reads stdin
      -t, --terminal                    Give the command this terminal [default: for a profile with
                                        `terminal = true`, without a task or another command]
          --image <NAME>                Image to run on instead of the profile's
          --with <IMAGE>                Image to combine with that one, such as a toolchain; repeatable
          --keep                        Keep the session's volume for another run of that name, until
                                        `rm`
          --log-level <LEVEL>           What is kept of the run: `info` (what it prints and a summary)
                                        or `debug` (also what it is sent on stdin) [default: info]
          --dry-run                     Only list what would be copied in, with sizes
      -i, --interactive                 Pass stdin on to the command, to its end, and ask no question
          --each <FILE>                 Run once for each line of this file (- for stdin), in a session
                                        of its own: the line is the task, or takes the place of {} in
                                        the command, else its last word
          --at-once <N>                 How many of them run at once [default: 4]
      -h, --help                        Print help (see more with '--help')
      -V, --version                     Print version

    Global options:
          --json             Print results as JSON on stdout, and failures as JSON on stderr
          --engine <ENGINE>  Engine: docker, podman, apple, or an endpoint such as
                             unix:///run/podman/podman.sock or k8s://CONTEXT/NAMESPACE [env:
                             LAZARET_ENGINE] [default: what DOCKER_HOST, DOCKER_CONTEXT, CONTAINER_HOST,
                             config.toml or Docker's current context names, else the first one found]
          --color <WHEN>     When to colour [env: LAZARET_COLOR, NO_COLOR, CLICOLOR_FORCE] [default:
                             auto] [possible values: auto, always, never]
          --progress <HOW>   How to show progress [env: LAZARET_PROGRESS] [default: auto] [possible
                             values: auto, plain, none, tty]
      -q, --quiet            Show only warnings and errors
      -v, --verbose          Show details
          --no-input         Never ask: what needs an answer is kept or refused
    [EOF]
    ");
}

#[test]
fn version_goes_to_stdout() {
    let env = TestEnvironment::new();
    let long = env.run("--version");
    assert_eq!(long.code, 0);
    let source = concat!("lazaret ", env!("CARGO_PKG_VERSION"), "\nbuilt from ");
    assert!(long.stdout.starts_with(source), "{}", long.stdout);
    let outcome = env.run("-V");
    assert_eq!(outcome.code, 0);
    assert_eq!(
        outcome.stdout,
        concat!("lazaret ", env!("CARGO_PKG_VERSION"), "\n")
    );
}
