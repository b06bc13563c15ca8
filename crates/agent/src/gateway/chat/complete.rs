//! `POST /v1/chat/completions`: a turn.
//!
//! Invariant: a turn ends by itself or is taken back; a client that hangs up takes its turn with it.

use super::error::Fault;
use super::request::{Request, Written};
use super::wire::{DONE, Heading, PULSE, event};
use crate::gateway::answer::{self, Answer};
use crate::gateway::body;
use crate::gateway::gate::Gate;
use crate::gateway::staff::Staff;
use crate::gateway::underway::{Ride, Wanted};
use crate::run::{Event, Steering, Turn, TurnError, TurnOutcome};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use hyper::body::Incoming;
use picoclaw_policy::{Origin, Subject};
use picoclaw_sandbox::launch::Halt;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;

/// How often a quiet stream shows that it lives.
const QUIET: Duration = Duration::from_secs(15);

/// How many pieces wait on their way to the client.
const ON_THE_WAY: usize = 64;

/// The header with the name of a session that is kept.
const SESSION: &str = "x-picoclaw-session";

/// Tells turns of one program apart.
static LAST: AtomicU64 = AtomicU64::new(0);

/// What a turn says to whoever asked for it.
enum Heard {
    Text(String),
    /// The text so far was not the answer.
    Break,
    End(Result<TurnOutcome, TurnError>),
}

/// A turn that was asked for.
struct Errand {
    gate: Arc<Gate>,
    staff: Arc<Staff>,
    subject: Subject,
    request: Request,
    is_kept: bool,
    halt: Halt,
    heard: mpsc::UnboundedSender<Heard>,
    _ride: Ride,
}

/// Runs the turn and answers with it.
pub(in crate::gateway) async fn complete(gate: &Arc<Gate>, request: http::Request<Incoming>) -> Answer {
    let named = session_named(request.headers());
    let written: Written = match body::read(request).await {
        Ok(written) => written,
        Err(why) => return unread(&why),
    };
    match begin(gate, written, named) {
        Ok((heading, is_stream, include_usage, heard, wanted)) if is_stream => {
            let (sender, pieces) = mpsc::channel(ON_THE_WAY);
            tokio::spawn(pass_on(heading, include_usage, heard, sender));
            answer::flowing(pieces, wanted)
        }
        Ok((heading, _, _, heard, _wanted)) => whole(&heading, heard).await,
        Err(fault) => fault.answer(),
    }
}

type Begun = (Heading, bool, bool, mpsc::UnboundedReceiver<Heard>, Wanted);

fn begin(gate: &Arc<Gate>, written: Written, named: Result<Option<String>, Fault>) -> Result<Begun, Fault> {
    let (named, request) = (named?, written.check()?);
    let staff = gate.staff();
    let agent = staff.agent(&request.model).ok_or_else(|| Fault::no_model(&request.model))?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let id = format!("{:x}{:04x}", since.as_micros(), LAST.fetch_add(1, Ordering::Relaxed) & 0xffff);
    let session = format!("http:{}", named.as_deref().unwrap_or(&id));
    let heading =
        Heading { id: format!("chatcmpl-{id}"), created: since.as_secs(), model: request.model.clone() };
    let halt = Halt::new();
    let ride = gate.underway.begin(&halt).ok_or_else(Fault::ending)?;
    let (sender, heard) = mpsc::unbounded_channel();
    let (is_stream, include_usage) = (request.stream, request.include_usage);
    let errand = Errand {
        gate: Arc::clone(gate),
        staff,
        subject: Subject::root(Origin::Http, agent, session),
        request,
        is_kept: named.is_some(),
        halt: halt.clone(),
        heard: sender,
        _ride: ride,
    };
    // On its own, so that a client that hangs up stops it and does not tear it.
    tokio::spawn(run(errand));
    Ok((heading, is_stream, include_usage, heard, Wanted(halt)))
}

