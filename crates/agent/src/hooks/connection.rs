//! The JSON-RPC connection to a running hook, and the requests that wait for its responses.

use crate::child_pipe::{self, PipeReader, PipeWriter};
use crate::jsonrpc::{Id, Members, Message};
use crate::line_reader::{LineReader, log_stderr};
use picoclaw_sandbox::bounded_lines::Line;
use picoclaw_sandbox::helper::RunningHelper;
use picoclaw_sandbox::launch::Status;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The longest line in either direction.
const MAX_LINE_BYTES: usize = 1 << 20;

/// How long a hook has to exit after its input was closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Poll interval for the exit.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Characters of an error message that are kept.
const MAX_ERROR_MESSAGE: usize = 500;

/// A result, or the message of an error response.
type Response = Result<Value, String>;

/// A running hook.
pub(super) struct HookConnection {
    stdin: tokio::sync::Mutex<Option<PipeWriter>>,
    shared: Arc<Shared>,
    next_id: AtomicU64,
    helper: Mutex<Option<RunningHelper>>,
}

struct Shared {
    name: String,
    pending: Mutex<BTreeMap<u64, oneshot::Sender<Response>>>,
    is_closed: AtomicBool,
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, BTreeMap<u64, oneshot::Sender<Response>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a request has no result.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The hook has closed its output.
    Closed,
    /// No response in time.
    TimedOut,
    /// An error response, with its message.
    Failed(String),
    /// The request is longer than a line may be.
    TooLong,
}

impl HookConnection {
    /// Takes the pipes of a started hook. `None` when it has none.
    pub(super) fn new(name: &str, mut helper: RunningHelper) -> Option<Self> {
        let stdin = child_pipe::writer(helper.running.take_stdin()?).ok()?;
        let stdout = child_pipe::reader(helper.running.take_stdout()?).ok()?;
        let stderr = child_pipe::reader(helper.running.take_stderr()?).ok()?;
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            pending: Mutex::default(),
            is_closed: AtomicBool::new(false),
        });
        tokio::spawn(read_responses(stdout, Arc::clone(&shared)));
        tokio::spawn(log_stderr(stderr, "hook", name.to_owned()));
        Some(Self {
            stdin: tokio::sync::Mutex::new(Some(stdin)),
            shared,
            next_id: AtomicU64::new(1),
            helper: Mutex::new(Some(helper)),
        })
    }

    /// Whether the hook has closed its output.
    pub(super) fn is_closed(&self) -> bool {
        self.shared.is_closed.load(Ordering::Acquire)
    }

    /// Sends a request and waits for its response.
    pub(super) async fn request(
        &self,
        method: &str,
        params: &Value,
        timeout: Duration,
    ) -> Result<Value, RequestError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let message = Message::Request {
            id: Id::Number(id.to_string()),
            method: method.to_owned(),
            params: Some(params.to_string()),
        };
        let line = message.to_line();
        if line.len() > MAX_LINE_BYTES {
            return Err(RequestError::TooLong);
        }
        let (sender, response) = oneshot::channel();
        self.shared.pending().insert(id, sender);
        let _guard = PendingGuard { shared: &self.shared, id };
        // Checked after the insertion: the reader sets the flag before it clears the table.
        if self.is_closed() {
            return Err(RequestError::Closed);
        }
        let exchange = async {
            self.send(&line).await?;
            response.await.map_err(|_| RequestError::Closed)?.map_err(RequestError::Failed)
        };
        tokio::time::timeout(timeout, exchange).await.unwrap_or(Err(RequestError::TimedOut))
    }

    /// Sends a notification.
    pub(super) async fn notify(
        &self,
        method: &str,
        params: &Value,
        timeout: Duration,
    ) -> Result<(), RequestError> {
        let message = Message::Notification { method: method.to_owned(), params: Some(params.to_string()) };
        let line = message.to_line();
        if line.len() > MAX_LINE_BYTES {
            return Err(RequestError::TooLong);
        }
        tokio::time::timeout(timeout, self.send(&line)).await.unwrap_or(Err(RequestError::TimedOut))
    }

    /// Writes a line. When this is cancelled midway the pipe stays closed, since a partial line
    /// would corrupt the next one.
    async fn send(&self, line: &[u8]) -> Result<(), RequestError> {
        let mut stdin = self.stdin.lock().await;
        let mut pipe = stdin.take().ok_or(RequestError::Closed)?;
        pipe.write_all(line).await.map_err(|_| RequestError::Closed)?;
        *stdin = Some(pipe);
        Ok(())
    }

    /// Closes the hook's input, gives it time to exit, and ends it.
    pub(super) async fn close(&self) {
        self.stdin.lock().await.take();
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while !self.is_closed() && Instant::now() < deadline {
            tokio::time::sleep(EXIT_POLL_INTERVAL).await;
        }
        let helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = tokio::task::spawn_blocking(move || {
            if let Some(mut helper) = helper {
                let status = helper.running.poll().unwrap_or(Status::Halted);
                helper.ended(status);
            }
        });
        let _ = ended.await;
    }
}

