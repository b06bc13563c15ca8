//! An instance with a runner, and a mind that says what it was told to.

use picoclaw_agent::executor::ToolExecutor;
use picoclaw_agent::message::{Message, ToolCall};
use picoclaw_agent::providers::{
    Answer, AnswerFuture, ErrorClass, Models, Provider, ProviderError, ProviderKind, Request, Sink, Usage,
};
use picoclaw_agent::run::{Event, Runner, Steering, Turn, TurnError, TurnOutcome};
use picoclaw_agent::tools::Registry;
use picoclaw_policy::config::{Config, Guard};
use picoclaw_policy::{AgentId, Origin, Policy, Subject};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::{Ledger, Reader};
use picoclaw_sandbox::warden::Warden;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a mind does when it is asked.
pub(crate) enum Act {
    Say(Answer),
    Fail(ErrorClass, &'static str),
    /// Thinks until it is given up.
    Hang,
}

/// Text and nothing else.
pub(crate) fn say(text: &str) -> Act {
    Act::Say(Answer { content: text.to_owned(), ..Answer::default() })
}

/// Calls, each a tool and its arguments.
pub(crate) fn call(calls: &[(&str, &str)]) -> Act {
    let one = |(at, (tool, arguments)): (usize, &(&str, &str))| ToolCall {
        id: format!("c{at}"),
        name: (*tool).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    Act::Say(Answer { tool_calls: calls.iter().enumerate().map(one).collect(), ..Answer::default() })
}

/// The same, with what it cost.
pub(crate) fn costing(act: Act, tokens: u64) -> Act {
    match act {
        Act::Say(answer) => Act::Say(Answer { usage: Usage { input: tokens, output: 0 }, ..answer }),
        other => other,
    }
}

/// A mind that was written down, and everything it was asked.
#[derive(Clone)]
pub(crate) struct Script {
    acts: Arc<Mutex<VecDeque<Act>>>,
    pub(crate) asked: Arc<Mutex<Vec<Request>>>,
    /// Called before each answer.
    pub(crate) before: Arc<dyn Fn(usize) + Send + Sync>,
    kind: ProviderKind,
}

impl Provider for Script {
    fn model(&self) -> &str {
        "script"
    }

    fn kind(&self) -> ProviderKind {
        self.kind
    }

    fn ask<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink) -> AnswerFuture<'a> {
        let round = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            asked.len()
        };
        (self.before)(round);
        let act = self.acts.lock().unwrap().pop_front();
        Box::pin(async move {
            match act {
                Some(Act::Say(answer)) => {
                    for piece in answer.content.as_bytes().chunks(3) {
                        sink.text(&String::from_utf8_lossy(piece));
                    }
                    Ok(answer)
                }
                Some(Act::Fail(class, why)) => Err(ProviderError::new(class, why)),
                Some(Act::Hang) => std::future::pending().await,
                None => Err(ProviderError::new(ErrorClass::Unknown, "the script is over")),
            }
        })
    }
}

pub(crate) struct Fixture {
    pub(crate) runner: Runner,
    pub(crate) script: Script,
    pub(crate) config: Arc<Config>,
    pub(crate) steering: Arc<Steering>,
    pub(crate) halt: CancelToken,
    dir: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new(acts: Vec<Act>) -> Self {
        Self::with(acts, |_| {})
    }

    pub(crate) fn with(acts: Vec<Act>, set: impl FnOnce(&mut Config)) -> Self {
        Self::build(acts, ProviderKind::Model, set)
    }

    pub(crate) fn build(acts: Vec<Act>, kind: ProviderKind, set: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.tools.exec.guard = Guard::Smart;
        config.turns.max_llm_retries = 0;
        set(&mut config);
        let script = Script {
            acts: Arc::new(Mutex::new(acts.into())),
            asked: Arc::default(),
            before: Arc::new(|_| {}),
            kind,
        };
        let config = Arc::new(config);
        let runner = open(&dir.path().join("home"), &config, &script);
        Self { runner, script, config, steering: Arc::default(), halt: CancelToken::new(), dir }
    }

