//! A session at the terminal: lines in, turns and answers out, until the person leaves.
//!
//! Invariant: whatever a turn comes to, the next line can be typed.

use super::attend::Attendance;
use super::heard::Heard;
use super::history::History;
use super::keyboard::Keyboard;
use super::no_model;
use super::prompt::{Input, Prompt};
use super::screen::Screen;
use super::slash::Slash;
use super::stage::Stage;
use super::stop::Stop;
use super::style::{Mark, Tone};
use super::talk::{self, Next};
use super::trace::Quote;
use crate::arguments::AgentArguments;
use crate::compose::{self, Company, DIRECT};
use crate::exit::{self, Exit};
use crate::settings::Loaded;
use anyhow::{Context, Result};
use picoclaw_agent::run::{Steering, Turn, TurnError};
use picoclaw_policy::Subject;
use picoclaw_sandbox::launch::Halt;
use picoclaw_sandbox::{Redactor, printable};
use tokio::runtime::Runtime;

/// A session, and everybody in it.
pub(super) struct Session<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) company: Company,
    pub(super) screen: Screen,
    pub(super) subject: Subject,
    /// The model that was asked for; the agent's own otherwise.
    pub(super) model: Option<String>,
}

/// Talks until the person leaves.
pub(super) fn run(
    arguments: &AgentArguments,
    stage: &Stage,
    loaded: &Loaded,
    subject: Subject,
) -> Result<Exit> {
    let screen = stage.screen().context("there is no terminal")?.clone();
    let stop = stage.stop();
    let runtime = compose::runtime()?;
    let company = {
        let _inside = runtime.enter();
        compose::company(loaded)?
    };
    if let Err(why) = company.models.chain(&subject.agent, arguments.model.as_deref()) {
        return Ok(exit::bad_usage(&no_model(&why)));
    }
    let (mut history, entries) = History::open(&loaded.home, Redactor::new(&loaded.config.secrets));
    let mut prompt = Prompt::new(entries, screen.style(), stage.liveness())?;
    let mut session = Session { loaded, company, screen, subject, model: arguments.model.clone() };
    session.greet();
    let mut unsent = String::new();
    loop {
        stop.wait_for_the_end();
        prompt.call_it(session.prompt());
        let line = match prompt.read(&unsent)? {
            Input::Line(line) => line,
            Input::Interrupt => {
                session.screen.lines("to leave: Ctrl-D, or `/exit`");
                unsent.clear();
                continue;
            }
            Input::End => break,
        };
        unsent.clear();
        if let Some(kept) = history.add(&line) {
            prompt.remember(kept);
        }
        match Slash::parse(&line) {
            Some(slash) => {
                if talk::answer(&mut session, slash) == Next::Leave {
                    break;
                }
            }
            None if line.trim().is_empty() => {}
            None => unsent = session.turn(&line, &runtime, stop),
        }
    }
    runtime.block_on(session.company.runner.close());
    runtime.shutdown_background();
    Ok(Exit::Done)
}

impl Session<'_> {
    /// The model that would be asked now.
    pub(super) fn model_name(&self) -> String {
        let chain = self.company.models.chain(&self.subject.agent, self.model.as_deref());
        chain.map_or_else(|why| why.to_string(), |chain| chain.model().to_owned())
    }

    fn greet(&self) {
        let style = self.screen.style();
        let dot = style.mark(Mark::Dot);
        let model = self.model_name();
        self.screen.lines(&format!(
            "{} {dot} agent {} {dot} model {} {dot} session {}",
            style.paint(Tone::Strong, "picoclaw"),
            self.subject.agent,
            printable(&model),
            printable(&self.subject.session)
        ));
        let how = if model == DIRECT {
            "No model: a line is a command, `TOOL {json}` is a tool call. `/help` tells more."
        } else {
            "`/help` lists what can be typed; Ctrl-C stops a turn, Ctrl-D leaves."
        };
        self.screen.lines(&style.paint(Tone::Quiet, how));
    }

    fn prompt(&self) -> String {
        format!("{}{} ", self.subject.agent, self.screen.style().mark(Mark::Said))
    }

    /// What a typed line says. The mark that more follows is not meant for a model; a shell reads it by itself.
    fn words(&self, line: &str) -> String {
        if self.model_name() == DIRECT { line.to_owned() } else { line.replace("\\\n", "\n") }
    }

    /// Runs a turn; gives back what was typed meanwhile and not sent.
    fn turn(&self, line: &str, runtime: &Runtime, stop: &Stop) -> String {
        let halt = Halt::new();
        stop.runs(&halt);
        let (ended, unsent) = runtime.block_on(self.attend(line, &halt));
        stop.rests();
        match ended {
            Ok(()) => {}
            Err(TurnError::Halted) => self.screen.lines("stopped"),
            Err(why) => {
                let style = self.screen.style();
                let line = format!("{} {}", style.mark(Mark::No), printable(&why.to_string()));
                self.screen.lines(&style.paint(Tone::Bad, &line));
            }
        }
        unsent
    }

    async fn attend(&self, line: &str, halt: &Halt) -> (Result<(), TurnError>, String) {
        let quote = if self.model_name() == DIRECT { Quote::Nothing } else { Quote::FirstLines };
        let heard = Heard::new(self.screen.clone(), quote);
        let steering = Steering::new();
        let events = |event| heard.hear(event);
        let turn = self.company.runner.turn(Turn {
            subject: self.subject.clone(),
            input: self.words(line),
            model: self.model.clone(),
            events: &events,
            steering: &steering,
            halt,
        });
        let (ended, unsent) = match Keyboard::take(self.screen.liveness()) {
            Ok(keyboard) => {
                let attendance =
                    Attendance { screen: &self.screen, heard: &heard, steering: &steering, halt };
                attendance.stay(turn, keyboard).await
            }
            // Without keys there is nobody to ask: questions are dropped with the turn's events.
            Err(why) => {
                tracing::warn!(target: "agent", error = %why, "The keyboard cannot be read while a turn runs");
                (turn.await, String::new())
            }
        };
        let ended = match ended {
            Ok(ending) => {
                heard.end(&ending.answer);
                let runner = &self.company.runner;
                self.screen.status("keeping what was said; Ctrl-C skips it");
                let tidied = runner.summarize(&self.subject, self.model.as_deref(), halt).await;
                self.screen.clear_status();
                if let Err(why) = tidied {
                    tracing::warn!(target: "session", "The session was not summarised: {why}");
                }
                Ok(())
            }
            Err(why) => {
                heard.break_off();
                Err(why)
            }
        };
        (ended, unsent)
    }
}
