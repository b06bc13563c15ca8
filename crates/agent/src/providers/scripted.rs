//! A provider that replays a file, one reply a line, for tests and demonstrations.

use super::provider::{
    Answer, AnswerFuture, ErrorClass, Finish, Provider, ProviderError, Request, Sink, Usage,
};
use crate::message::ToolCall;
use picoclaw_sandbox::os_file::read_regular_file;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The largest script.
const MAX_SCRIPT_BYTES: u64 = 64 << 20;

/// Replays a script.
pub(super) struct Scripted {
    name: String,
    path: PathBuf,
    pace: Pace,
    position: Mutex<Position>,
}

/// How an answer is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Word by word, as `streaming.enabled` asks for.
    Words,
    /// At once.
    Whole,
}

/// The script, and how far it has been read.
#[derive(Default)]
struct Position {
    text: Option<String>,
    at: usize,
    line: usize,
    calls: usize,
}

impl Scripted {
    /// A replay of the file at `path`.
    pub(super) fn new(name: &str, path: &Path, pace: Pace) -> Self {
        Self { name: name.to_owned(), path: path.to_owned(), pace, position: Mutex::default() }
    }

    fn next(&self) -> Result<ScriptLine, ProviderError> {
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        if position.text.is_none() {
            position.text = Some(self.load()?);
        }
        position.next(&self.path)
    }

    fn load(&self) -> Result<String, ProviderError> {
        let unread = |why: String| {
            ProviderError::new(
                ErrorClass::Format,
                format!("could not read the script `{}`: {why}", self.path.display()),
            )
        };
        let bytes = read_regular_file(&self.path, MAX_SCRIPT_BYTES).map_err(|why| unread(why.to_string()))?;
        String::from_utf8(bytes).map_err(|_| unread("it is not UTF-8".to_owned()))
    }
}

impl Provider for Scripted {
    fn model(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, _request: &'a Request, sink: &'a mut dyn Sink) -> AnswerFuture<'a> {
        Box::pin(async move {
            let line = self.next()?;
            if line.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(line.delay_ms)).await;
            }
            if let Some(error) = line.error {
                return Err(ProviderError::new(error.class, error.message));
            }
            if self.pace == Pace::Words {
                line.content.split_inclusive(' ').for_each(|word| sink.text(word));
            }
            let finish = if line.tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
            Ok(Answer {
                content: line.content,
                reasoning: None,
                tool_calls: line.tool_calls.into_iter().map(Into::into).collect(),
                finish,
                usage: line.usage,
            })
        })
    }
}

impl Position {
    fn next(&mut self, path: &Path) -> Result<ScriptLine, ProviderError> {
        let text = self.text.as_deref().unwrap_or_default();
        while let Some(rest) = text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let line = rest.split_inclusive('\n').next().unwrap_or_default();
            self.at += line.len();
            self.line += 1;
            let line = line.trim().trim_start_matches('\u{feff}');
            if line.is_empty() || line.starts_with("//") {
                continue;
            }
            let mut reply: ScriptLine = serde_json::from_str(line).map_err(|why| {
                let place = format!("line {} of the script `{}`", self.line, path.display());
                ProviderError::new(ErrorClass::Malformed, format!("{place} is not a reply: {why}"))
            })?;
            for call in reply.tool_calls.iter_mut().filter(|call| call.id.is_empty()) {
                self.calls += 1;
                call.id = format!("scripted_{}", self.calls);
            }
            return Ok(reply);
        }
        let over = format!("the script `{}` is over: it holds no further reply", path.display());
        Err(ProviderError::new(ErrorClass::Format, over))
    }
}

/// One line of a script.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptLine {
    #[serde(default)]
    content: String,
    #[serde(default)]
    tool_calls: Vec<ScriptedCall>,
    #[serde(default)]
    error: Option<ScriptedError>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    #[serde(default)]
    id: String,
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedError {
    #[serde(default)]
    class: ErrorClass,
    #[serde(default)]
    message: String,
}

impl From<ScriptedCall> for ToolCall {
    fn from(call: ScriptedCall) -> Self {
        let arguments = match call.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        Self { id: call.id, name: call.name, arguments }
    }
}
