//! The calls that a model makes: each walks through the hall, in order, and leaves one reply.
//!
//! Invariant: what a model wrote as arguments is judged as it was written; what others are shown of it holds no secret.

use super::escort::{Escort, Passage};
use super::event::{Ask, Event};
use super::lane::Lane;
use super::turn::{Turn, TurnError};
use crate::call::{Call, Reply};
use crate::hall::{Hall, Watcher};
use crate::message::ToolCall;
use crate::tools::{Asked, Outcome};
use picoclaw_policy::{Question, Refusal};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::permit::Approval;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Lines of output that wait to be shown; a viewer that is slower sees fewer.
const LINES: usize = 1024;

/// The way that a turn's calls take.
pub(super) struct Way<'w> {
    pub(super) hall: &'w Hall,
    pub(super) escort: &'w Escort,
    /// The turn's lane, where it has one.
    pub(super) lane: Option<&'w Lane>,
    /// How often the model was asked.
    pub(super) round: u64,
}

/// Runs one call to its reply, telling what happens.
pub(super) async fn run(
    way: &Way<'_>,
    call: &ToolCall,
    turn: &Turn<'_>,
    redactor: &Redactor,
) -> Result<Reply, TurnError> {
    let id = redactor.clean(&call.id).into_owned();
    let began = Instant::now();
    let start = |tool: &str, arguments: Value| {
        let tool = redactor.clean(tool).into_owned();
        (turn.events)(Event::ToolCall { id: id.clone(), tool, arguments });
    };
    let asked =
        |tool: &str, arguments| Call { tool: tool.to_owned(), arguments, subject: turn.subject.clone() };
    let (tool, reply) = match arguments(&call.arguments) {
        Err(why) => {
            start(&call.name, Value::String(redactor.clean(&call.arguments).into_owned()));
            let refused = way.hall.refuse_unreadable(asked(&call.name, Value::Null), why, turn.halt).await;
            (call.name.clone(), refused)
        }
        Ok(arguments) => match way.escort.pass(way.round, &call.name, arguments.clone()).await? {
            Passage::Denied(sentence) => {
                start(&call.name, clean(&arguments, redactor));
                let denied = way.hall.deny_by_hook(asked(&call.name, arguments), sentence).await;
                (call.name.clone(), denied)
            }
            Passage::Answered(said) => {
                start(&call.name, clean(&arguments, redactor));
                (call.name.clone(), way.hall.answered_by_hook(asked(&call.name, arguments), said).await)
            }
            Passage::On { tool, arguments } => {
                start(&tool, clean(&arguments, redactor));
                let reply = walk(way, &call.id, asked(&tool, arguments.clone()), turn, redactor).await;
                let reply = way.escort.show(way.round, &tool, &arguments, reply, began.elapsed()).await?;
                (tool, reply.map_text(|text| redactor.clean(&text).into_owned()))
            }
        },
    };
    let tool = redactor.clean(&tool).into_owned();
    (turn.events)(Event::ToolResult { id, tool, reply: reply.clone(), took: began.elapsed() });
    Ok(reply)
}

async fn walk(way: &Way<'_>, id: &str, call: Call, turn: &Turn<'_>, redactor: &Redactor) -> Reply {
    let hall = way.hall;
    let (sender, mut lines) = mpsc::channel(LINES);
    let watcher: Watcher = Arc::new(move |line: &[u8]| {
        // A full queue loses a line of the live view, never of the result.
        let _ = sender.try_send(String::from_utf8_lossy(line).into_owned());
    });
    let tell = |line: String| (turn.events)(Event::ToolOutput { id: id.to_owned(), line });
    let outcome = heard(hall.call(call, turn.halt, Arc::clone(&watcher)), &mut lines, &tell).await;
    match outcome {
        Outcome::Reply(reply) => reply,
        Outcome::Asks(asked) => {
            let answered = put(&asked, turn, redactor);
            let answer = answer_of(answered, turn);
            let said = match way.lane {
                Some(lane) => lane.free_while(turn.halt, answer).await,
                None => answer.await,
            };
            let going_on = hall.answer(asked, turn.subject.clone(), said, turn.halt, watcher);
            heard(going_on, &mut lines, &tell).await
        }
    }
}

/// Waits for a call and passes its output on as it comes.
async fn heard<T>(
    call: impl Future<Output = T>,
    lines: &mut mpsc::Receiver<String>,
    tell: &(dyn Fn(String) + Sync),
) -> T {
    let mut call = std::pin::pin!(call);
    let done = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => tell(line),
            done = &mut call => break done,
        }
    };
    while let Ok(line) = lines.try_recv() {
        tell(line);
    }
    done
}

/// Puts a question to whoever listens.
fn put(asked: &Asked, turn: &Turn<'_>, redactor: &Redactor) -> oneshot::Receiver<(Approval, String)> {
    let (answer, answered) = oneshot::channel();
    let shown = asked.question();
    let refusal = &shown.refusal;
    let question = Question {
        text: redactor.clean(&shown.text).into_owned(),
        refusal: Refusal {
            sentence: redactor.clean(&refusal.sentence).into_owned(),
            hint: redactor.clean(&refusal.hint).into_owned(),
            ..refusal.clone()
        },
        ..shown.clone()
    };
    let (tool, fingerprint) = (asked.tool().to_owned(), asked.fingerprint());
    (turn.events)(Event::Ask(Ask { tool, question, fingerprint, answer }));
    answered
}

/// Waits for the answer; `None` when nobody gives one.
async fn answer_of(
    answered: oneshot::Receiver<(Approval, String)>,
    turn: &Turn<'_>,
) -> Option<(Approval, String)> {
    tokio::select! {
        biased;
        () = turn.halt.cancelled() => None,
        said = answered => said.ok(),
    }
}

/// The text as JSON; why it is none.
fn arguments(text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    // Models that have nothing to say say nothing.
    if matches!(trimmed, "" | "null") {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(trimmed).map_err(|why| why.to_string())
}

fn clean(arguments: &Value, redactor: &Redactor) -> Value {
    let text = arguments.to_string();
    match redactor.clean(&text) {
        std::borrow::Cow::Borrowed(_) => arguments.clone(),
        std::borrow::Cow::Owned(clean) => serde_json::from_str(&clean).unwrap_or(Value::String(clean)),
    }
}
