//! Running the program: a helper with a deadline, whose output is bounded and whose tree ends with the question.
//!
//! Invariant: what a conversation holds reaches the program's input or its instructions, and chooses no path and no flag.

use crate::providers::http::malformed;
use crate::providers::provider::{Again, Answer, Class, Provider, ProviderError, Reading, Request, Sink};
use picoclaw_policy::config::{ExposeMode, ModelConfig};
use picoclaw_policy::{AgentId, Origin, Subject};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::helper::{HelperError, HelperSpec};
use picoclaw_sandbox::launch::{
    CancelToken, Deadline, Finished, Output, OutputLimit, Principal, Status, Stdin, Streams, TruncatedOutput,
};
use picoclaw_sandbox::warden::Warden;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What the program may print.
const MOST: usize = 16 << 20;

/// How much of what it printed an error shows.
const SHOWN: usize = 400;

/// What differs between the programs.
pub(in crate::providers) trait Tongue: Send + Sync {
    /// The program.
    fn program(&self) -> &'static str;

    /// Whose user environment it gets: one for all entries of a kind, so that one login serves them.
    fn principal(&self) -> &'static str;

    /// How it is asked; `stay` is the directory that the operator put it in.
    fn words(&self, request: &Request, safety: Safety, stay: Option<&str>) -> Words;

    /// What it answered.
    fn read(&self, ended: &Ended) -> Result<Answer, ProviderError>;
}

/// Who keeps the program from doing harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::providers) enum Safety {
    /// The cage: its own may be switched off.
    Ours,
    /// Nobody but itself: it keeps asking, and refuses.
    Its,
}

/// A question as the program takes it.
#[derive(Debug)]
pub(in crate::providers) struct Words {
    /// The operator's words, the program first.
    pub(super) command: Vec<String>,
    /// Words after them that the operator did not write.
    pub(super) said: Vec<String>,
    /// What it reads.
    pub(super) input: String,
}

/// A program that came to its end by itself.
#[derive(Debug)]
pub(in crate::providers) struct Ended {
    pub(super) stdout: String,
    stderr: String,
    /// Its status; `None` when a signal ended it.
    pub(super) code: Option<i32>,
}

impl Ended {
    /// A failure in the program's own words.
    pub(super) fn failure(&self, program: &str) -> ProviderError {
        let words = [&self.stderr, &self.stdout].into_iter().find(|text| !text.trim().is_empty());
        let words = words.map_or("it said nothing", |text| text.trim());
        let shown = words.char_indices().nth(SHOWN).map_or(words, |(cut, _)| &words[..cut]);
        let how = self.code.map_or("was killed".to_owned(), |code| format!("exited with code {code}"));
        failure(format!("`{program}` {how}: {shown}"))
    }
}

/// A model behind a program.
pub(in crate::providers) struct Program<T> {
    name: String,
    tongue: Arc<T>,
    warden: Arc<Warden>,
    workspace: Option<PathBuf>,
    timeout: Duration,
}

