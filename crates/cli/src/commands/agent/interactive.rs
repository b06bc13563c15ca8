//! An interactive session at the terminal. Whatever the result of a turn, the next line can be
//! typed.

use super::frontend::Frontend;
use super::history::History;
use super::interactive_turn::InteractiveTurn;
use super::interrupt::Interrupt;
use super::line_editor::{Input, LineEditor};
use super::raw_input::RawInput;
use super::screen::{AnswerText, Screen};
use super::slash_actions::{self, AfterCommand};
use super::slash_parse::Slash;
use super::spent::Spent;
use super::trace::Quote;
use super::turn_view::TurnView;
use super::{failure_text, model_error};
use crate::app::{self, AgentServices, DIRECT_PROVIDER};
use crate::arguments::{AgentArguments, Arguments, Command};
use crate::commands;
use crate::exit::{self, Exit};
use crate::progress::Progress;
use crate::settings::{ProcessEnv, Settings};
use crate::style::{Mark, Tone};
use anyhow::{Context, Result};
use clap::Parser;
use picoclaw_agent::run::{Steering, SummaryReason, Turn, TurnError, TurnOutcome};
use picoclaw_policy::Subject;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::{Redactor, printable, printable_lines};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use tokio::runtime::Runtime;

/// A session and its services.
pub(super) struct Session<'a> {
    pub(super) settings: &'a Settings,
    pub(super) services: AgentServices,
    pub(super) screen: Screen,
    pub(super) subject: Subject,
    /// The chosen model; the agent's own by default.
    pub(super) model: Option<String>,
    /// What the turns took.
    pub(super) spent: Spent,
}

/// Runs the session until the user leaves.
pub(super) fn run(
    arguments: &AgentArguments,
    frontend: &Frontend,
    settings: &Settings,
    subject: Subject,
    process_env: &ProcessEnv,
) -> Result<Exit> {
    let screen = frontend.screen().context("there is no terminal")?.clone();
    let settings = &streamed(settings);
    let stop = frontend.stop();
    let runtime = app::runtime()?;
    let services = {
        let _inside = runtime.enter();
        app::services(settings)?
    };
    if let Err(why) = services.models.chain(&subject.agent, arguments.model.as_deref()) {
        return Ok(exit::bad_usage(&model_error(&why)));
    }
    let (mut history, entries) = History::open(&settings.home, Redactor::new(&settings.config.secrets));
    let workspace = settings.config.workspace_of(&subject.agent, &settings.home);
    let mut prompt = LineEditor::new(entries, screen.style(), frontend.liveness(), workspace)?;
    let mut session = Session {
        settings,
        services,
        screen,
        subject,
        model: arguments.model.clone(),
        spent: Spent::default(),
    };
    session.greet();
    let (mut unsent, mut is_leaving) = (String::new(), false);
    loop {
        stop.wait_for_exit();
        prompt.set_prompt(session.prompt());
        let line = match prompt.read(&unsent)? {
            Input::Line(line) => line,
            Input::Interrupt if is_leaving => break,
            Input::Interrupt => {
                session.screen.lines("to leave: Ctrl-C again, Ctrl-D, or `/exit`");
                unsent.clear();
                is_leaving = true;
                continue;
            }
            Input::End => break,
        };
        unsent.clear();
        is_leaving = false;
        if let Some(kept) = history.add(&line) {
            prompt.add_history(kept);
        }
        if let Some(command) = line.trim_start().strip_prefix('!') {
            session.run_command(command.trim(), process_env);
            continue;
        }
        match Slash::parse(&line) {
            Some(slash) => {
                if slash_actions::execute(&mut session, slash, &runtime, stop) == AfterCommand::Leave {
                    break;
                }
            }
            None if line.trim().is_empty() => {}
            None => unsent = session.turn(&line, &runtime, stop),
        }
    }
    runtime.block_on(session.services.runner.close());
    runtime.shutdown_background();
    Ok(Exit::Done)
}

/// The settings with answers that stream, unless the configuration says otherwise.
fn streamed(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    for model in &mut settings.config.models {
        model.streaming = Some(model.streaming.unwrap_or(true));
    }
    settings
}

