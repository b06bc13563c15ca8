//! What a turn has told so far: the call that runs, the text that came, the questions that wait.
//!
//! Invariant: what a model said is on the screen once, whether it came in pieces or whole.

use super::question;
use super::screen::Screen;
use super::style::{Mark, Tone};
use super::subagents::{Shown, Subagents};
use super::trace::{Quote, Underway, seconds};
use picoclaw_agent::run::{Ask, Event};
use picoclaw_sandbox::approver::Answer;
use picoclaw_sandbox::printable;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a call runs before it is worth a moving line.
const PATIENCE: Duration = Duration::from_millis(250);

/// Listens to a turn, on behalf of a screen.
pub(super) struct Heard {
    screen: Screen,
    quote: Quote,
    state: Mutex<State>,
    bell: Notify,
}

struct State {
    since: Instant,
    underway: Option<Underway>,
    /// The text of this round, as it came in pieces.
    pieces: String,
    asks: VecDeque<Ask>,
    subagents: Subagents,
}

impl Heard {
    /// Nothing heard yet.
    pub(super) fn new(screen: Screen, quote: Quote) -> Self {
        let state = State {
            since: Instant::now(),
            underway: None,
            pieces: String::new(),
            asks: VecDeque::new(),
            subagents: Subagents::default(),
        };
        Self { screen, quote, state: Mutex::new(state), bell: Notify::new() }
    }

    /// Takes an event, and shows it.
    pub(super) fn hear(&self, event: Event) {
        let mut state = self.state();
        match event {
            Event::Text(piece) => {
                state.pieces.push_str(&piece);
                self.screen.piece(&piece);
            }
            Event::ToolCall { id, tool, arguments } => {
                self.end_round(&mut state);
                state.underway = Some(Underway::new(&id, &tool, &arguments));
            }
            Event::ToolOutput { id, line } => {
                if let Some(call) = state.underway.as_mut().filter(|call| call.is(&id)) {
                    call.said(&line);
                }
            }
            Event::ToolResult { id, tool, reply, took } => {
                self.end_round(&mut state);
                let call = state.underway.take().filter(|call| call.is(&id));
                let call = call.unwrap_or_else(|| Underway::new(&id, &tool, &serde_json::json!({})));
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
                self.note(&format!("{}; trying again in {}", printable(&why), seconds(wait)));
            }
            Event::Compacted { dropped } => {
                self.note(&format!("the conversation grew too long: its oldest {dropped} messages went"));
            }
            Event::Notice(text) => self.note(&printable(&text)),
            Event::Said(text) => {
                self.say(&mut state, &text);
                state.since = Instant::now();
            }
            Event::Subagent { info, event } => {
                let (style, width) = (self.screen.style(), self.screen.size().0);
                match state.subagents.hear(info, event, &style, width) {
                    Shown::Nothing => {}
                    Shown::Line(line) => self.screen.lines(&line),
                    Shown::Ask(line, ask) => {
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
    pub(super) async fn asked(&self) -> Ask {
        loop {
            if let Some(ask) = self.state().asks.pop_front() {
                return ask;
            }
            self.bell.notified().await;
        }
    }

    /// A person answered a question about the running call.
    pub(super) fn answered(&self, answer: Answer) {
        if let Some(call) = self.state().underway.as_mut() {
            call.answered(answer);
        }
        let mark = self.screen.style().mark(Mark::Ask);
        self.screen.lines(&format!("{mark} {}", question::word(answer)));
    }

    /// What goes on, for the line that is drawn over; nothing while the answer itself moves.
    pub(super) fn progress(&self) -> Option<String> {
        let state = self.state();
        let style = self.screen.style();
        match &state.underway {
            _ if state.since.elapsed() < PATIENCE => None,
            Some(call) => Some(call.progress(&style)),
            None if state.pieces.is_empty() => {
                let what = state.subagents.waited_for().unwrap_or_else(|| "thinking".to_owned());
                Some(format!("{what} {} {}", style.mark(Mark::Dot), seconds(state.since.elapsed())))
            }
            None => None,
        }
    }

    /// The turn is over: shows what of the answer was not shown yet.
    pub(super) fn end(&self, answer: &str) {
        self.say(&mut self.state(), answer);
    }

    /// Shows what of a text was not shown yet.
    fn say(&self, state: &mut State, answer: &str) {
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

    fn note(&self, text: &str) {
        let style = self.screen.style();
        let line = format!("{} {text}", style.mark(Mark::Dot));
        self.screen.lines(&style.paint(Tone::Quiet, &line));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