async fn run(errand: Errand) {
    let Errand { gate, staff, subject, request, is_kept, halt, heard, _ride } = errand;
    gate.tell_turn(&subject, json!({"type": "start"}));
    let events = |event: Event| {
        let _gone = match &event {
            Event::Text(text) => heard.send(Heard::Text(text.clone())),
            Event::ToolCall { .. } | Event::Retry { .. } | Event::Said(_) => heard.send(Heard::Break),
            _ => Ok(()),
        };
        gate.hear(&subject, event);
    };
    let turn = Turn {
        subject: subject.clone(),
        input: request.input,
        model: None,
        events: &events,
        steering: &Steering::new(),
        halt: &halt,
    };
    let ended = if is_kept {
        staff.runner.turn(turn).await
    } else {
        staff.runner.run_with_history(turn, request.history).await
    };
    let outcome = match &ended {
        Ok(ending) if ending.needs_approval => "unasked",
        Ok(_) => "answered",
        Err(TurnError::Halted) => "stopped",
        Err(_) => "failed",
    };
    gate.counts.turn(Origin::Http, outcome);
    gate.tell_turn(&subject, json!({"type": "end", "outcome": outcome}));
    if let Err(why) = &ended {
        tracing::warn!(target: "gateway", agent = %subject.agent, session = %subject.session, error = %why, "A turn has no answer");
    }
    let is_answered = ended.is_ok();
    let _gone = heard.send(Heard::End(ended));
    drop(heard);
    if is_kept && is_answered {
        // Whoever hangs up after the answer does not stop this.
        if let Err(why) = staff.runner.summarize(&subject, None, &Halt::new()).await {
            tracing::warn!(target: "session", "The session was not summarised: {why}");
        }
    }
}

async fn whole(heading: &Heading, mut heard: mpsc::UnboundedReceiver<Heard>) -> Answer {
    while let Some(said) = heard.recv().await {
        match said {
            Heard::End(Ok(ending)) => return answer::json(StatusCode::OK, &heading.whole(&ending)),
            Heard::End(Err(why)) => return Fault::from(&why).answer(),
            Heard::Text(_) | Heard::Break => {}
        }
    }
    Fault::ending().answer()
}

/// Passes the turn on as a stream, until its end or the client's.
async fn pass_on(
    heading: Heading,
    include_usage: bool,
    mut heard: mpsc::UnboundedReceiver<Heard>,
    client: mpsc::Sender<Bytes>,
) {
    // Text of this round that the client has.
    let mut shown = String::new();
    let mut frames = vec![heading.opening()];
    loop {
        for frame in frames.drain(..) {
            if client.send(frame).await.is_err() {
                return;
            }
        }
        let said = tokio::select! {
            said = tokio::time::timeout(QUIET, heard.recv()) => said,
            () = client.closed() => return,
        };
        match said {
            Err(_quiet) => frames.push(PULSE),
            Ok(Some(Heard::Text(text))) => {
                frames.push(heading.text(&text));
                shown.push_str(&text);
            }
            Ok(Some(Heard::Break)) => {
                if !std::mem::take(&mut shown).is_empty() {
                    frames.push(heading.text("\n\n"));
                }
            }
            Ok(Some(Heard::End(Ok(ending)))) => {
                let rest = ending.answer.strip_prefix(shown.as_str()).unwrap_or(&ending.answer);
                if !rest.is_empty() {
                    frames.push(heading.text(rest));
                }
                frames.push(heading.closing());
                if include_usage {
                    frames.push(heading.cost(&ending));
                }
                frames.push(DONE);
                break;
            }
            Ok(Some(Heard::End(Err(why)))) => {
                frames.push(event(&Fault::from(&why).object()));
                break;
            }
            Ok(None) => break,
        }
    }
    for frame in frames {
        if client.send(frame).await.is_err() {
            return;
        }
    }
}

/// The session that the client wants kept, if it names one.
fn session_named(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let Some(value) = headers.get(SESSION) else { return Ok(None) };
    let name = value.to_str().unwrap_or_default().trim();
    if name.is_empty() || name.len() > 200 {
        return Err(Fault::invalid("x-picoclaw-session", "a session's name has 1 to 200 visible characters"));
    }
    Ok(Some(name.to_owned()))
}

/// A body that cannot be read, told as this protocol tells errors.
fn unread(why: &Answer) -> Answer {
    let message = match why.status() {
        StatusCode::PAYLOAD_TOO_LARGE => "the body has more than 4 MiB",
        StatusCode::REQUEST_TIMEOUT => "the body did not arrive in time",
        _ => "the body is not a chat request",
    };
    let mut answer = Fault::unread(why.status(), message).answer();
    if let Some(connection) = why.headers().get(http::header::CONNECTION) {
        answer.headers_mut().insert(http::header::CONNECTION, connection.clone());
    }
    answer
}
