//! The state of a turn for the screen: the running call, the streamed text, open questions. Text is
//! shown once, whether streamed or whole.

use super::approval_prompt;
use super::screen::Screen;
use super::subagents::{SubagentOutput, Subagents};
use super::trace::{CallTrace, Quote};
use crate::style::{Mark, Tone};
use crate::units::format_seconds;
use picoclaw_agent::providers::brief;
use picoclaw_agent::run::{Ask, Event};
use picoclaw_sandbox::permit::Approval;
use picoclaw_sandbox::printable;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a call runs before its progress is shown.
const PROGRESS_DELAY: Duration = Duration::from_millis(250);

/// Observes a turn for a screen.
pub(super) struct TurnView {
    screen: Screen,
    quote: Quote,
    state: Mutex<State>,
    bell: Notify,
}

struct State {
    since: Instant,
    call: Option<CallTrace>,
    /// The streamed text of this round.
    pieces: String,
    asks: VecDeque<Ask>,
    subagents: Subagents,
    /// Until when the next request waits.
    waiting: Option<Instant>,
}

impl TurnView {
    /// A view without events.
    pub(super) fn new(screen: Screen, quote: Quote) -> Self {
        let state = State {
            since: Instant::now(),
            call: None,
            pieces: String::new(),
            asks: VecDeque::new(),
            subagents: Subagents::default(),
            waiting: None,
        };
        Self { screen, quote, state: Mutex::new(state), bell: Notify::new() }
    }

    /// Handles and shows an event.
    pub(super) fn on_event(&self, event: Event) {
        let mut state = self.state();
        match event {
            Event::Text(piece) => {
                state.pieces.push_str(&piece);
                self.screen.piece(&piece);
            }
            Event::ToolCall { id, tool, arguments } => {
                self.end_round(&mut state);
                state.call = Some(CallTrace::new(&id, &tool, &arguments));
            }
            Event::ToolOutput { id, line } => {
                if let Some(call) = state.call.as_mut().filter(|call| call.is(&id)) {
                    call.add_output(&line);
                }
            }
            Event::ToolResult { id, tool, reply, took } => {
                self.end_round(&mut state);
                let call = state.call.take().filter(|call| call.is(&id));
                let call = call.unwrap_or_else(|| CallTrace::new(&id, &tool, &serde_json::json!({})));
                let style = self.screen.style();
                let (width, _) = self.screen.size();
                self.screen.lines(&call.result(&reply, took, &style, width, self.quote));
            }
            Event::Ask(ask) => {
                self.end_round(&mut state);
                state.asks.push_back(ask);
                self.bell.notify_one();
            }
            Event::Retry { why, wait } => {
                self.end_round(&mut state);
                let why = brief(&why);
                self.show_note(&format!("{}; trying again in {}", printable(&why), format_seconds(wait)));
                state.waiting = Some(Instant::now() + wait);
            }
            Event::Compacted { dropped } => {
                self.show_note(&format!(
                    "the conversation is too long: its oldest {dropped} messages were dropped"
                ));
            }
            Event::Notice(text) => self.show_note(&printable(&text)),
            Event::Said(text) => {
                self.show_answer(&mut state, &text);
                state.since = Instant::now();
            }
            Event::Subagent { info, event } => {
                let (style, width) = (self.screen.style(), self.screen.size().0);
                match state.subagents.on_event(info, event, &style, width) {
                    SubagentOutput::Nothing => {}
                    SubagentOutput::Line(line) => self.screen.lines(&line),
                    SubagentOutput::Ask(line, ask) => {
                        self.end_round(&mut state);
                        self.screen.lines(&line);
                        state.asks.push_back(*ask);
                        self.bell.notify_one();
                    }
                }
            }
        }
    }

    /// Waits for a question.
    pub(super) async fn next_question(&self) -> Ask {
        loop {
            if let Some(ask) = self.state().asks.pop_front() {
                return ask;
            }
            self.bell.notified().await;
        }
    }

    /// Records the answer to a question about the running call.
    pub(super) fn record_answer(&self, answer: Approval) {
        if let Some(call) = self.state().call.as_mut() {
            call.record_answer(answer);
        }
        let mark = self.screen.style().mark(Mark::Ask);
        self.screen.lines(&format!("{mark} {}", approval_prompt::answer_text(answer)));
    }

    /// The progress for the status line; `None` while the answer streams.
    pub(super) fn progress(&self) -> Option<String> {
        let state = self.state();
        let style = self.screen.style();
        match &state.call {
            _ if state.since.elapsed() < PROGRESS_DELAY => None,
            Some(call) => Some(call.progress(&style)),
            None if state.waiting.is_some_and(|until| until > Instant::now()) => {
                let left = state.waiting.map(|until| until.saturating_duration_since(Instant::now()));
                let left = format_seconds(left.unwrap_or_default() + Duration::from_secs(1));
                Some(format!("waiting {left} before the next request"))
            }
            None if state.pieces.is_empty() => {
                let what = state.subagents.waiting_text().unwrap_or_else(|| "thinking".to_owned());
                Some(format!("{what} {} {}", style.mark(Mark::Dot), format_seconds(state.since.elapsed())))
            }
            None => None,
        }
    }

    /// The turn is over: shows the part of the answer that was not streamed.
    pub(super) fn end(&self, answer: &str) {
        self.show_answer(&mut self.state(), answer);
    }

    /// Shows the part of a text that was not shown yet.
    fn show_answer(&self, state: &mut State, answer: &str) {
        let shown = std::mem::take(&mut state.pieces);
        match answer.strip_prefix(shown.as_str()) {
            Some(rest) if !shown.is_empty() => {
                self.screen.piece(rest);
                self.screen.end_pieces();
            }
            _ => {
                self.screen.end_pieces();
                self.screen.text(answer);
            }
        }
    }

    /// The turn is over without an answer.
    pub(super) fn break_off(&self) {
        self.end_round(&mut self.state());
    }

    fn end_round(&self, state: &mut State) {
        if !std::mem::take(&mut state.pieces).is_empty() {
            self.screen.end_pieces();
        }
        state.since = Instant::now();
    }

    fn show_note(&self, text: &str) {
        let line = format!("{} {text}", self.screen.style().mark(Mark::Dot));
        self.screen.prose(&line, Tone::Quiet);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
