//! One configured hook: started when it is first needed and restarted, with growing delays, after
//! it has exited.

use super::connection::{HookConnection, RequestError};
use super::error::HookError;
use picoclaw_policy::Subject;
use picoclaw_policy::config::{ExposeMode, HookConfig, OwnIsolation};
use picoclaw_sandbox::CommandError;
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::helper::{HelperSpec, RunningHelper};
use picoclaw_sandbox::launch::{Deadline, Output, OutputLimit, Principal, Stdin, Streams};
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long a hook has to answer `hook.hello`.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// The delay before the first restart; it doubles with each failure.
const MIN_RESTART_DELAY: Duration = Duration::from_millis(200);

/// The longest delay before a restart.
const MAX_RESTART_DELAY: Duration = Duration::from_secs(60);

/// One entry of `hooks.processes`.
pub(super) struct HookProcess {
    config: HookConfig,
    warden: Arc<Warden>,
    subject: Subject,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<HookConnection>>,
    failures: u32,
    /// The earliest time of the next start.
    next_start: Option<Instant>,
}

impl HookProcess {
    pub(super) fn new(config: HookConfig, warden: Arc<Warden>, subject: Subject) -> Self {
        Self { config, warden, subject, state: Mutex::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    pub(super) fn observes(&self) -> &[String] {
        &self.config.observe
    }

    pub(super) fn intercepts(&self, point: &str) -> bool {
        self.config.intercept.iter().any(|known| known == point)
    }

    /// Sends a request, starting the hook first when it does not run.
    pub(super) async fn request(
        &self,
        method: &str,
        params: &Value,
        timeout: Duration,
    ) -> Result<Value, HookError> {
        let connection = self.connection().await?;
        let response = connection.request(method, params, timeout).await;
        response.map_err(|why| self.error(why, timeout))
    }

    /// Sends a notification, starting the hook first when it does not run.
    pub(super) async fn notify(
        &self,
        method: &str,
        params: &Value,
        timeout: Duration,
    ) -> Result<(), HookError> {
        let connection = self.connection().await?;
        connection.notify(method, params, timeout).await.map_err(|why| self.error(why, timeout))
    }

    /// The connection to the running hook; starts it when its restart delay has passed.
    pub(super) async fn connection(&self) -> Result<Arc<HookConnection>, HookError> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        if let Some(closed) = state.connection.take() {
            closed.close().await;
            state.record_failure();
            tracing::warn!(target: "hook", hook = %self.name(), "The hook is gone");
        }
        let wait = state.next_start.map(|at| at.saturating_duration_since(Instant::now()));
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            // The first delay is short enough to wait for; a longer one is an error.
            if state.failures > 1 {
                return Err(HookError::Down { name: self.name().to_owned(), wait });
            }
            tokio::time::sleep(wait).await;
        }
        let started = self.start().await;
        match &started {
            Ok(connection) => state.connection = Some(Arc::clone(connection)),
            Err(_) => state.record_failure(),
        }
        started
    }

    async fn start(&self) -> Result<Arc<HookConnection>, HookError> {
        let (warden, config, subject) = (Arc::clone(&self.warden), self.config.clone(), self.subject.clone());
        let started = tokio::task::spawn_blocking(move || start_helper(&warden, &config, &subject)).await;
        let helper = started
            .map_err(|_| self.gone())?
            .map_err(|source| HookError::Start { name: self.name().to_owned(), source })?;
        let connection = Arc::new(HookConnection::new(self.name(), helper).ok_or_else(|| self.gone())?);
        let params = json!({"name": self.name(), "version": 1, "modes": self.modes()});
        match connection.request("hook.hello", &params, HELLO_TIMEOUT).await {
            Ok(_) => Ok(connection),
            Err(why) => {
                connection.close().await;
                Err(match why {
                    RequestError::TimedOut => {
                        HookError::Hello { name: self.name().to_owned(), limit: HELLO_TIMEOUT }
                    }
                    other => self.error(other, HELLO_TIMEOUT),
                })
            }
        }
    }

    pub(super) async fn close(&self) {
        if let Some(connection) = self.state.lock().await.connection.take() {
            connection.close().await;
        }
    }

    fn modes(&self) -> Vec<&'static str> {
        let any = |points: &[&str]| points.iter().any(|point| self.intercepts(point));
        [
            ("observe", !self.config.observe.is_empty()),
            ("llm", any(&["before_llm", "after_llm"])),
            ("tool", any(&["before_tool", "after_tool"])),
            ("approve", any(&["approve_tool"])),
        ]
        .into_iter()
        .filter_map(|(mode, is_on)| is_on.then_some(mode))
        .collect()
    }

    fn gone(&self) -> HookError {
        HookError::Gone { name: self.name().to_owned() }
    }

    fn error(&self, why: RequestError, limit: Duration) -> HookError {
        let name = self.name().to_owned();
        match why {
            RequestError::Closed => HookError::Gone { name },
            RequestError::TimedOut => HookError::TimedOut { name, limit },
            RequestError::Failed(message) => HookError::Refused { name, message },
            RequestError::TooLong => {
                HookError::Garbage { name, what: "the question is longer than 1 MiB".to_owned() }
            }
        }
    }
}

impl State {
    fn record_failure(&mut self) {
        let doublings = self.failures.min(16);
        self.failures += 1;
        let delay = MIN_RESTART_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_RESTART_DELAY);
        self.next_start = Some(Instant::now() + delay);
    }
}

fn start_helper(
    warden: &Warden,
    config: &HookConfig,
    subject: &Subject,
) -> Result<RunningHelper, CommandError> {
    let command: Vec<OsString> = config.command.iter().map(OsString::from).collect();
    let variables: Vec<_> =
        config.env.iter().map(|(name, value)| (name.into(), value.reveal().into())).collect();
    // A configured directory is read-only: a hook writes to its own home.
    let dir = match &config.dir {
        None => ChildDir::Private,
        Some(path) => ChildDir::Path { path, mode: ExposeMode::ReadOnly },
    };
    let spec = HelperSpec {
        principal: Principal::Hook(config.name.clone()),
        command: &command,
        variables: &variables,
        dir,
        isolation: OwnIsolation::default(),
        streams: Streams::Plain { stdin: Stdin::Pipe, output: Output::Pipes },
        deadline: Deadline::None,
        output_limit: OutputLimit::default(),
    };
    warden.start_helper(&spec, subject)
}
