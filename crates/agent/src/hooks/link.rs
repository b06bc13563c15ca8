//! One running hook: its pipes, and the requests that wait for its answers.
//!
//! Invariant: an answer reaches the one request it is for, once; when the pipe ends, every request that waits hears of it.

use super::frames::{self, Frame, MOST};
use crate::pipes;
use picoclaw_sandbox::helper::RunningHelper;
use picoclaw_sandbox::launch::Status;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::{Mutex as Turn, oneshot};

/// How long a hook has to leave after its input was closed.
const LEAVE: Duration = Duration::from_secs(2);

type Waiting = BTreeMap<u64, oneshot::Sender<Result<Value, String>>>;

/// A hook that runs.
pub(super) struct Link {
    stdin: Turn<Option<pipe::Sender>>,
    shared: Arc<Shared>,
    next: AtomicU64,
    helper: Mutex<Option<RunningHelper>>,
}

struct Shared {
    name: String,
    waiting: Mutex<Waiting>,
    is_gone: AtomicBool,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a request got no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    Gone,
    TimedOut,
    Refused(String),
    TooLong,
}

impl Link {
    /// Takes a started hook's pipes over. `None` when they are not ours to take.
    pub(super) fn new(name: &str, mut helper: RunningHelper) -> Option<Self> {
        let stdin = pipe::Sender::from_owned_fd(helper.running.take_stdin()?).ok()?;
        let stdout = pipe::Receiver::from_owned_fd(helper.running.take_stdout()?).ok()?;
        let stderr = pipe::Receiver::from_owned_fd(helper.running.take_stderr()?).ok()?;
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            waiting: Mutex::default(),
            is_gone: AtomicBool::new(false),
        });
        tokio::spawn(hear(stdout, Arc::clone(&shared)));
        tokio::spawn(pipes::log(stderr, "hook", name.to_owned()));
        let (stdin, helper) = (Turn::new(Some(stdin)), Mutex::new(Some(helper)));
        Some(Self { stdin, shared, next: AtomicU64::new(1), helper })
    }

    /// Whether its pipe has ended.
    pub(super) fn is_gone(&self) -> bool {
        self.shared.is_gone.load(Ordering::Acquire)
    }

    /// Asks, and waits for the answer for `limit` at most.
    pub(super) async fn ask(&self, method: &str, params: &Value, limit: Duration) -> Result<Value, NoAnswer> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let frame = frames::request(id, method, params);
        if frame.len() > MOST {
            return Err(NoAnswer::TooLong);
        }
        let (sender, answer) = oneshot::channel();
        self.shared.waiting().insert(id, sender);
        let _forget = Forget { shared: &self.shared, id };
        // Looked at after the request is on the list: whoever finds the pipe's end clears the list after saying so.
        if self.is_gone() {
            return Err(NoAnswer::Gone);
        }
        let exchange = async {
            self.send(&frame).await?;
            answer.await.map_err(|_| NoAnswer::Gone)?.map_err(NoAnswer::Refused)
        };
        tokio::time::timeout(limit, exchange).await.unwrap_or(Err(NoAnswer::TimedOut))
    }

    /// Tells, without an answer.
    pub(super) async fn tell(&self, method: &str, params: &Value, limit: Duration) -> Result<(), NoAnswer> {
        let frame = frames::notification(method, params);
        if frame.len() > MOST {
            return Err(NoAnswer::TooLong);
        }
        tokio::time::timeout(limit, self.send(&frame)).await.unwrap_or(Err(NoAnswer::TimedOut))
    }

    /// A frame that was begun and not finished would spoil the next one: then the pipe is closed for good.
    async fn send(&self, frame: &[u8]) -> Result<(), NoAnswer> {
        let mut stdin = self.stdin.lock().await;
        let mut pipe = stdin.take().ok_or(NoAnswer::Gone)?;
        let sent = pipe.write_all(frame).await;
        match sent {
            Ok(()) => {
                *stdin = Some(pipe);
                Ok(())
            }
            Err(_) => Err(NoAnswer::Gone),
        }
    }

    /// Closes its input, gives it time to leave, and ends it.
    pub(super) async fn close(&self) {
        self.stdin.lock().await.take();
        let until = tokio::time::Instant::now() + LEAVE;
        while !self.is_gone() && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
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

/// Takes a request off the list when nobody waits for it any more.
struct Forget<'f> {
    shared: &'f Shared,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.waiting().remove(&self.id);
    }
}

async fn hear(stdout: pipe::Receiver, shared: Arc<Shared>) {
    let mut lines = BufReader::new(stdout);
    let mut line = Vec::new();
    while let Some(line_is) = pipes::read_line(&mut lines, &mut line, MOST).await {
        if line_is == pipes::Line::TooLong {
            tracing::warn!(target: "hook", hook = %shared.name, "A line longer than 1 MiB was thrown away");
            continue;
        }
        match frames::read(&line) {
            Frame::Answer(id, answer) => match shared.waiting().remove(&id) {
                Some(sender) => drop(sender.send(answer)),
                None => {
                    tracing::warn!(target: "hook", hook = %shared.name, id, "An answer that nobody waits for")
                }
            },
            Frame::Noise(what) => {
                tracing::warn!(target: "hook", hook = %shared.name, what, "A line that is no answer");
            }
        }
    }
    shared.is_gone.store(true, Ordering::Release);
    shared.waiting().clear();
}
