//! Runs the program of a command-line model as a helper, with a deadline and bounded output.

use crate::providers::http::malformed;
use crate::providers::provider::{
    Answer, AnswerFuture, ErrorClass, Provider, ProviderError, Request, Retryable, Sink,
};
use picoclaw_policy::config::{ExposeMode, ModelConfig, OwnIsolation};
use picoclaw_policy::{AgentId, Origin, Subject};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::helper::HelperSpec;
use picoclaw_sandbox::launch::{
    CancelToken, Deadline, Finished, Output, OutputLimit, Principal, Status, Stdin, Streams, TruncatedOutput,
};
use picoclaw_sandbox::warden::Warden;
use picoclaw_sandbox::{CommandError, first_chars};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The largest output.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// The part of the output that an error shows, in characters.
const MAX_EXCERPT_CHARS: usize = 400;

/// What differs between the programs.
pub(in crate::providers) trait CliFormat: Send + Sync {
    /// The name of the program.
    fn program(&self) -> &'static str;

    /// The name of its user environment: one for all entries of a kind, so that one login serves
    /// them.
    fn principal(&self) -> &'static str;

    /// Its command line and input; `directory` is the configured working directory.
    fn invocation(&self, request: &Request, safety: Safety, directory: Option<&str>) -> Invocation;

    /// Parses its output.
    fn parse(&self, exited: &Exited) -> Result<Answer, ProviderError>;
}

/// What confines the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::providers) enum Safety {
    /// The cage: its own permission checks may be disabled.
    Caged,
    /// Its own permission checks alone.
    Own,
}

/// The command line and input of one request.
#[derive(Debug)]
pub(in crate::providers) struct Invocation {
    /// The program and the arguments that the operator chose.
    pub(super) command: Vec<String>,
    /// Further arguments, made from the conversation.
    pub(super) arguments: Vec<String>,
    /// Its standard input.
    pub(super) input: String,
}

/// A program that has exited.
#[derive(Debug)]
pub(in crate::providers) struct Exited {
    pub(super) stdout: String,
    stderr: String,
    /// Its exit code; `None` after a signal.
    pub(super) code: Option<i32>,
}

impl Exited {
    /// The error with the program's own message.
    pub(super) fn failure(&self, program: &str) -> ProviderError {
        let text = [&self.stderr, &self.stdout].into_iter().find(|text| !text.trim().is_empty());
        let text = text.map_or("it said nothing", |text| text.trim());
        let shown = first_chars(text, MAX_EXCERPT_CHARS);
        let how = self.code.map_or("was killed".to_owned(), |code| format!("exited with code {code}"));
        failure(format!("`{program}` {how}: {shown}"))
    }
}

/// A model behind a program.
pub(in crate::providers) struct CliProvider<T> {
    name: String,
    format: Arc<T>,
    warden: Arc<Warden>,
    workspace: Option<PathBuf>,
    timeout: Duration,
}

