//! What every test of providers needs: a configuration, a request, an ear.

use picoclaw_agent::message::{Message, Role};
use picoclaw_agent::providers::{Answer, Models, ProviderError, Request, Retry, Sink, ToolSpec};
use picoclaw_policy::AgentId;
use picoclaw_policy::config::{Config, Layers, NoSecretSource, Sources, merge_layers};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A configuration from its JSON.
pub(crate) fn config(json: &Value) -> Config {
    let text = json.to_string();
    let sources = Sources { file: "config.json", text: Some(&text), secrets: ".security.yml" };
    let layers = Layers { sources, secrets: None, variables: &[], user_home: Some(Path::new("/home/user")) };
    merge_layers(&layers, &NoSecretSource).unwrap_or_else(|error| panic!("{error}")).config
}

/// Models with these entries, the first of them everybody's.
pub(crate) fn models(entries: &Value) -> Models {
    let first = entries[0]["model_name"].clone();
    Models::new(&config(&json!({"agents": {"defaults": {"model_name": first}}, "model_list": entries})))
}

/// A question with one tool.
pub(crate) fn request(messages: Vec<Message>) -> Request {
    let exec = ToolSpec {
        name: "exec".to_owned(),
        description: "runs".to_owned(),
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
    };
    Request { messages, tools: vec![exec], max_tokens: 100, temperature: None, agent: AgentId::main() }
}

/// A question of a person's.
pub(crate) fn hello() -> Request {
    request(vec![Message::text(Role::System, "be kind"), Message::text(Role::User, "hello")])
}

/// What was heard while an answer came.
#[derive(Default, Clone)]
pub(crate) struct Ear(pub(crate) Arc<Mutex<Vec<String>>>);

impl Sink for Ear {
    fn text(&mut self, piece: &str) {
        self.0.lock().unwrap().push(piece.to_owned());
    }
}

/// One question from beginning to end.
pub(crate) struct Heard {
    pub(crate) result: Result<(Answer, String), ProviderError>,
    pub(crate) pieces: Vec<String>,
    pub(crate) retries: Vec<Retry>,
}

impl Heard {
    pub(crate) fn answer(&self) -> &Answer {
        match &self.result {
            Ok((answer, _)) => answer,
            Err(why) => panic!("no answer: {why}"),
        }
    }

    pub(crate) fn error(&self) -> &ProviderError {
        match &self.result {
            Ok(answer) => panic!("an answer: {answer:?}"),
            Err(why) => why,
        }
    }
}

/// Asks the models' first chain.
pub(crate) async fn ask(models: &Models, request: &Request) -> Heard {
    let chain = models.chain(&AgentId::main(), None).unwrap();
    let mut ear = Ear::default();
    let retries = Mutex::new(Vec::new());
    let result = chain.ask(request, &mut ear, &|retry| retries.lock().unwrap().push(retry.clone())).await;
    let pieces = ear.0.lock().unwrap().clone();
    Heard { result, pieces, retries: retries.into_inner().unwrap() }
}