    /// Does something before each answer.
    pub(crate) fn before(mut self, hear: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.script.before = Arc::new(hear);
        self.runner = open(&self.home(), &self.config, &self.script);
        self
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.home().join("workspace")
    }

    /// One turn of `main`'s in the session `s`.
    pub(crate) fn turn(&self, input: &str) -> Result<TurnOutcome, TurnError> {
        self.turn_as("main", "s", input, &|_| {})
    }

    pub(crate) fn turn_as(
        &self,
        agent: &str,
        session: &str,
        input: &str,
        events: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<TurnOutcome, TurnError> {
        run(self.runner.turn(Turn {
            subject: subject(agent, session),
            input: input.to_owned(),
            model: None,
            events,
            steering: &self.steering,
            halt: &self.halt,
        }))
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.script.asked.lock().unwrap().clone()
    }

    /// What the model was sent last, without the instructions.
    pub(crate) fn sent(&self) -> Vec<Message> {
        self.asked().pop().unwrap().messages.split_off(1)
    }

    /// A session's messages on disk, as `role: content`.
    pub(crate) fn kept(&self, session: &str) -> Vec<String> {
        let agent = AgentId::main();
        let read = self.runner.sessions().read(&agent, session);
        let line = |message: Message| format!("{:?}: {}", message.role, message.content).to_lowercase();
        read.map(|transcript| transcript.messages.into_iter().map(line).collect()).unwrap_or_default()
    }

    /// Every record of the ledger.
    pub(crate) fn records(&self) -> Vec<Value> {
        let mut records = Reader::open(&self.home().join("ledger")).unwrap().unwrap().all().unwrap();
        let mut found = Vec::new();
        while let Some(stored) = records.next().unwrap() {
            found.push(serde_json::from_str(&stored.text).unwrap());
        }
        found
    }
}

pub(crate) fn subject(agent: &str, session: &str) -> Subject {
    let agent = AgentId::parse(agent).unwrap();
    Subject::root(Origin::Cli, agent, session)
}

/// Runs a future on a runtime of its own, within bounds.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bounded = async { tokio::time::timeout(Duration::from_secs(60), future).await };
    runtime.block_on(bounded).unwrap_or_else(|_| panic!("the turn took longer than a minute"))
}

pub(crate) fn open(home: &std::path::Path, config: &Arc<Config>, script: &Script) -> Runner {
    open_with(home, config, vec![Box::new(script.clone())])
}

pub(crate) fn open_with(
    home: &std::path::Path,
    config: &Arc<Config>,
    providers: Vec<Box<dyn Provider>>,
) -> Runner {
    let (executor, instance) = executor(home, config);
    let models = Models::with_providers(config, providers);
    let runner = Runner::open(executor, Arc::clone(config), models, &instance).unwrap();
    picoclaw_agent::subagent::install(&runner);
    runner
}

/// The tools of an instance, behind its policy check.
pub(crate) fn executor(home: &std::path::Path, config: &Config) -> (ToolExecutor, Instance) {
    let instance = Instance::prepare(home, config, &[home.join("config.json")]).unwrap();
    let zones = instance.zones();
    let files = Files::open(zones.clone(), &instance.locks()).unwrap();
    let redactor = Redactor::new(&config.secrets);
    let ledger = Ledger::open(&instance.ledger()).unwrap().redacting(redactor.clone());
    let exec_env = ExecEnv::new(config, &instance, std::env::vars_os()).unwrap();
    let policy = Policy::compile(config, zones, Vec::new()).unwrap();
    let warden = Arc::new(Warden::new(policy, files, exec_env, ledger));
    let registry = Arc::new(Registry::new(&config.tools, redactor));
    (ToolExecutor::new(warden, registry), instance)
}
