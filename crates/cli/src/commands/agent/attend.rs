//! A turn with a person beside it: the trace moves, keys steer, questions are put, Ctrl-C stops.
//!
//! Invariant: a key that was pressed before a question was shown answers nothing.

use super::heard::Heard;
use super::keyboard::Keyboard;
use super::keys::Keys;
use super::question;
use super::screen::Screen;
use super::style::{Liveness, Mark, Tone};
use super::typed::{Effect, Typed};
use picoclaw_agent::run::{Ask, Steering, TurnError, TurnOutcome};
use picoclaw_sandbox::approver::Answer;
use picoclaw_sandbox::launch::Halt;
use picoclaw_sandbox::printable;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// How often the moving line moves.
const FRAME: Duration = Duration::from_millis(100);

/// How long a stopped turn may take to come to its end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// What a person has to do with a turn.
pub(super) struct Attendance<'a> {
    pub(super) screen: &'a Screen,
    pub(super) heard: &'a Heard,
    pub(super) steering: &'a Steering,
    pub(super) halt: &'a Halt,
}

/// What is under the person's fingers.
#[derive(Default)]
struct Hands {
    keys: Keys,
    /// Words for the turn.
    typed: Typed,
    /// The question on the screen.
    open: Option<Open>,
    frame: usize,
    /// When the turn is given up, once it was stopped.
    given_up: Option<Instant>,
}

/// A question on the screen.
struct Open {
    ask: Ask,
    /// Lines that were not shown yet.
    rest: Vec<String>,
    typed: Typed,
}