/// Removes a request from the table on drop.
struct PendingGuard<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        self.shared.pending().remove(&self.id);
    }
}

async fn read_responses(stdout: PipeReader, shared: Arc<Shared>) {
    let mut lines = LineReader::new(stdout, MAX_LINE_BYTES);
    while let Some(line) = lines.next().await {
        let Line::Whole(line) = line else {
            tracing::warn!(target: "hook", hook = %shared.name, "A line longer than 1 MiB was discarded");
            continue;
        };
        match parse_response(&line) {
            Ok((id, response)) => match shared.pending().remove(&id) {
                Some(sender) => drop(sender.send(response)),
                None => {
                    tracing::warn!(target: "hook", hook = %shared.name, id, "A response to no pending request was discarded")
                }
            },
            Err(what) => {
                tracing::warn!(target: "hook", hook = %shared.name, what, "An invalid response was discarded");
            }
        }
    }
    shared.is_closed.store(true, Ordering::Release);
    shared.pending().clear();
}

/// Parses a response leniently: `jsonrpc` may be missing, and `null` may stand for an absent
/// member.
fn parse_response(line: &[u8]) -> Result<(u64, Response), &'static str> {
    let members = Members::parse(line).map_err(|_| "no JSON object")?;
    let id = members
        .id
        .and_then(|id| id.get().parse().ok())
        .ok_or("not a response: its id is not the id of a request")?;
    let value = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let response = match (value(members.result), value(members.error)) {
        (Some(result), None | Some(Value::Null)) => Ok(result),
        (None | Some(Value::Null), Some(error)) => {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
            Err(message.chars().take(MAX_ERROR_MESSAGE).collect())
        }
        _ => Err("neither a result nor an error".to_owned()),
    };
    Ok((id, response))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_is_a_response_or_refused() {
        let failed = |text: &str| Ok((7, Err(text.to_owned())));
        for (why, line, want) in [
            ("a result", r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Ok((7, Ok(json!({}))))),
            ("`null` is a result too", r#"{"id":7,"result":null,"error":null}"#, Ok((7, Ok(Value::Null)))),
            ("an error", r#"{"id":7,"error":{"code":1,"message":"no"}}"#, failed("no")),
            (
                "both",
                r#"{"id":7,"result":{},"error":{"message":"no"}}"#,
                failed("neither a result nor an error"),
            ),
            ("neither", r#"{"id":7}"#, failed("neither a result nor an error")),
            (
                "a string as id",
                r#"{"id":"7","result":{}}"#,
                Err("not a response: its id is not the id of a request"),
            ),
            ("not JSON", "hello", Err("no JSON object")),
            ("an array", "[1]", Err("no JSON object")),
        ] {
            assert_eq!(parse_response(line.as_bytes()), want, "{why}: {line}");
        }
    }
}
