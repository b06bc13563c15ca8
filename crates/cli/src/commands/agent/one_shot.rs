//! One turn between programs: a message in, the answer out.
//!
//! Invariant: standard output is the answer and one newline, or lines of JSON; the trace is for whoever watches.

use super::flow::show;
use super::question;
use super::stage::Stage;
use super::stop::Stop;
use super::style::{Style, Tone, size};
use super::trace::{Quote, Underway, seconds};
use super::{exit_of, json};
use crate::arguments::AgentArguments;
use crate::exit::Exit;
use crate::settings::Loaded;
use crate::{compose, print};
use anyhow::Result;
use picoclaw_agent::run::{Ask, Ending, Event, Steering, Turn, TurnError};
use picoclaw_policy::Subject;
use picoclaw_sandbox::approver::Answer;
use picoclaw_sandbox::launch::Halt;
use picoclaw_sandbox::printable;
use rustix::stdio::{stderr, stdin};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

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
    let stop = Stop::listen()?;
    let halt = Halt::new();
    stop.runs(&halt);
    let runtime = compose::runtime()?;
    let watch = Watch { stage, lines: arguments.json, underway: Arc::default() };
    let ended = runtime.block_on(async {
        let runner = compose::runner(loaded)?;
        let turn = Turn {
            subject,
            input: message,
            model: arguments.model.clone(),
            events: &|event| watch.hear(event),
            steering: &Steering::new(),
            halt: &halt,
        };
        anyhow::Ok(runner.turn(turn).await)
    })?;
    stop.rests();
    // Whatever still blocks a thread must not hold the answer back.
    runtime.shutdown_background();
    match ended {
        Ok(ending) => answered(arguments, stage, &ending).map(ExitCode::from),
        Err(why) => failed(arguments, &why),
    }
}

fn answered(arguments: &AgentArguments, stage: &Stage, ending: &Ending) -> Result<Exit> {
    if arguments.json {
        print::line(&json::of_ending(ending).to_string())?;
    } else if stage.has_reader() {
        print::line(&show(&ending.answer))?;
    } else {
        print::line(&ending.answer)?;
    }
    Ok(match ending {
        ending if ending.unasked => Exit::Unasked,
        // With nobody between the person and the tool, the tool's end is the turn's.
        ending if ending.failed && ending.model == compose::DIRECT => Exit::Refused,
        _ => Exit::Done,
    })
}

fn failed(arguments: &AgentArguments, why: &TurnError) -> Result<ExitCode> {
    let message = why.to_string();
    if arguments.json {
        print::line(&json::of_error(&message).to_string())?;
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
    lines: bool,
    underway: Arc<Mutex<Option<Underway>>>,
}

impl Watch<'_> {
    fn hear(&self, event: Event) {
        if self.lines
            && let Some(line) = json::of_event(&event)
        {
            // A reader that went away is found out at the end.
            let _gone = print::line(&line.to_string());
        }
        match event {
            // Nobody is there: dropped, the question is a no that says so.
            Event::Ask(ask) if self.stage.has_person() => self.ask(ask),
            event if self.stage.has_trace() => self.trace(event),
            _ => {}
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
            Event::Text(_) | Event::ToolOutput { .. } | Event::Ask(_) => {}
        }
    }

    /// Asks on a thread of its own: a person who thinks holds nothing up but the call.
    fn ask(&self, ask: Ask) {
        let (style, underway) = (self.stage.style(), Arc::clone(&self.underway));
        std::thread::spawn(move || {
            let answer = put(&ask, &style);
            if let Some(call) = underway.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                call.answered(answer);
            }
            question::give(ask, answer);
        });
    }

    fn underway(&self) -> std::sync::MutexGuard<'_, Option<Underway>> {
        self.underway.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