impl Attendance<'_> {
    /// Stays until the turn is over; what was typed and not sent is given back.
    pub(super) async fn stay(
        &self,
        turn: impl Future<Output = Result<TurnOutcome, TurnError>>,
        mut keyboard: Keyboard,
    ) -> (Result<TurnOutcome, TurnError>, String) {
        let mut turn = pin!(turn);
        let mut hands = Hands::default();
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_deaf = false;
        let ended = loop {
            let given_up = hands.given_up;
            let patience = async { sleep_until(given_up.unwrap_or_else(Instant::now)).await };
            tokio::select! {
                biased;
                ended = &mut turn => break ended,
                () = patience, if given_up.is_some() => break Err(TurnError::Halted),
                bytes = keyboard.read(), if !is_deaf => match bytes {
                    Some(bytes) => self.press(&bytes, &keyboard, &mut hands),
                    // The terminal is gone: nobody is there for whom the turn could go on.
                    None => {
                        is_deaf = true;
                        self.stop(&mut hands);
                    }
                },
                ask = self.heard.asked(), if hands.open.is_none() => self.put(ask, &keyboard, &mut hands),
                _ = frames.tick() => self.draw(&mut hands),
            }
        };
        hands.open = None;
        for key in hands.keys.read(&keyboard.rest()) {
            let _line = hands.typed.press(key);
        }
        self.screen.clear_status();
        (ended, hands.typed.text().to_owned())
    }

    fn press(&self, bytes: &[u8], keyboard: &Keyboard, hands: &mut Hands) {
        for key in hands.keys.read(bytes) {
            let effect = match &mut hands.open {
                Some(open) => {
                    let before = open.typed.text().to_owned();
                    let effect = open.typed.press(key);
                    self.echo(&before, open.typed.text(), &effect);
                    effect
                }
                None => hands.typed.press(key),
            };
            match effect {
                Effect::Changed => {}
                Effect::Suspend => {
                    self.screen.clear_status();
                    keyboard.suspend();
                }
                Effect::Interrupt => {
                    self.answer(Answer::No, hands);
                    self.stop(hands);
                }
                Effect::Done(line) if hands.open.is_some() => {
                    if self.screen.liveness() == Liveness::Still {
                        self.screen.entered();
                    }
                    self.reply(&line, hands);
                }
                Effect::Done(line) => self.say(line.trim(), hands),
            }
        }
        self.draw(hands);
    }

    /// Puts a question; what was typed before it could be read is forgotten.
    fn put(&self, ask: Ask, keyboard: &Keyboard, hands: &mut Hands) {
        keyboard.forget();
        hands.keys = Keys::default();
        let mut rest = question::lines(&ask, &self.screen.style());
        rest.reverse();
        hands.open = Some(Open { ask, rest, typed: Typed::default() });
        self.page(hands);
    }

    /// Shows the next screenful of the question, and what can be answered.
    fn page(&self, hands: &mut Hands) {
        let Some(open) = &mut hands.open else { return };
        let (width, rows) = self.screen.size();
        let mut room = rows.saturating_sub(2).max(4);
        while let Some(line) = open.rest.pop() {
            self.screen.lines(&line);
            // A line that is wider than the screen takes several rows.
            room = room.saturating_sub(1 + line.chars().count() / width.max(1));
            if room == 0 && !open.rest.is_empty() {
                break;
            }
        }
        let prompt = if open.rest.is_empty() {
            question::CHOICES.to_owned()
        } else {
            format!("({} more lines: Enter shows them, `n` means no) ", open.rest.len())
        };
        self.screen.ask(&self.screen.style().paint(Tone::Alert, &prompt));
    }

    fn reply(&self, line: &str, hands: &mut Hands) {
        let has_more = hands.open.as_ref().is_some_and(|open| !open.rest.is_empty());
        // Nobody says yes to what was not shown to the end.
        if has_more && line.trim().is_empty() {
            return self.page(hands);
        }
        let answer = if has_more { Answer::No } else { question::meaning(line) };
        self.answer(answer, hands);
    }

    fn answer(&self, answer: Answer, hands: &mut Hands) {
        if let Some(open) = hands.open.take() {
            self.heard.answered(answer);
            question::give(open.ask, answer);
        }
    }

    fn say(&self, line: &str, hands: &mut Hands) {
        let style = self.screen.style();
        let said = format!("{} {}", style.mark(Mark::Said), printable(line));
        match line {
            "" => {}
            "/stop" => {
                self.screen.lines(&said);
                self.stop(hands);
            }
            command if command.starts_with('/') => {
                self.screen.lines(&said);
                self.screen
                    .lines("while the agent works, only `/stop` is obeyed; other words go to the agent");
            }
            words => {
                let note = match self.steering.say(words) {
                    Ok(()) => "the agent hears it after this step".to_owned(),
                    Err(full) => format!("not sent: {full}"),
                };
                self.screen.lines(&format!("{said}  {}", style.paint(Tone::Quiet, &format!("({note})"))));
            }
        }
    }

    /// Stops the turn; asked twice, it is left at once.
    fn stop(&self, hands: &mut Hands) {
        if self.halt.is_raised() {
            hands.given_up = Some(Instant::now());
            return;
        }
        self.halt.raise();
        hands.given_up = Some(Instant::now() + GRACE);
    }

    fn draw(&self, hands: &mut Hands) {
        if hands.open.is_some() || self.screen.liveness() == Liveness::Still {
            return;
        }
        hands.frame += 1;
        let style = self.screen.style();
        let width = self.screen.size().0.saturating_sub(1);
        let spin = style.spin(hands.frame);
        if !hands.typed.text().is_empty() {
            let said = style.mark(Mark::Said);
            let tail = hands.typed.tail(width.saturating_sub(5), &style);
            return self.screen.status(&format!("{spin} {said} {tail}"));
        }
        let progress = match hands.given_up {
            Some(_) => Some("stopping; Ctrl-C again leaves it behind".to_owned()),
            None => self.heard.progress(),
        };
        match progress {
            Some(line) => {
                let line = style.fit(&format!("{spin} {line}"), width);
                self.screen.status(&style.paint(Tone::Quiet, &line));
            }
            None => self.screen.clear_status(),
        }
    }

    /// On a live terminal nothing echoes but us.
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
