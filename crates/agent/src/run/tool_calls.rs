//! Runs one tool call of a turn: hooks, executor, approval, events.

use super::event::{Ask, Event};
use super::turn::TurnError;
use super::turn_loop::TurnContext;
use crate::call::{Call, Reply};
use crate::executor::Watcher;
use crate::hooks::HookOutcome;
use crate::message::ToolCall;
use crate::tools::{Outcome, PendingCall};
use picoclaw_policy::{Question, Refusal};
use picoclaw_sandbox::permit::Answer;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Lines of output that wait to be emitted; more are dropped from the live view, never from the
/// result.
const MAX_QUEUED_LINES: usize = 1024;

/// Runs one call to its reply. The arguments are judged as the model wrote them; events show them
/// without secrets.
pub(super) async fn run(context: &TurnContext<'_>, round: u64, call: &ToolCall) -> Result<Reply, TurnError> {
    let TurnContext { executor, hooks, turn, .. } = context;
    let id = context.clean(&call.id);
    let began = Instant::now();
    let started = |tool: &str, arguments: Value| {
        context.emit(Event::ToolCall { id: id.clone(), tool: context.clean(tool), arguments });
    };
    let new_call =
        |tool: &str, arguments| Call { tool: tool.to_owned(), arguments, subject: turn.subject.clone() };
    let (tool, reply) = match parse_arguments(&call.arguments) {
        Err(why) => {
            started(&call.name, Value::String(context.clean(&call.arguments)));
            let call_ = new_call(&call.name, Value::Null);
            (call.name.clone(), executor.refuse_unreadable(call_, why, turn.halt).await)
        }
        Ok(arguments) => match hooks.before_tool(round, &call.name, arguments.clone()).await? {
            HookOutcome::Denied(sentence) => {
                started(&call.name, clean_arguments(&arguments, context));
                (call.name.clone(), executor.deny_by_hook(new_call(&call.name, arguments), sentence).await)
            }
            HookOutcome::Answered(reply) => {
                started(&call.name, clean_arguments(&arguments, context));
                (
                    call.name.clone(),
                    executor.answered_by_hook(new_call(&call.name, arguments), reply.into()).await,
                )
            }
            HookOutcome::Proceed { tool, arguments } => {
                started(&tool, clean_arguments(&arguments, context));
                let reply = execute(context, &call.id, new_call(&tool, arguments.clone())).await;
                let reply = hooks.after_tool(round, &tool, &arguments, reply, began.elapsed()).await?;
                (tool, reply.map_text(|text| context.clean(&text)))
            }
        },
    };
    let tool = context.clean(&tool);
    context.emit(Event::ToolResult { id, tool, reply: reply.clone(), took: began.elapsed() });
    Ok(reply)
}

async fn execute(context: &TurnContext<'_>, id: &str, call: Call) -> Reply {
    let TurnContext { executor, turn, .. } = context;
    let (sender, mut lines) = mpsc::channel(MAX_QUEUED_LINES);
    let watcher: Watcher = Arc::new(move |line: &[u8]| {
        let _ = sender.try_send(String::from_utf8_lossy(line).into_owned());
    });
    let emit = |line: String| context.emit(Event::ToolOutput { id: id.to_owned(), line });
    let running = executor.call(call, turn.halt, Arc::clone(&watcher));
    match forward_lines(running, &mut lines, &emit).await {
        Outcome::Reply(reply) => reply,
        Outcome::NeedsApproval(pending) => {
            let answer = wait_for_answer(ask(&pending, context), context);
            let answer = match context.slot {
                Some(slot) => slot.free_while(turn.halt, answer).await,
                None => answer.await,
            };
            let resumed = executor.answer(pending, turn.subject.clone(), answer, turn.halt, watcher);
            forward_lines(resumed, &mut lines, &emit).await
        }
    }
}

/// Waits for a call and emits its output as it comes.
async fn forward_lines<T>(
    call: impl Future<Output = T>,
    lines: &mut mpsc::Receiver<String>,
    emit: &(dyn Fn(String) + Sync),
) -> T {
    let mut call = std::pin::pin!(call);
    let done = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => emit(line),
            done = &mut call => break done,
        }
    };
    while let Ok(line) = lines.try_recv() {
        emit(line);
    }
    done
}

/// Emits the question, without secrets.
fn ask(pending: &PendingCall, context: &TurnContext<'_>) -> oneshot::Receiver<Answer> {
    let (answer, answered) = oneshot::channel();
    let question = pending.question();
    let refusal = &question.refusal;
    let question = Question {
        text: context.clean(&question.text),
        refusal: Refusal {
            sentence: context.clean(&refusal.sentence),
            hint: context.clean(&refusal.hint),
            ..refusal.clone()
        },
    };
    let (tool, fingerprint) = (pending.tool().to_owned(), pending.fingerprint());
    let mut act = Box::new(pending.act().clone());
    act.arguments = clean_arguments(&act.arguments, context);
    context.emit(Event::Ask(Ask { tool, question, act, fingerprint, answer }));
    answered
}

/// Waits for the answer; `None` when there will be none.
async fn wait_for_answer(answered: oneshot::Receiver<Answer>, context: &TurnContext<'_>) -> Option<Answer> {
    tokio::select! {
        biased;
        () = context.turn.halt.cancelled() => None,
        answer = answered => answer.ok(),
    }
}

/// The arguments as JSON; the error says why they are not.
fn parse_arguments(text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    // What models send for a call without arguments.
    if matches!(trimmed, "" | "null") {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(trimmed).map_err(|error| error.to_string())
}

fn clean_arguments(arguments: &Value, context: &TurnContext<'_>) -> Value {
    match context.redactor.clean(&arguments.to_string()) {
        Cow::Borrowed(_) => arguments.clone(),
        Cow::Owned(clean) => serde_json::from_str(&clean).unwrap_or(Value::String(clean)),
    }
}
