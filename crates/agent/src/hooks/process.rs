//! A hook as configured: started when it is first needed, started again when it is gone.
//!
//! Invariant: at most one child a hook; after a failure the next start waits, longer each time.

use super::error::HookError;
use super::link::{Link, NoAnswer};
use picoclaw_policy::Subject;
use picoclaw_policy::config::{ExposeMode, HookConfig};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::guest::Guest;
use picoclaw_sandbox::launch::{Deadline, Output, OutputLimit, Principal, Stdin, Streams};
use picoclaw_sandbox::warden::Warden;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long a hook has to say hello.
const HELLO: Duration = Duration::from_secs(5);

/// The first wait before a hook is started again, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(60));

/// One entry of `hooks.processes`.
pub(super) struct HookProcess {
    config: HookConfig,
    warden: Arc<Warden>,
    subject: Subject,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    link: Option<Arc<Link>>,
    failures: u32,
    not_before: Option<Instant>,
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

    pub(super) fn intercepts(&self, moment: &str) -> bool {
        self.config.intercept.iter().any(|known| known == moment)
    }

    /// Asks, starting the hook first when it does not run.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, HookError> {
        let link = self.link().await?;
        let answer = link.ask(method, params, limit).await;
        answer.map_err(|why| self.failed(why, limit))
    }

    /// Tells, if it runs; an observer that is down is started by the next question or event.
    pub(super) async fn tell(&self, method: &str, params: &Value, limit: Duration) -> Result<(), HookError> {
        let link = self.link().await?;
        link.tell(method, params, limit).await.map_err(|why| self.failed(why, limit))
    }

    /// The running child; a new one when there is none and the time for it has come.
    pub(super) async fn link(&self) -> Result<Arc<Link>, HookError> {
        let mut state = self.state.lock().await;
        if let Some(link) = state.link.as_ref().filter(|link| !link.is_gone()) {
            return Ok(Arc::clone(link));
        }
        if let Some(gone) = state.link.take() {
            gone.close().await;
            state.failures += 1;
            state.not_before = Some(Instant::now() + wait(state.failures));
            tracing::warn!(target: "hook", hook = %self.name(), "The hook is gone");
        }
        let left = state.not_before.map(|then| then.saturating_duration_since(Instant::now()));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            // The first wait is short enough to sit out; a longer one is a no for now.
            if state.failures > 1 {
                return Err(HookError::Down { name: self.name().to_owned(), wait: left });
            }
            tokio::time::sleep(left).await;
        }
        match self.start().await {
            Ok(link) => {
                state.link = Some(Arc::clone(&link));
                Ok(link)
            }
            Err(why) => {
                state.failures += 1;
                state.not_before = Some(Instant::now() + wait(state.failures));
                Err(why)
            }
        }
    }

    async fn start(&self) -> Result<Arc<Link>, HookError> {
        let visitor = {
            let (warden, config) = (Arc::clone(&self.warden), self.config.clone());
            let subject = self.subject.clone();
            let started = tokio::task::spawn_blocking(move || welcome(&warden, &config, &subject)).await;
            started.map_err(|_| self.gone())?
        };
        let visitor = visitor.map_err(|source| HookError::Start { name: self.name().to_owned(), source })?;
        let link = Arc::new(Link::new(self.name(), visitor).ok_or_else(|| self.gone())?);
        let params = json!({"name": self.name(), "version": 1, "modes": self.modes()});
        match link.ask("hook.hello", &params, HELLO).await {
            Ok(_) => Ok(link),
            Err(why) => {
                link.close().await;
                Err(match why {
                    NoAnswer::TimedOut => HookError::Hello { name: self.name().to_owned(), limit: HELLO },
                    other => self.failed(other, HELLO),
                })
            }
        }
    }

    pub(super) async fn close(&self) {
        if let Some(link) = self.state.lock().await.link.take() {
            link.close().await;
        }
    }

    fn modes(&self) -> Vec<&'static str> {
        let any = |moments: &[&str]| moments.iter().any(|moment| self.intercepts(moment));
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

    fn failed(&self, why: NoAnswer, limit: Duration) -> HookError {
        let name = self.name().to_owned();
        match why {
            NoAnswer::Gone => HookError::Gone { name },
            NoAnswer::TimedOut => HookError::TimedOut { name, limit },
            NoAnswer::Refused(message) => HookError::Refused { name, message },
            NoAnswer::TooLong => {
                HookError::Garbage { name, what: "the question is longer than 1 MiB".to_owned() }
            }
        }
    }
}

fn wait(failures: u32) -> Duration {
    let (first, most) = BACKOFF;
    first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16))).min(most)
}

fn welcome(
    warden: &Warden,
    config: &HookConfig,
    subject: &Subject,
) -> Result<picoclaw_sandbox::guest::Visitor, picoclaw_sandbox::guest::GuestError> {
    let command: Vec<OsString> = config.command.iter().map(OsString::from).collect();
    let variables: Vec<_> =
        config.env.iter().map(|(name, value)| (name.into(), value.reveal().into())).collect();
    // A directory of the operator's choice is shown, not opened: a hook keeps its own files in its own home.
    let dir = match &config.dir {
        None => ChildDir::Private,
        Some(path) => ChildDir::Path { path, mode: ExposeMode::ReadOnly },
    };
    let guest = Guest {
        principal: Principal::Hook(config.name.clone()),
        command: &command,
        variables: &variables,
        dir,
        streams: Streams::Plain { stdin: Stdin::Pipe, output: Output::Pipes },
        deadline: Deadline::None,
        output_limit: OutputLimit::default(),
    };
    warden.welcome(&guest, subject)
}
