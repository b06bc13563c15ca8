//! A mind that plays several parts at once: which one, it finds in the first thing it was told.

use crate::fixture::{Act, open_with, run, subject};
use picoclaw_agent::message::Role;
use picoclaw_agent::providers::{AnswerFuture, ErrorClass, Provider, ProviderError, Request, Sink};
use picoclaw_agent::run::{Event, Runner, Steering, Turn, TurnError, TurnOutcome};
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{AgentConfig, Config, Guard};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::Reader;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The models that there are; the first is everybody's.
const MODELS: [&str; 3] = ["play", "small", "big"];

/// Hears which part is asked.
type Ear = Box<dyn Fn(&str) + Send>;

/// Everybody's lines, and everything that was asked.
#[derive(Clone, Default)]
pub(crate) struct Play {
    parts: Arc<Mutex<BTreeMap<&'static str, VecDeque<Act>>>>,
    pub(crate) asked: Arc<Mutex<Vec<(&'static str, Request)>>>,
    /// How many parts but the first think at once, and the most that ever did.
    thinking: Arc<(AtomicUsize, AtomicUsize)>,
    /// How many think at once before the first of them speaks.
    pub(crate) together: Arc<AtomicUsize>,
    /// The agents that asked, and the model of each.
    pub(crate) models: Arc<Mutex<Vec<(String, &'static str)>>>,
    hear: Arc<Mutex<Vec<Ear>>>,
}

/// A command that goes on when it is released.
pub(crate) const GATE: &str = r#"{"command": "while [ ! -e go-on ]; do sleep 0.01; done"}"#;

impl Play {
    fn most(&self) -> usize {
        self.thinking.1.load(Ordering::SeqCst)
    }

    /// Gives out parts, when they depend on the fixture.
    pub(crate) fn cast(&self, parts: impl IntoIterator<Item = (&'static str, Vec<Act>)>) {
        let parts = parts.into_iter().map(|(key, acts)| (key, acts.into()));
        self.parts.lock().unwrap().extend(parts);
    }

    /// A caller without a part hangs.
    pub(crate) fn others_hang(&self) {
        self.parts.lock().unwrap().insert("", VecDeque::new());
    }
}

struct Thinks(Arc<(AtomicUsize, AtomicUsize)>);

impl Drop for Thinks {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A play under the name of one model.
struct Named(Play, &'static str);

impl Provider for Named {
    fn model(&self) -> &str {
        self.1
    }

    fn ask<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink) -> AnswerFuture<'a> {
        self.0.models.lock().unwrap().push((request.agent.to_string(), self.1));
        self.0.ask(request, sink)
    }
}

impl Play {
    fn ask<'a>(&'a self, request: &'a Request, _: &'a mut dyn Sink) -> AnswerFuture<'a> {
        Box::pin(async move {
            let told = request.messages.iter().find(|message| message.role == Role::User).unwrap();
            let act = {
                let mut parts = self.parts.lock().unwrap();
                // The part that fits best; everybody's words end in the empty one.
                let fits = parts.iter_mut().filter(|(key, _)| told.content.ends_with(**key));
                let found = fits.max_by_key(|(key, _)| key.len());
                let (key, acts) = found.unwrap_or_else(|| panic!("nobody plays {:?}", told.content));
                self.asked.lock().unwrap().push((key, request.clone()));
                self.hear.lock().unwrap().iter().for_each(|hear| hear(key));
                if key.is_empty() { Some(Act::Hang) } else { acts.pop_front() }
            };
            let is_subagent = told.content.starts_with("You are a spawned subagent");
            let _thinks = is_subagent.then(|| {
                let now = self.thinking.0.fetch_add(1, Ordering::SeqCst) + 1;
                self.thinking.1.fetch_max(now, Ordering::SeqCst);
                Thinks(Arc::clone(&self.thinking))
            });
            // A mind that answers at once would never be seen beside another.
            let until = Instant::now() + Duration::from_secs(5);
            while is_subagent && self.most() < self.together.load(Ordering::SeqCst) && Instant::now() < until
            {
                tokio::task::yield_now().await;
            }
            match act {
                Some(Act::Say(answer)) => Ok(answer),
                Some(Act::Fail(class, why)) => Err(ProviderError::new(class, why)),
                Some(Act::Hang) => std::future::pending().await,
                None => Err(ProviderError::new(ErrorClass::Unknown, "the play is over")),
            }
        })
    }
}

/// A fixture in which a play is given.
pub(crate) struct Stage {
    pub(crate) play: Play,
    pub(crate) runner: Runner,
    pub(crate) halt: CancelToken,
    pub(crate) steering: Arc<Steering>,
    dir: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new(
        parts: impl IntoIterator<Item = (&'static str, Vec<Act>)>,
        set: impl FnOnce(&mut Config),
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.tools.exec.guard = Guard::Smart;
        config.turns.max_llm_retries = 0;
        set(&mut config);
        let play = Play::default();
        *play.parts.lock().unwrap() = parts.into_iter().map(|(key, acts)| (key, acts.into())).collect();
        let provider = |name| -> Box<dyn Provider> { Box::new(Named(play.clone(), name)) };
        let providers = MODELS.map(provider).into();
        let runner = open_with(&dir.path().join("home"), &Arc::new(config), providers);
        Self { play, runner, halt: CancelToken::new(), steering: Arc::default(), dir }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) async fn turn(
        &self,
        session: &str,
        input: &str,
        events: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<TurnOutcome, TurnError> {
        let turn = Turn {
            subject: subject("main", session),
            input: input.to_owned(),
            model: None,
            events,
            steering: &self.steering,
            halt: &self.halt,
        };
        self.runner.turn(turn).await
    }

    /// A turn of `main`'s, and its answer.
    pub(crate) fn answer(&self, input: &str) -> String {
        run(self.turn("s", input, &|_| {})).unwrap().answer
    }

    /// Hears which part is asked.
    pub(crate) fn hear(&self, hear: impl Fn(&str) + Send + 'static) {
        self.play.hear.lock().unwrap().push(Box::new(hear));
    }

    /// What a part was told in its latest request, without instructions.
    pub(crate) fn told(&self, part: &str) -> Vec<String> {
        let asked = self.play.asked.lock().unwrap();
        let (_, request) = asked.iter().rev().find(|(key, _)| *key == part).unwrap();
        request.messages[1..].iter().map(|message| message.content.clone()).collect()
    }

    /// The tools that a part was shown first.
    pub(crate) fn shown(&self, part: &str) -> Vec<String> {
        let asked = self.play.asked.lock().unwrap();
        let (_, request) = asked.iter().find(|(key, _)| *key == part).unwrap();
        request.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// The most subagents that ever thought at once.
    pub(crate) fn most(&self) -> usize {
        self.play.most()
    }

    /// Lets a command of a subagent's end when the part `part` is asked for the `round`th time.
    pub(crate) fn release(&self, part: &'static str, round: usize) {
        let (file, rounds) = (self.home().join("workspace/go-on"), AtomicUsize::new(0));
        self.hear(move |asked| {
            if asked == part && rounds.fetch_add(1, Ordering::SeqCst) + 1 == round {
                std::fs::write(&file, "").unwrap();
            }
        });
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        let mut records = Reader::open(&self.home().join("ledger")).unwrap().unwrap().all().unwrap();
        let mut found = Vec::new();
        while let Some(stored) = records.next().unwrap() {
            found.push(serde_json::from_str(&stored.text).unwrap());
        }
        found
    }
}

/// `main`, who may start `coder`, and `tester`, whom it may not.
pub(crate) fn three(config: &mut Config) {
    let agent = |id: &str| AgentConfig::plain(AgentId::parse(id).unwrap());
    config.agents = vec![
        AgentConfig { allow_agents: vec!["coder".to_owned()], ..agent("main") },
        agent("coder"),
        agent("tester"),
    ];
}
