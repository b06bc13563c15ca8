//! A model that was written down beforehand: one reply a line, for tests and demonstrations.
//!
//! Invariant: replies come in the order of the file; after the last one comes an error, never a guess.

use super::provider::{Answer, Class, Finish, Provider, ProviderError, Reading, Request, Sink, Usage};
use crate::message::ToolCall;
use picoclaw_sandbox::root::read_operator_file;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The largest script.
const MOST: u64 = 64 << 20;

/// Replays a file.
pub(super) struct Scripted {
    name: String,
    path: PathBuf,
    pace: Pace,
    reel: Mutex<Reel>,
}

/// How an answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Word by word, as `streaming.enabled` asks for.
    Words,
    /// At once.
    Whole,
}

/// The file's text and how far it has been read.
#[derive(Default)]
struct Reel {
    text: Option<String>,
    at: usize,
    line: usize,
    calls: usize,
}

impl Scripted {
    /// A replay of the file at `path`.
    pub(super) fn new(name: &str, path: &Path, pace: Pace) -> Self {
        Self { name: name.to_owned(), path: path.to_owned(), pace, reel: Mutex::default() }
    }

    fn next(&self) -> Result<Line, ProviderError> {
        let mut reel = self.reel.lock().unwrap_or_else(PoisonError::into_inner);
        if reel.text.is_none() {
            reel.text = Some(self.load()?);
        }
        reel.next(&self.path)
    }

    fn load(&self) -> Result<String, ProviderError> {
        let unread = |why: String| {
            ProviderError::new(
                Class::Format,
                format!("could not read the script `{}`: {why}", self.path.display()),
            )
        };
        let bytes = read_operator_file(&self.path, MOST).map_err(|why| unread(why.to_string()))?;
        String::from_utf8(bytes).map_err(|_| unread("it is not UTF-8".to_owned()))
    }
}

impl Provider for Scripted {
    fn model(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, _request: &'a Request, sink: &'a mut dyn Sink) -> Reading<'a> {
        Box::pin(async move {
            let line = self.next()?;
            if line.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(line.delay_ms)).await;
            }
            if let Some(error) = line.error {
                return Err(ProviderError::new(error.class.into(), error.message));
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
                usage: line.usage.into(),
            })
        })
    }
}

impl Reel {
    fn next(&mut self, path: &Path) -> Result<Line, ProviderError> {
        let text = self.text.as_deref().unwrap_or_default();
        while let Some(rest) = text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let line = rest.split_inclusive('\n').next().unwrap_or_default();
            self.at += line.len();
            self.line += 1;
            let line = line.trim().trim_start_matches('\u{feff}');
            if line.is_empty() || line.starts_with("//") {
                continue;
            }
            let mut reply: Line = serde_json::from_str(line).map_err(|why| {
                let place = format!("line {} of the script `{}`", self.line, path.display());
                ProviderError::new(Class::Malformed, format!("{place} is not a reply: {why}"))
            })?;
            for call in reply.tool_calls.iter_mut().filter(|call| call.id.is_empty()) {
                self.calls += 1;
                call.id = format!("scripted_{}", self.calls);
            }
            return Ok(reply);
        }
        let over = format!("the script `{}` is over: it holds no further reply", path.display());
        Err(ProviderError::new(Class::Format, over))
    }
}

/// One line of a script.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    content: String,
    #[serde(default)]
    tool_calls: Vec<Called>,
    #[serde(default)]
    error: Option<Failing>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    usage: Spent,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Called {
    #[serde(default)]
    id: String,
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failing {
    #[serde(default)]
    class: Word,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Spent {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
}

/// A class as scripts spell it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum Word {
    Auth,
    Billing,
    RateLimit,
    Timeout,
    Network,
    Format,
    ContextOverflow,
    Malformed,
    #[default]
    Unknown,
}

impl From<Called> for ToolCall {
    fn from(called: Called) -> Self {
        let arguments = match called.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        Self { id: called.id, name: called.name, arguments }
    }
}

impl From<Spent> for Usage {
    fn from(spent: Spent) -> Self {
        Self { input: spent.input, output: spent.output }
    }
}

impl From<Word> for Class {
    fn from(word: Word) -> Self {
        match word {
            Word::Auth => Self::Auth,
            Word::Billing => Self::Billing,
            Word::RateLimit => Self::RateLimit,
            Word::Timeout => Self::Timeout,
            Word::Network => Self::Network,
            Word::Format => Self::Format,
            Word::ContextOverflow => Self::ContextOverflow,
            Word::Malformed => Self::Malformed,
            Word::Unknown => Self::Unknown,
        }
    }
}
