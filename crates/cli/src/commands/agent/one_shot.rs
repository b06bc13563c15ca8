//! One turn between programs: a message in, the answer out.
//!
//! Invariant: standard output is the answer and one newline, or lines of JSON; the trace is for whoever watches.

use super::flow::show;
use super::question;
use super::screen::Screen;
use super::stage::Stage;
use super::style::{Liveness, Style, Tone, size};
use super::subagents::{Shown, Subagents};
use super::trace::{Quote, Underway, seconds};
use super::{exit_of, json, misused, no_model};
use crate::arguments::AgentArguments;
use crate::exit::Exit;
use crate::settings::Loaded;
use crate::{compose, print};
use anyhow::Result;
use picoclaw_agent::run::{Ask, Event, Steering, SubagentEvent, SubagentInfo, Turn, TurnError, TurnOutcome};
use picoclaw_policy::Subject;
use picoclaw_sandbox::approver::Answer;
use picoclaw_sandbox::launch::Halt;
use picoclaw_sandbox::printable;
use rustix::stdio::{stderr, stdin};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// As shells report a program that was interrupted.
const INTERRUPTED: u8 = 130;

/// Runs the turn.
pub(super) fn run(
    arguments: &AgentArguments,
    stage: &Stage,
    loaded: &Loaded,
    subject: Subject,
    message: String,
) -> Result<ExitCode> {
    let stop = stage.stop();
    let halt = Halt::new();
    stop.runs(&halt);
    let runtime = compose::runtime()?;
    let watch = Watch::new(stage, arguments.json);
    let company = {
        let _inside = runtime.enter();
        compose::company_for_one_turn(loaded)?
    };
    if let Err(why) = company.models.chain(&subject.agent, arguments.model.as_deref()) {
        return misused(arguments, &no_model(&why));
    }
    let runner = company.runner;
    let ended = runtime.block_on(async {
        let turn = Turn {
            subject: subject.clone(),
            input: message,
            model: arguments.model.clone(),
            events: &|event| watch.hear(event),
            steering: &Steering::new(),
            halt: &halt,
        };
        runner.turn(turn).await
    });
    let exit = match ended {
        Ok(ending) => {
            watch.end(&ending)?;
            let tidied = runtime.block_on(runner.summarize(&subject, arguments.model.as_deref(), &halt));
            if let Err(why) = tidied {
                tracing::warn!(target: "session", "The session was not summarised: {why}");
            }
            exit(&ending).into()
        }
        Err(why) => {
            watch.break_off();
            failed(arguments, &why)?
        }
    };
    runtime.block_on(runner.close());
    stop.rests();
    // Whatever still blocks a thread must not hold the end back.
    runtime.shutdown_background();
    Ok(exit)
}

fn exit(ending: &TurnOutcome) -> Exit {
    match ending {
        ending if ending.needs_approval => Exit::Unasked,
        // With nobody between the person and the tool, the tool's end is the turn's.
        ending if ending.failed && ending.model == compose::DIRECT => Exit::Refused,
        _ => Exit::Done,
    }
}

fn failed(arguments: &AgentArguments, why: &TurnError) -> Result<ExitCode> {
    let message = why.to_string();
    if arguments.json {
        json::print(&json::of_error(&message))?;
    }
    print::note(&format!("error: {}", show(&message)));
    Ok(match why {
        TurnError::Halted => ExitCode::from(INTERRUPTED),
        other => exit_of(other).into(),
    })
}

/// Listens to the turn.
struct Watch<'s> {
    stage: &'s Stage,
    out: Out,
    underway: Arc<Mutex<Option<Underway>>>,
    subagents: Mutex<Subagents>,
    /// Held while a person is asked: subagents may have questions at the same time.
    asking: Arc<Mutex<()>>,
}

/// Who reads standard output.
enum Out {
    /// A program that wants to know everything.
    Lines,
    /// A program that wants the answer.
    Answer,
    /// A person, who sees the answer while it comes: the text of this round so far.
    Screen(Screen, Mutex<String>),
}

impl<'s> Watch<'s> {
    fn new(stage: &'s Stage, json: bool) -> Self {
        let out = match stage.has_reader() {
            _ if json => Out::Lines,
            false => Out::Answer,
            true => {
                let screen = Screen::new(Box::new(std::io::stdout()), stage.style(), Liveness::Still);
                Out::Screen(screen, Mutex::default())
            }
        };
        Self { stage, out, underway: Arc::default(), subagents: Mutex::default(), asking: Arc::default() }
    }

