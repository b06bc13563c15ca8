//! `POST /v1/chat/completions`: runs a turn. A client that disconnects cancels its turn, and so
//! does the end of its token.

use super::error::ApiError;
use super::request::{ChatRequest, RawChatRequest};
use super::response::{CompletionMeta, DONE, KEEP_ALIVE, event};
use crate::gateway::access::Principal;
use crate::gateway::request;
use crate::gateway::response::{self, HttpResponse};
use crate::gateway::server::Gateway;
use crate::gateway::services::Services;
use crate::run::{Event, Steering, SummaryReason, Turn, TurnError, TurnOutcome};
use crate::tokens::Scope;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use hyper::body::Incoming;
use picoclaw_policy::{Origin, Subject};
use picoclaw_sandbox::launch::CancelToken;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Interval of comments that keep an idle stream open.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Chunks that may be buffered for the client.
const CLIENT_BUFFER: usize = 64;

/// The header that names a persistent session.
const SESSION_HEADER: &str = "x-picoclaw-session";

/// Distinguishes completions of the same microsecond.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// What a turn sends to its client.
enum TurnOutput {
    Text(String),
    /// The text so far was not the answer.
    Break,
    End(Result<TurnOutcome, TurnError>),
}

/// A turn to run.
struct TurnTask {
    gateway: Arc<Gateway>,
    services: Arc<Services>,
    subject: Subject,
    request: ChatRequest,
    is_persistent: bool,
    cancel: CancellationToken,
    output: mpsc::UnboundedSender<TurnOutput>,
}

/// A turn that was started.
struct StartedTurn {
    meta: CompletionMeta,
    stream: bool,
    include_usage: bool,
    output: mpsc::UnboundedReceiver<TurnOutput>,
    /// Cancels the turn when the response is dropped.
    cancel: DropGuard,
}

/// Runs the turn and responds with its result.
pub(in crate::gateway) async fn completions(
    gateway: &Arc<Gateway>,
    request: http::Request<Incoming>,
    principal: Principal,
) -> HttpResponse {
    let session = session_name(request.headers());
    let raw: RawChatRequest = match request::read_json(request).await {
        Ok(raw) => raw,
        Err(response) => return bad_body(&response),
    };
    match start(gateway, raw, session, &principal.name) {
        Ok(turn) if turn.stream => {
            let (client, chunks) = mpsc::channel(CLIENT_BUFFER);
            let gateway = Arc::clone(gateway);
            tokio::spawn(async move {
                tokio::select! {
                    () = gateway.access.revoked(&principal, Scope::Chat) => {}
                    () = stream_output(turn.meta, turn.include_usage, turn.output, client) => {}
                }
            });
            response::event_stream(chunks, turn.cancel)
        }
        Ok(turn) => {
            let _cancel = turn.cancel;
            tokio::select! {
                () = gateway.access.revoked(&principal, Scope::Chat) => {
                    response::error(StatusCode::UNAUTHORIZED, "unauthorized")
                }
                response = collect_output(&turn.meta, turn.output) => response,
            }
        }
        Err(error) => error.response(),
    }
}

