//! `CredentialLender`: the porter that puts lent files into the command's container, and what the
//! command makes of them on its way to lazaret's own cache.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lazaret_egress::Patterns;
use lazaret_protocol::{CredentialEvent, SentCredential, Verb};
use lazaret_runtime::{
    AGENT_HOME, EngineError, ExecSpec, HardenedSpec, Process, ProcessControl, Stdin,
};
use zeroize::Zeroizing;

use crate::context::SessionContext;
use crate::credentials::file::CredentialFile;
use crate::credentials::tokens::tokens;
use crate::output::relay::CommandOutputSink;
use crate::porter::conversation::StderrTail;
use crate::porter::ready::{NotReady, await_ready};
use crate::store::handed_out::HandedOutFile;

/// Why the files of a profile could not be lent.
#[derive(Debug, thiserror::Error)]
pub enum LendError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The porter did not take them.
    #[error(transparent)]
    Written(#[from] io::Error),
    /// The engine gave the porter no input.
    #[error("porter lend has no stdin")]
    NoStdin,
    /// The porter is not ready.
    #[error("the files of the profile could not be lent")]
    NotReady(#[from] NotReady),
}

/// How long the porter may take to say its last words.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The most changes that are taken from one session: a login is renewed a few times a day.
const MOST_CHANGES: usize = 256;

/// How many versions of a login are looked for in the output.
const VERSIONS: usize = 4;

/// What a session made of its lent files.
#[derive(Debug, Default)]
pub(crate) struct RefreshedCredentials {
    /// The names of those that are kept.
    pub(crate) names: BTreeSet<String>,
    /// Why one could not be kept.
    pub(crate) failure: Option<String>,
    /// Whether there were more changes than are taken.
    pub(crate) is_cut: bool,
}

/// A porter that lends. Dropping it ends it.
pub(crate) struct CredentialLender {
    stdin: Box<dyn Write + Send>,
    shared: Arc<Shared>,
    end: Mutex<Receiver<()>>,
    _control: Box<dyn ProcessControl>,
}

struct Shared {
    lent: Arc<[CredentialFile]>,
    /// By what the tokens are known again.
    ledger: HandedOutFile,
    renewed: Mutex<RefreshedCredentials>,
    output: Mutex<WatchedOutput>,
}

/// Where what a process prints passes, and what is kept out of it.
#[derive(Default)]
struct WatchedOutput {
    relay: Option<Arc<CommandOutputSink>>,
    /// The tokens of what files became lately, with their names.
    versions: Vec<(String, Vec<Vec<u8>>)>,
}

impl std::fmt::Debug for CredentialLender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CredentialLender")
            .field("lent", &self.shared.lent)
            .finish_non_exhaustive()
    }
}

impl CredentialLender {
    /// Puts the files into the command's container, whose controls are proven. `None` where
    /// there are none.
    ///
    /// # Errors
    /// The engine's, or the porter's own words.
    pub(crate) fn open(
        cx: &SessionContext<'_>,
        agent: &HardenedSpec,
        lent: Arc<[CredentialFile]>,
        ledger: HandedOutFile,
    ) -> Result<Option<Self>, LendError> {
        if lent.is_empty() {
            return Ok(None);
        }
        let home = AGENT_HOME.to_owned();
        let argv = agent.run_argv(&Verb::Credentials { home }.to_command());
        let exec = ExecSpec::new(argv, Stdin::Piped);
        let process = cx.engine.exec(&agent.spec().name, &exec)?;
        let Process {
            stdin,
            stdout,
            stderr,
            control,
        } = process;
        let mut stdin = stdin.ok_or(LendError::NoStdin)?;
        let shared = Arc::new(Shared {
            lent,
            ledger,
            renewed: Mutex::default(),
            output: Mutex::default(),
        });
        let (tell, ready) = mpsc::channel();
        let (gone, end) = mpsc::channel();
        {
            let shared = Arc::clone(&shared);
            // Not joined: an engine that never ends the stream must not hold the launcher.
            thread::spawn(move || {
                shared.follow(stdout, &tell);
                drop(gone);
            });
        }
        let stderr_tail = StderrTail::of(stderr);
        let written = shared.hand_over(&mut *stdin);
        if let Err(error) = await_ready(&ready, cx.cancel) {
            drop(stdin);
            let words = stderr_tail.within(LAST_WORDS).unwrap_or_default();
            return Err(error.with_words(&words).into());
        }
        written?;
        Ok(Some(Self {
            stdin,
            shared,
            end: Mutex::new(end),
            _control: control,
        }))
    }

    /// Keeps what a file has become, and becomes, out of the output that passes there from now on.
    pub(crate) fn watch_over(&self, relay: &Arc<CommandOutputSink>) {
        let mut output = self.shared.output();
        output.relay = Some(Arc::clone(relay));
        output.learn();
    }

    /// Takes a last look, and says what was renewed.
    pub(crate) fn finish(self) -> RefreshedCredentials {
        drop(self.stdin);
        let end = self
            .end
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        // It is over when the other side is dropped; else its container is removed anyway.
        let _over = end.recv_timeout(LAST_WORDS);
        let mut renewed = (self.shared.renewed.lock()).unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *renewed)
    }
}

impl Shared {
    fn hand_over(&self, stdin: &mut dyn Write) -> io::Result<()> {
        for lent in self.lent.iter() {
            let file = SentCredential {
                path: &lent.to,
                mode: lent.mode,
                contents: &lent.contents,
            };
            let mut line = Zeroizing::new(Vec::with_capacity(file.room()));
            file.write_to(&mut line);
            stdin.write_all(&line)?;
        }
        stdin.write_all(b"end\n")?;
        stdin.flush()
    }

    /// Takes what the porter says until it ends.
    fn follow(&self, stdout: Box<dyn Read + Send>, ready: &mpsc::Sender<()>) {
        let mut reader = BufReader::new(stdout);
        let mut changes = 0;
        // However it ends.
        while let Ok(Some(event)) = CredentialEvent::read(&mut reader) {
            let (index, contents) = match event {
                CredentialEvent::Ready => {
                    let _given_up = ready.send(());
                    continue;
                }
                CredentialEvent::Changed { index, contents } => (index, Zeroizing::new(contents)),
            };
            let Some(lent) = self.lent.get(index) else {
                continue;
            };
            changes += 1;
            if changes > MOST_CHANGES {
                let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
                renewed.is_cut = true;
                continue;
            }
            self.output().add(lent.name.clone(), tokens(&contents));
            let noted = self.ledger.add_renewed(&lent.name, &contents);
            let kept = lent.cache.keep(&contents).and(noted);
            let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
            match kept {
                Ok(()) => drop(renewed.names.insert(lent.name.clone())),
                Err(error) => renewed.failure = Some(error.to_string()),
            }
        }
    }

    fn output(&self) -> MutexGuard<'_, WatchedOutput> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedOutput {
    fn add(&mut self, name: String, tokens: Vec<Vec<u8>>) {
        self.versions.push((name, tokens));
        if self.versions.len() > VERSIONS {
            self.versions.remove(0);
        }
        self.learn();
    }

    fn learn(&self) {
        let Some(relay) = self.relay.as_ref().filter(|_| !self.versions.is_empty()) else {
            return;
        };
        let all = self
            .versions
            .iter()
            .flat_map(|(name, tokens)| tokens.iter().map(|token| (name.as_str(), &token[..])));
        if let Ok(patterns) = Patterns::new(all) {
            relay.learn(patterns);
        }
    }
}