impl<T: CliFormat + 'static> CliProvider<T> {
    /// A model with the settings of `entry`, started by `warden`.
    pub(in crate::providers) fn new(entry: &ModelConfig, format: T, warden: Arc<Warden>) -> Self {
        Self {
            name: entry.name.clone(),
            format: Arc::new(format),
            warden,
            workspace: entry.workspace.clone(),
            timeout: Duration::from_secs(entry.request_timeout.max(1)),
        }
    }

    /// Runs the program to its end on the calling thread.
    fn run(
        &self,
        invocation: Invocation,
        agent: AgentId,
    ) -> impl FnOnce(&CancelToken) -> Result<Finished, CommandError> + use<T> {
        let (warden, workspace, timeout) = (Arc::clone(&self.warden), self.workspace.clone(), self.timeout);
        let principal = Principal::Provider(self.format.principal().to_owned());
        let session = format!("provider:{}", self.name);
        move |halt| {
            let dir = match &workspace {
                None => ChildDir::Private,
                Some(path) => ChildDir::Path { path, mode: ExposeMode::ReadWrite },
            };
            let spec = HelperSpec {
                principal,
                command: &invocation.command.into_iter().map(OsString::from).collect::<Vec<_>>(),
                variables: &[],
                dir,
                isolation: OwnIsolation::default(),
                streams: Streams::Plain {
                    stdin: Stdin::Bytes(invocation.input.into_bytes()),
                    output: Output::Pipes,
                },
                deadline: Deadline::After(timeout),
                output_limit: OutputLimit { head: MAX_OUTPUT_BYTES, tail: 0 },
            };
            let arguments: Vec<OsString> = invocation.arguments.into_iter().map(OsString::from).collect();
            let subject = Subject::root(Origin::Cli, agent, session);
            let helper = warden.start_helper_with_args(&spec, &arguments, &subject)?;
            let printed = AtomicUsize::new(0);
            Ok(helper.finish(halt, &|bytes| {
                // Stops a program that prints without end.
                if printed.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len() > MAX_OUTPUT_BYTES {
                    halt.cancel();
                }
            }))
        }
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ProviderError> {
        let helpers = self.warden.helpers();
        let safety = if helpers.is_caged() { Safety::Caged } else { Safety::Own };
        let stay = self.workspace.as_ref().map(|path| path.to_string_lossy());
        let invocation = self.format.invocation(request, safety, stay.as_deref());
        let work = self.run(invocation, request.agent.clone());
        let guard = CancelOnDrop(CancelToken::new());
        let halt = guard.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&halt)).await;
        drop(guard);
        let program = self.format.program();
        let finished = done.map_err(|_| malformed("the wait for the program broke off"))?.map_err(|why| {
            ProviderError::new(ErrorClass::Malformed, format!("could not start `{program}`: {why}"))
        })?;
        let answer = self.exited(finished).and_then(|exited| self.format.parse(&exited));
        answer.map_err(|why| match (why.class, safety) {
            (ErrorClass::Auth, Safety::Caged) => ProviderError { message: why.message + &self.hint(), ..why },
            _ => why,
        })
    }

    /// The hint for a program that is not logged in: the cage has a home of its own.
    fn hint(&self) -> String {
        format!(
            "\nhint: caged, it has a home of its own, `runtime-user-env/providers/{}/home` in the instance; log in \
             there, or show it its credentials with `isolation.expose_paths`",
            self.format.principal()
        )
    }

    fn exited(&self, finished: Finished) -> Result<Exited, ProviderError> {
        let program = self.format.program();
        let code = match finished.status {
            Status::Exited(code) => Some(code),
            Status::TimedOut => {
                let seconds = self.timeout.as_secs();
                let text = format!("`{program}` gave no answer within {seconds} s (`request_timeout`)");
                return Err(ProviderError::new(ErrorClass::Timeout, text));
            }
            Status::Halted => {
                return Err(malformed(format_args!(
                    "`{program}` printed more than {} MiB",
                    MAX_OUTPUT_BYTES >> 20
                )));
            }
            Status::OutOfMemory => return Err(failure(format!("`{program}` ran out of memory"))),
            Status::OutOfProcesses => return Err(failure(format!("`{program}` ran out of processes"))),
            Status::Signaled(_) => None,
        };
        let text = |clipped: &TruncatedOutput| String::from_utf8(clipped.head.clone());
        let stdout =
            text(&finished.stdout).map_err(|_| malformed(format_args!("`{program}` did not print UTF-8")))?;
        let stderr = String::from_utf8_lossy(&finished.stderr.head).into_owned();
        Ok(Exited { stdout, stderr, code })
    }
}

impl<T: CliFormat + 'static> Provider for CliProvider<T> {
    fn model(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, request: &'a Request, _sink: &'a mut dyn Sink) -> AnswerFuture<'a> {
        Box::pin(self.answer(request))
    }

    fn retryable(&self) -> Retryable {
        Retryable::No
    }
}

/// Cancels the program when the request is dropped.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Classifies the error message of a program.
pub(super) fn failure(message: String) -> ProviderError {
    let text = message.to_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let class = if has(&["prompt is too long", "context window", "context length"]) {
        ErrorClass::ContextOverflow
    } else if has(&["credit balance", "billing", "quota"]) {
        ErrorClass::Billing
    } else if has(&["rate limit", "usage limit", "overloaded", "too many requests"]) {
        ErrorClass::RateLimit
    } else if has(&["api key", "log in", "login", "unauthorized", "authenticat", "401"]) {
        ErrorClass::Auth
    } else {
        ErrorClass::Malformed
    };
    ProviderError::new(class, message)
}