fn start(
    gateway: &Arc<Gateway>,
    raw: RawChatRequest,
    session: Result<Option<String>, ApiError>,
    principal: &str,
) -> Result<StartedTurn, ApiError> {
    let (session, request) = (session?, raw.check()?);
    let services = gateway.services();
    let agent = services.agent(&request.model).ok_or_else(|| ApiError::no_model(&request.model))?;
    if gateway.turns.is_closed() {
        return Err(ApiError::shutting_down());
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let id = format!("{:x}{:04x}", since.as_micros(), NEXT_ID.fetch_add(1, Ordering::Relaxed) & 0xffff);
    let name = format!("http:{}", session.as_deref().unwrap_or(&id));
    let meta = CompletionMeta {
        id: format!("chatcmpl-{id}"),
        created: since.as_secs(),
        model: request.model.clone(),
    };
    let cancel = gateway.cancel_turns.child_token();
    let (sender, output) = mpsc::unbounded_channel();
    let (stream, include_usage) = (request.stream, request.include_usage);
    let task = TurnTask {
        gateway: Arc::clone(gateway),
        services,
        subject: Subject::root(Origin::Http, agent, name).on_behalf_of(principal),
        request,
        is_persistent: session.is_some(),
        cancel: cancel.clone(),
        output: sender,
    };
    // A task of its own: a disconnected client cancels the turn, which then rolls back.
    gateway.turns.spawn(run(task));
    Ok(StartedTurn { meta, stream, include_usage, output, cancel: cancel.drop_guard() })
}

async fn run(task: TurnTask) {
    let TurnTask { gateway, services, subject, request, is_persistent, cancel, output } = task;
    gateway.publish_turn(&subject, json!({"type": "start"}));
    let events = |event: Event| {
        let _ = match &event {
            Event::Text(text) => output.send(TurnOutput::Text(text.clone())),
            Event::ToolCall { .. } | Event::Retry { .. } | Event::Said(_) => output.send(TurnOutput::Break),
            _ => Ok(()),
        };
        gateway.on_event(&subject, event);
    };
    let halt = CancelToken::new();
    let turn = async {
        let turn = Turn {
            subject: subject.clone(),
            input: request.input,
            model: None,
            events: &events,
            steering: &Steering::new(),
            halt: &halt,
        };
        match is_persistent {
            true => services.runner.turn(turn).await,
            false => services.runner.run_with_history(turn, request.history).await,
        }
    };
    let ended = {
        tokio::pin!(turn);
        tokio::select! {
            ended = &mut turn => ended,
            () = cancel.cancelled() => {
                halt.cancel();
                turn.await
            }
        }
    };
    let outcome = match &ended {
        Ok(ending) if ending.needs_approval => "unasked",
        Ok(_) => "answered",
        Err(TurnError::Halted) => "stopped",
        Err(_) => "failed",
    };
    gateway.counters.turn(Origin::Http, outcome);
    gateway.publish_turn(&subject, json!({"type": "end", "outcome": outcome}));
    if let Err(why) = &ended {
        tracing::warn!(target: "gateway", agent = %subject.agent, session = %subject.session, error = %why, "A turn has no answer");
    }
    let is_answered = ended.is_ok();
    let _ = output.send(TurnOutput::End(ended));
    drop(output);
    if is_persistent && is_answered {
        // A client that disconnects after the answer does not cancel this.
        if let Err(why) =
            services.runner.summarize(&subject, None, SummaryReason::Length, &CancelToken::new()).await
        {
            tracing::warn!(target: "session", "The session was not summarised: {why}");
        }
    }
}

async fn collect_output(
    meta: &CompletionMeta,
    mut output: mpsc::UnboundedReceiver<TurnOutput>,
) -> HttpResponse {
    while let Some(item) = output.recv().await {
        match item {
            TurnOutput::End(Ok(ending)) => return response::json(StatusCode::OK, &meta.completion(&ending)),
            TurnOutput::End(Err(why)) => return ApiError::from(&why).response(),
            TurnOutput::Text(_) | TurnOutput::Break => {}
        }
    }
    ApiError::shutting_down().response()
}

/// Streams the turn until its end or until the client is gone.
async fn stream_output(
    meta: CompletionMeta,
    include_usage: bool,
    mut output: mpsc::UnboundedReceiver<TurnOutput>,
    client: mpsc::Sender<Bytes>,
) {
    // Text of the current round that was sent.
    let mut sent = String::new();
    let mut chunks = vec![meta.first_chunk()];
    loop {
        for chunk in chunks.drain(..) {
            if client.send(chunk).await.is_err() {
                return;
            }
        }
        let item = tokio::select! {
            item = tokio::time::timeout(KEEP_ALIVE_INTERVAL, output.recv()) => item,
            () = client.closed() => return,
        };
        match item {
            Err(_) => chunks.push(KEEP_ALIVE),
            Ok(Some(TurnOutput::Text(text))) => {
                chunks.push(meta.text_chunk(&text));
                sent.push_str(&text);
            }
            Ok(Some(TurnOutput::Break)) => {
                if !std::mem::take(&mut sent).is_empty() {
                    chunks.push(meta.text_chunk("\n\n"));
                }
            }
            Ok(Some(TurnOutput::End(Ok(ending)))) => {
                let rest = ending.answer.strip_prefix(sent.as_str()).unwrap_or(&ending.answer);
                if !rest.is_empty() {
                    chunks.push(meta.text_chunk(rest));
                }
                chunks.push(meta.last_chunk());
                if include_usage {
                    chunks.push(meta.usage_chunk(&ending));
                }
                chunks.push(DONE);
                break;
            }
            Ok(Some(TurnOutput::End(Err(why)))) => {
                chunks.push(event(&ApiError::from(&why).to_json()));
                break;
            }
            Ok(None) => break,
        }
    }
    for chunk in chunks {
        if client.send(chunk).await.is_err() {
            return;
        }
    }
}

/// The persistent session that the client names.
fn session_name(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(SESSION_HEADER) else { return Ok(None) };
    let name = value.to_str().unwrap_or_default().trim();
    if name.is_empty() || name.len() > 200 {
        return Err(ApiError::invalid(
            "x-picoclaw-session",
            "a session's name has 1 to 200 visible characters",
        ));
    }
    Ok(Some(name.to_owned()))
}

/// The error of an unreadable body in this API's format.
fn bad_body(error: &HttpResponse) -> HttpResponse {
    let message = match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => "the body has more than 4 MiB",
        StatusCode::REQUEST_TIMEOUT => "the body did not arrive in time",
        _ => "the body is not a chat request",
    };
    let mut response = ApiError::bad_body(error.status(), message).response();
    if let Some(connection) = error.headers().get(http::header::CONNECTION) {
        response.headers_mut().insert(http::header::CONNECTION, connection.clone());
    }
    response
}