impl<T: Tongue + 'static> Program<T> {
    /// As the entry says, let in by `warden`.
    pub(in crate::providers) fn new(entry: &ModelConfig, tongue: T, warden: Arc<Warden>) -> Self {
        Self {
            name: entry.name.clone(),
            tongue: Arc::new(tongue),
            warden,
            workspace: entry.workspace.clone(),
            timeout: Duration::from_secs(entry.request_timeout.max(1)),
        }
    }

    /// Starts the program and stays with it; the calling thread blocks.
    fn run(
        &self,
        words: Words,
        agent: AgentId,
    ) -> impl FnOnce(&CancelToken) -> Result<Finished, HelperError> + use<T> {
        let (warden, workspace, timeout) = (Arc::clone(&self.warden), self.workspace.clone(), self.timeout);
        let principal = Principal::Provider(self.tongue.principal().to_owned());
        let session = format!("provider:{}", self.name);
        move |halt| {
            let dir = match &workspace {
                None => ChildDir::Private,
                Some(path) => ChildDir::Path { path, mode: ExposeMode::ReadWrite },
            };
            let spec = HelperSpec {
                principal,
                command: &words.command.into_iter().map(OsString::from).collect::<Vec<_>>(),
                variables: &[],
                dir,
                streams: Streams::Plain {
                    stdin: Stdin::Bytes(words.input.into_bytes()),
                    output: Output::Pipes,
                },
                deadline: Deadline::After(timeout),
                output_limit: OutputLimit { head: MOST, tail: 0 },
            };
            let said: Vec<OsString> = words.said.into_iter().map(OsString::from).collect();
            let subject = Subject::root(Origin::Cli, agent, session);
            let helper = warden.start_helper_with_args(&spec, &said, &subject)?;
            let printed = AtomicUsize::new(0);
            Ok(helper.finish(halt, &|bytes| {
                // A flood is not waited out.
                if printed.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len() > MOST {
                    halt.cancel();
                }
            }))
        }
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ProviderError> {
        let lodge = self.warden.helpers();
        let safety = if lodge.is_caged() { Safety::Ours } else { Safety::Its };
        let stay = self.workspace.as_ref().map(|path| path.to_string_lossy());
        let words = self.tongue.words(request, safety, stay.as_deref());
        let work = self.run(words, request.agent.clone());
        let waiting = Waiting(CancelToken::new());
        let halt = waiting.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&halt)).await;
        drop(waiting);
        let program = self.tongue.program();
        let finished = done.map_err(|_| malformed("the wait for the program broke off"))?.map_err(|why| {
            ProviderError::new(Class::Malformed, format!("could not start `{program}`: {why}"))
        })?;
        let answer = self.ended(finished).and_then(|ended| self.tongue.read(&ended));
        answer.map_err(|why| match (why.class, safety) {
            (Class::Auth, Safety::Ours) => ProviderError { message: why.message + &self.hint(), ..why },
            _ => why,
        })
    }

    /// What people stumble over first: logged in at home is not logged in here.
    fn hint(&self) -> String {
        format!(
            "\nhint: caged, it has a home of its own, `runtime-user-env/providers/{}/home` in the instance; log in \
             there, or show it its credentials with `isolation.expose_paths`",
            self.tongue.principal()
        )
    }

    fn ended(&self, finished: Finished) -> Result<Ended, ProviderError> {
        let program = self.tongue.program();
        let code = match finished.status {
            Status::Exited(code) => Some(code),
            Status::TimedOut => {
                let seconds = self.timeout.as_secs();
                let text = format!("`{program}` gave no answer within {seconds} s (`request_timeout`)");
                return Err(ProviderError::new(Class::Timeout, text));
            }
            Status::Halted => {
                return Err(malformed(format_args!("`{program}` printed more than {} MiB", MOST >> 20)));
            }
            Status::OutOfMemory => return Err(failure(format!("`{program}` ran out of memory"))),
            Status::Signaled(_) => None,
        };
        let text = |clipped: &TruncatedOutput| String::from_utf8(clipped.head.clone());
        let stdout =
            text(&finished.stdout).map_err(|_| malformed(format_args!("`{program}` did not print UTF-8")))?;
        let stderr = String::from_utf8_lossy(&finished.stderr.head).into_owned();
        Ok(Ended { stdout, stderr, code })
    }
}

impl<T: Tongue + 'static> Provider for Program<T> {
    fn model(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, request: &'a Request, _sink: &'a mut dyn Sink) -> Reading<'a> {
        Box::pin(self.answer(request))
    }

    fn again(&self) -> Again {
        Again::Never
    }
}

/// Raises its halt when it is dropped: nobody waits for the program any more.
struct Waiting(CancelToken);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A failure that a program tells in words; another model may do better.
pub(super) fn failure(message: String) -> ProviderError {
    let words = message.to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    let class = if has(&["prompt is too long", "context window", "context length"]) {
        Class::ContextOverflow
    } else if has(&["credit balance", "billing", "quota"]) {
        Class::Billing
    } else if has(&["rate limit", "usage limit", "overloaded", "too many requests"]) {
        Class::RateLimit
    } else if has(&["api key", "log in", "login", "unauthorized", "authenticat", "401"]) {
        Class::Auth
    } else {
        Class::Malformed
    };
    ProviderError::new(class, message)
}
