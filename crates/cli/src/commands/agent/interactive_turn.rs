//! A turn in an interactive session: status line, steering input, approval prompts, Ctrl-C.
//!
//! A key pressed before a question was shown does not answer it.

use super::approval_prompt;
use super::input_line::{Effect, InputLine};
use super::key_decoder::KeyDecoder;
use super::raw_input::RawInput;
use super::screen::Screen;
use super::turn_view::TurnView;
use crate::style::{Liveness, Mark, Tone};
use picoclaw_agent::run::{Ask, Steering, TurnError, TurnOutcome};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::permit::{Answer, Approval};
use picoclaw_sandbox::printable;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// Redraw interval of the status line.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// How long a stopped turn may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The screen and the input of a turn.
pub(super) struct InteractiveTurn<'a> {
    pub(super) screen: &'a Screen,
    pub(super) view: &'a TurnView,
    pub(super) steering: &'a Steering,
    pub(super) halt: &'a CancelToken,
}

/// The input state.
#[derive(Default)]
struct InputState {
    keys: KeyDecoder,
    /// The line that is being typed for the turn.
    line: InputLine,
    /// The open question.
    open: Option<OpenQuestion>,
    frame: usize,
    /// When a stopped turn is abandoned.
    given_up: Option<Instant>,
}

/// A question on the screen.
struct OpenQuestion {
    ask: Ask,
    /// Lines that were not shown yet.
    rest: Vec<String>,
    line: InputLine,
}