impl Session<'_> {
    /// The model of the next turn.
    pub(super) fn model_name(&self) -> String {
        let chain = self.services.models.chain(&self.subject.agent, self.model.as_deref());
        chain.map_or_else(|why| why.to_string(), |chain| chain.model().to_owned())
    }

    /// The project that is the agent's workspace.
    fn project(&self) -> Option<&PathBuf> {
        let own = self.settings.config.agents.iter().find(|own| own.id == self.subject.agent);
        own.filter(|own| own.in_project).and_then(|own| own.workspace.as_ref())
    }

    /// The line about a session that goes on.
    fn continued(&self) -> Option<String> {
        let sessions = self.services.sessions.list(&self.subject.agent).ok()?;
        let own = sessions.into_iter().find(|listed| listed.name == self.subject.session)?;
        let time = own.updated_at.get(..16).unwrap_or(&own.updated_at).replace('T', " ");
        (own.messages > 0).then(|| {
            format!(
                "This session goes on: {} messages, the last at {time}Z. `/new` begins another.",
                own.messages
            )
        })
    }

    /// Runs a command of the person as `picoclaw run` does: in the cage, in the agent's workspace.
    fn run_command(&self, command: &str, process_env: &ProcessEnv) {
        if command.is_empty() {
            return self
                .screen
                .lines("`!COMMAND` runs a command of yours in the cage, as `picoclaw run` does");
        }
        let dir = self.settings.config.workspace_of(&self.subject.agent, &self.settings.home);
        let words = ["picoclaw", "run", "--workspace"].map(OsString::from).into_iter();
        let words =
            words.chain([dir.into_os_string()]).chain(["--", "bash", "-c", command].map(OsString::from));
        let parsed = Arguments::try_parse_from(words);
        let Ok(Arguments { command: Command::Run(arguments), .. }) = parsed else { return };
        match commands::run::run(&arguments, self.settings, process_env) {
            Ok(code) if code == ExitCode::SUCCESS => {}
            Ok(_) => self.screen.prose("the command did not succeed", Tone::Quiet),
            Err(why) => self.screen.prose(&printable_lines(&format!("{why:#}")), Tone::Bad),
        }
    }

    fn greet(&self) {
        let style = self.screen.style();
        let dot = style.mark(Mark::Dot);
        let model = self.model_name();
        self.screen.wrapped(&format!(
            "{} {dot} agent {} {dot} model {} {dot} session {}",
            style.paint(Tone::Strong, "picoclaw"),
            self.subject.agent,
            printable(&model),
            printable(&self.subject.session)
        ));
        let how = if model == DIRECT_PROVIDER {
            "No model: a line is a command, `TOOL {json}` is a tool call. `/help` shows more."
        } else {
            "`/help` lists what can be typed; Ctrl-C stops a turn, Ctrl-D leaves."
        };
        let quiet = |text: &str| self.screen.prose(&printable(text), Tone::Quiet);
        if let Some(variable) = self.settings.env_variable_of(&model) {
            quiet(&format!("The model is by `{variable}`; `picoclaw onboard` writes it down."));
        }
        if let Some(project) = self.project() {
            quiet(&format!("Working in {}", project.display()));
        }
        if let Some(line) = self.settings.unnamed_isolation() {
            self.screen.prose(&printable(&line), Tone::Alert);
        }
        if let Some(line) = self.continued() {
            quiet(&line);
        }
        quiet(how);
    }

    fn prompt(&self) -> String {
        format!("{}{} ", self.subject.agent, self.screen.style().mark(Mark::Said))
    }

    /// The text of a typed line. A trailing backslash continues the line and is not meant for a
    /// model; a shell parses it itself.
    fn expand_line(&self, line: &str) -> String {
        if self.model_name() == DIRECT_PROVIDER { line.to_owned() } else { line.replace("\\\n", "\n") }
    }

    /// Runs a turn; returns what was typed meanwhile and not sent.
    fn turn(&mut self, line: &str, runtime: &Runtime, stop: &Interrupt) -> String {
        let halt = CancelToken::new();
        stop.turn_started(&halt);
        let began = Instant::now();
        let (ended, unsent) = runtime.block_on(self.run_turn(line, &halt));
        stop.turn_ended();
        match ended {
            Ok(outcome) => {
                let turn = Spent::turn(outcome.usage, began.elapsed(), &outcome.model, &self.settings.config);
                self.spent.add(turn);
                let style = self.screen.style();
                let line = turn.line(&style);
                if !line.is_empty() {
                    self.screen.prose(&line, Tone::Quiet);
                }
            }
            Err(TurnError::Halted) => self.screen.lines("stopped"),
            Err(why) => {
                let style = self.screen.style();
                let text = failure_text(&why);
                let (what, hint) = text.split_once('\n').unwrap_or((&text, ""));
                let line = format!("{} {}", style.mark(Mark::No), printable(what));
                self.screen.prose(&line, Tone::Bad);
                self.screen.prose(&printable_lines(hint), Tone::Quiet);
            }
        }
        unsent
    }

    async fn run_turn(&self, line: &str, halt: &CancelToken) -> (Result<TurnOutcome, TurnError>, String) {
        let is_direct = self.model_name() == DIRECT_PROVIDER;
        self.screen.expect(if is_direct { AnswerText::Plain } else { AnswerText::Markdown });
        let quote = if self.model_name() == DIRECT_PROVIDER { Quote::Nothing } else { Quote::FirstLines };
        let view = TurnView::new(self.screen.clone(), quote);
        let steering = Steering::new();
        let events = |event| view.on_event(event);
        let turn = self.services.runner.turn(Turn {
            subject: self.subject.clone(),
            input: self.expand_line(line),
            model: self.model.clone(),
            events: &events,
            steering: &steering,
            halt,
        });
        let (ended, unsent) = match RawInput::open(self.screen.liveness()) {
            Ok(keyboard) => {
                let turn_input =
                    InteractiveTurn { screen: &self.screen, view: &view, steering: &steering, halt };
                turn_input.run(turn, keyboard).await
            }
            // Without a keyboard no person can be asked: questions are dropped with the turn's
            // events.
            Err(why) => {
                tracing::warn!(target: "agent", error = %why, "The keyboard cannot be read while a turn runs");
                (turn.await, String::new())
            }
        };
        let ended = match ended {
            Ok(ending) => {
                view.end(&ending.answer);
                let progress = Progress::of("saving the session; Ctrl-C skips it");
                let (runner, model) = (&self.services.runner, self.model.as_deref());
                let tidied = runner.summarize(&self.subject, model, SummaryReason::Length, halt).await;
                drop(progress);
                if let Err(why) = tidied {
                    tracing::warn!(target: "session", "The session was not summarised: {why}");
                }
                Ok(ending)
            }
            Err(why) => {
                view.break_off();
                Err(why)
            }
        };
        (ended, unsent)
    }
}