    fn hear(&self, event: Event) {
        match (&self.out, &event) {
            (Out::Lines, event) => {
                // A reader that went away is found out at the end.
                let _gone = json::of_event(event).map(|line| json::print(&line));
            }
            (Out::Screen(screen, pieces), Event::Text(piece)) => {
                lock(pieces).push_str(piece);
                screen.piece(piece);
            }
            (Out::Screen(..), Event::ToolCall { .. } | Event::Ask(_) | Event::Retry { .. }) => {
                self.break_off();
            }
            (Out::Screen(..), Event::Said(text)) => self.show(text),
            _ => {}
        }
        match event {
            Event::Subagent { info, event } => self.subagent(info, event),
            // Nobody is there: dropped, the question is a no that says so.
            Event::Ask(ask) if self.stage.has_person() => self.ask(ask),
            event if self.stage.has_trace() => self.trace(event),
            _ => {}
        }
    }

    /// The answer, once: what of it came in pieces is not said again.
    fn end(&self, ending: &TurnOutcome) -> std::io::Result<()> {
        match &self.out {
            Out::Lines => json::print(&json::of_ending(ending)),
            Out::Answer => print::line(&ending.answer),
            Out::Screen(..) => {
                self.show(&ending.answer);
                Ok(())
            }
        }
    }

    /// Shows what of a text did not come in pieces before.
    fn show(&self, text: &str) {
        let Out::Screen(screen, pieces) = &self.out else { return };
        let shown = std::mem::take(&mut *lock(pieces));
        match text.strip_prefix(shown.as_str()).filter(|_| !shown.is_empty()) {
            Some(rest) => screen.piece(rest),
            None => {
                screen.end_pieces();
                screen.piece(text);
            }
        }
        screen.end_pieces();
    }

    fn subagent(&self, info: SubagentInfo, event: SubagentEvent) {
        let shown = lock(&self.subagents).hear(info, event, &self.stage.style(), size(stderr()).0);
        match shown {
            Shown::Line(line) if self.stage.has_trace() => print::note(&line),
            Shown::Ask(line, ask) if self.stage.has_person() => {
                self.break_off();
                print::note(&line);
                self.ask(*ask);
            }
            _ => {}
        }
    }

    /// A round is over; its text was not the answer.
    fn break_off(&self) {
        if let Out::Screen(screen, pieces) = &self.out
            && !std::mem::take(&mut *lock(pieces)).is_empty()
        {
            screen.end_pieces();
        }
    }

    fn trace(&self, event: Event) {
        let style = self.stage.style();
        let note = |text: &str| print::note(&style.paint(Tone::Quiet, text));
        match event {
            Event::ToolCall { id, tool, arguments } => {
                *self.underway() = Some(Underway::new(&id, &tool, &arguments));
            }
            Event::ToolResult { id, tool, reply, took } => {
                let call = self.underway().take().filter(|call| call.is(&id));
                let call = call.unwrap_or_else(|| Underway::new(&id, &tool, &serde_json::json!({})));
                print::note(&call.result(&reply, took, &style, size(stderr()).0, Quote::Nothing));
            }
            Event::Retry { why, wait } => {
                note(&format!("{}; trying again in {}", printable(&why), seconds(wait)));
            }
            Event::Compacted { dropped } => {
                note(&format!("the conversation grew too long: its oldest {dropped} messages went"));
            }
            Event::Notice(text) => note(&printable(&text)),
            Event::Text(_)
            | Event::ToolOutput { .. }
            | Event::Ask(_)
            | Event::Said(_)
            | Event::Subagent { .. } => {}
        }
    }

    /// Asks on a thread of its own: a person who thinks holds nothing up but the call.
    fn ask(&self, ask: Ask) {
        let (style, underway) = (self.stage.style(), Arc::clone(&self.underway));
        let asking = Arc::clone(&self.asking);
        std::thread::spawn(move || {
            let _alone = lock(&asking);
            let answer = put(&ask, &style);
            if let Some(call) = lock(&underway).as_mut() {
                call.answered(answer);
            }
            question::give(ask, answer);
        });
    }

    fn underway(&self) -> MutexGuard<'_, Option<Underway>> {
        lock(&self.underway)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows a question in full and waits for a line; an end of the input is a no.
fn put(ask: &Ask, style: &Style) -> Answer {
    // What was typed ahead was not typed in answer to this.
    let _gone = rustix::termios::tcflush(stdin(), rustix::termios::QueueSelector::IFlush);
    let shown = question::lines(ask, style).join("\n");
    print::note(&shown);
    let mut out = std::io::stderr().lock();
    let _unheard = write!(out, "{}", style.paint(Tone::Alert, question::CHOICES)).and_then(|()| out.flush());
    drop(out);
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(count) if count > 0 => question::meaning(&line),
        _ => Answer::No,
    }
}