impl InteractiveTurn<'_> {
    /// Runs until the turn is over; returns what was typed and not sent.
    pub(super) async fn run(
        &self,
        turn: impl Future<Output = Result<TurnOutcome, TurnError>>,
        mut keyboard: RawInput,
    ) -> (Result<TurnOutcome, TurnError>, String) {
        let mut turn = pin!(turn);
        let mut input = InputState::default();
        let mut frames = interval(FRAME_INTERVAL);
        frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_deaf = false;
        let ended = loop {
            let given_up = input.given_up;
            let patience = async { sleep_until(given_up.unwrap_or_else(Instant::now)).await };
            tokio::select! {
                biased;
                ended = &mut turn => break ended,
                () = patience, if given_up.is_some() => break Err(TurnError::Halted),
                bytes = keyboard.read(), if !is_deaf => match bytes {
                    Some(bytes) => self.press(&bytes, &keyboard, &mut input),
                    // The terminal is gone: the turn is stopped.
                    None => {
                        is_deaf = true;
                        self.stop(&mut input);
                    }
                },
                ask = self.view.next_question(), if input.open.is_none() => self.open_question(ask, &keyboard, &mut input),
                _ = frames.tick() => self.draw(&mut input),
            }
        };
        input.open = None;
        for key in input.keys.decode(&keyboard.remaining()) {
            let _line = input.line.press(key);
        }
        self.screen.clear_status();
        (ended, input.line.text().to_owned())
    }

    fn press(&self, bytes: &[u8], keyboard: &RawInput, input: &mut InputState) {
        for key in input.keys.decode(bytes) {
            let effect = match &mut input.open {
                Some(open) => {
                    let before = open.line.text().to_owned();
                    let effect = open.line.press(key);
                    self.echo(&before, open.line.text(), &effect);
                    effect
                }
                None => input.line.press(key),
            };
            match effect {
                Effect::Changed => {}
                Effect::Suspend => {
                    self.screen.clear_status();
                    keyboard.suspend();
                }
                Effect::Interrupt => {
                    self.answer(no(), input);
                    self.stop(input);
                }
                Effect::Done(line) if input.open.is_some() => {
                    if self.screen.liveness() == Liveness::Still {
                        self.screen.line_entered();
                    }
                    self.submit_reply(&line, input);
                }
                Effect::Done(line) => self.submit_line(line.trim(), input),
            }
        }
        self.draw(input);
    }

    /// Shows a question; input from before it is discarded.
    fn open_question(&self, ask: Ask, keyboard: &RawInput, input: &mut InputState) {
        keyboard.forget();
        input.keys = KeyDecoder::default();
        let (style, width) = (self.screen.style(), self.screen.size().0);
        let mut rest = approval_prompt::question_lines(&ask, &style, width);
        rest.reverse();
        input.open = Some(OpenQuestion { ask, rest, line: InputLine::default() });
        self.show_page(input);
    }

    /// Shows the next page of the question, and the choices.
    fn show_page(&self, input: &mut InputState) {
        let Some(open) = &mut input.open else { return };
        let (width, rows) = self.screen.size();
        let mut room = rows.saturating_sub(2).max(4);
        while let Some(line) = open.rest.pop() {
            self.screen.lines(&line);
            // A line that is wider than the screen occupies several rows.
            room = room.saturating_sub(1 + line.chars().count() / width.max(1));
            if room == 0 && !open.rest.is_empty() {
                break;
            }
        }
        let prompt = if open.rest.is_empty() {
            approval_prompt::CHOICES.to_owned()
        } else {
            format!("({} more lines: Enter shows them, `n` means no) ", open.rest.len())
        };
        self.screen.ask(&self.screen.style().paint(Tone::Alert, &prompt));
    }

    fn submit_reply(&self, line: &str, input: &mut InputState) {
        let has_more = input.open.as_ref().is_some_and(|open| !open.rest.is_empty());
        // A question must be shown to its end before it can be approved.
        if has_more && line.trim().is_empty() {
            return self.show_page(input);
        }
        let answer = match approval_prompt::parse_answer(line) {
            answer if has_more && answer.approval != Approval::No => no(),
            answer => answer,
        };
        self.answer(answer, input);
    }

    fn answer(&self, answer: Answer, input: &mut InputState) {
        if let Some(open) = input.open.take() {
            self.view.record_answer(answer.approval);
            approval_prompt::send_answer(open.ask, answer);
        }
    }

    fn submit_line(&self, line: &str, input: &mut InputState) {
        let style = self.screen.style();
        let said = format!("{} {}", style.mark(Mark::Said), printable(line));
        match line {
            "" => {}
            "/stop" => {
                self.screen.lines(&said);
                self.stop(input);
            }
            command if command.starts_with('/') => {
                self.screen.lines(&said);
                self.screen.lines("while the agent works, only `/stop` works; other input goes to the agent");
            }
            words => {
                let note = match self.steering.say(words) {
                    Ok(()) => "the agent gets it after this step".to_owned(),
                    Err(full) => format!("not sent: {full}"),
                };
                let note = style.paint(Tone::Quiet, &format!("({note})"));
                self.screen.line_between(&format!("{said}  {note}"));
            }
        }
    }

    /// Stops the turn; a second request abandons it at once.
    fn stop(&self, input: &mut InputState) {
        if self.halt.is_cancelled() {
            input.given_up = Some(Instant::now());
            return;
        }
        self.halt.cancel();
        input.given_up = Some(Instant::now() + STOP_TIMEOUT);
    }

    fn draw(&self, input: &mut InputState) {
        if input.open.is_some() || self.screen.liveness() == Liveness::Still {
            return;
        }
        input.frame += 1;
        let style = self.screen.style();
        let width = self.screen.size().0.saturating_sub(1);
        let spin = style.spin(input.frame);
        if !input.line.text().is_empty() {
            let said = style.mark(Mark::Said);
            let tail = input.line.tail(width.saturating_sub(5), &style);
            return self.screen.status(&format!("{spin} {said} {tail}"));
        }
        let progress = match input.given_up {
            Some(_) => Some("stopping; Ctrl-C again abandons it".to_owned()),
            None => self.view.progress(),
        };
        match progress {
            Some(line) => {
                let line = style.fit(&format!("{spin} {line}"), width);
                self.screen.status(&style.paint(Tone::Quiet, &line));
            }
            None => self.screen.clear_status(),
        }
    }

    /// Echoes input: on a live terminal the tty does not.
    fn echo(&self, before: &str, after: &str, effect: &Effect) {
        if self.screen.liveness() == Liveness::Still || *effect != Effect::Changed {
            return;
        }
        match after.strip_prefix(before) {
            Some(more) => self.screen.echo(&printable(more)),
            None => self.screen.echo(&"\x08 \x08".repeat(before.chars().count() - after.chars().count())),
        }
    }
}

fn no() -> Answer {
    Answer::new(Approval::No, approval_prompt::APPROVED_BY)
}
