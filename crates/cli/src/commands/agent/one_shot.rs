//! One turn without interaction: a message in, the answer out.
//!
//! Standard output is the answer and one newline, or JSON lines; the trace goes to standard error.

use super::approval_prompt;
use super::frontend::Frontend;
use super::sanitize_stream::sanitize;
use super::screen::Screen;
use super::subagents::{SubagentOutput, Subagents};
use super::trace::{CallTrace, Quote, summarize_call};
use super::{exit_of, failure_text, json, model_error, report_misuse};
use crate::arguments::AgentArguments;
use crate::console::discard_input;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::style::{Liveness, Style, Tone, size};
use crate::units::format_seconds;
use crate::{app, print};
use anyhow::{Context, Result, bail};
use picoclaw_agent::providers::brief;
use picoclaw_agent::run::{
    Ask, Event, Steering, SubagentEvent, SubagentInfo, SummaryReason, Turn, TurnError, TurnOutcome,
};
use picoclaw_policy::Subject;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::permit::{Answer, Approval};
use picoclaw_sandbox::printable;
use std::io::{BufRead, Read, Write, stderr};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The exit code of shells for an interrupted program.
const INTERRUPTED: u8 = 130;

/// Maximum length of a message.
const MAX_MESSAGE_LEN: u64 = 4 << 20;

/// Runs the turn.
pub(super) fn run(
    arguments: &AgentArguments,
    frontend: &Frontend,
    settings: &Settings,
    subject: Subject,
    message: String,
) -> Result<ExitCode> {
    let stop = frontend.stop();
    let halt = CancelToken::new();
    stop.turn_started(&halt);
    let runtime = app::runtime()?;
    let observer = TurnObserver::new(frontend, arguments.json);
    let services = {
        let _inside = runtime.enter();
        app::services(settings)?
    };
    match services.models.chain(&subject.agent, arguments.model.as_deref()) {
        Ok(chain) => announce(chain.model(), frontend, settings),
        Err(why) => return report_misuse(arguments, &model_error(&why)),
    }
    let runner = services.runner;
    let ended = runtime.block_on(async {
        let turn = Turn {
            subject: subject.clone(),
            input: message,
            model: arguments.model.clone(),
            events: &|event| observer.on_event(event),
            steering: &Steering::new(),
            halt: &halt,
        };
        runner.turn(turn).await
    });
    let exit = match ended {
        Ok(ending) => {
            observer.end(&ending)?;
            let _progress = Progress::of("saving the session; Ctrl-C skips it");
            let summary =
                runner.summarize(&subject, arguments.model.as_deref(), SummaryReason::Length, &halt);
            let tidied = runtime.block_on(summary);
            if let Err(why) = tidied {
                tracing::warn!(target: "session", "The session was not summarised: {why}");
            }
            exit_of_ending(&ending).into()
        }
        Err(why) => {
            observer.break_off();
            report_failure(arguments, &why)?
        }
    };
    runtime.block_on(runner.close());
    stop.turn_ended();
    // Threads that still block must not delay the end.
    runtime.shutdown_background();
    Ok(exit)
}

/// Says which model the environment brought, and at a terminal that isolation is not named.
fn announce(model: &str, frontend: &Frontend, settings: &Settings) {
    if let Some(variable) = settings.env_variable_of(model) {
        print::styled_note(&format!("picoclaw: the model is `{}`, by `{variable}`", printable(model)));
    }
    if let Some(line) = settings.unnamed_isolation().filter(|_| frontend.has_trace()) {
        print::styled_note(&format!("picoclaw: {}", printable(&line)));
    }
}

fn exit_of_ending(ending: &TurnOutcome) -> Exit {
    match ending {
        ending if ending.needs_approval => Exit::NeedsApproval,
        // With the embedded provider, the tool's failure is the turn's.
        ending if ending.failed && ending.model == app::DIRECT_PROVIDER => Exit::Refused,
        _ => Exit::Done,
    }
}

fn report_failure(arguments: &AgentArguments, why: &TurnError) -> Result<ExitCode> {
    let message = why.to_string();
    if arguments.json {
        json::print(&json::error_json(&message))?;
    }
    print::styled_note(&format!("error: {}", sanitize(&failure_text(why))));
    Ok(match why {
        TurnError::Halted => ExitCode::from(INTERRUPTED),
        other => exit_of(other).into(),
    })
}

/// Observes the turn.
struct TurnObserver<'s> {
    frontend: &'s Frontend,
    out: OutputMode,
    call: Arc<Mutex<Option<CallTrace>>>,
    subagents: Mutex<Subagents>,
    /// Held while a person is asked: subagents may have questions at the same time.
    asking: Arc<Mutex<()>>,
    /// What the turn waits for.
    waiting: Mutex<Option<Progress>>,
}

/// The kind of standard output.
enum OutputMode {
    /// JSON lines.
    Lines,
    /// The answer only.
    Answer,
    /// A terminal, which shows the answer while it streams: the text of this round so far.
    Screen(Screen, Mutex<String>),
}

impl<'s> TurnObserver<'s> {
    fn new(frontend: &'s Frontend, json: bool) -> Self {
        let out = match frontend.has_reader() {
            _ if json => OutputMode::Lines,
            false => OutputMode::Answer,
            true => {
                let screen = Screen::new(Box::new(std::io::stdout()), frontend.style(), Liveness::Still);
                OutputMode::Screen(screen, Mutex::default())
            }
        };
        Self {
            frontend,
            out,
            call: Arc::default(),
            subagents: Mutex::default(),
            asking: Arc::default(),
            waiting: Mutex::new(Some(Progress::of("thinking"))),
        }
    }

    fn on_event(&self, event: Event) {
        // Shown only as JSON.
        if matches!(
            (&self.out, &event),
            (OutputMode::Answer | OutputMode::Screen(..), Event::ToolOutput { .. })
        ) {
            return;
        }
        drop(lock(&self.waiting).take());
        let next = match &event {
            Event::ToolCall { tool, arguments, .. } => {
                Some(format!("{} {}", printable(tool), summarize_call(tool, arguments)))
            }
            Event::ToolResult { .. } => Some("thinking".to_owned()),
            Event::Retry { .. } => Some("waiting before the next request".to_owned()),
            _ => None,
        };
        self.handle(event);
        *lock(&self.waiting) = next.map(|what| Progress::of(&what));
    }

    fn handle(&self, event: Event) {
        match (&self.out, &event) {
            (OutputMode::Lines, event) => {
                // A closed pipe is reported at the end.
                let _gone = json::event_json(event).map(|line| json::print(&line));
            }
            (OutputMode::Screen(screen, pieces), Event::Text(piece)) => {
                lock(pieces).push_str(piece);
                screen.piece(piece);
            }
            (OutputMode::Screen(..), Event::ToolCall { .. } | Event::Ask(_) | Event::Retry { .. }) => {
                self.break_off();
            }
            (OutputMode::Screen(..), Event::Said(text)) => self.show(text),
            _ => {}
        }
        match event {
            Event::Subagent { info, event } => self.subagent(info, event),
            // Without a person the question is dropped, which denies it.
            Event::Ask(ask) if self.frontend.has_person() => self.ask(ask),
            event if self.frontend.has_trace() => self.trace(event),
            _ => {}
        }
    }

    /// Prints the answer, without what was streamed already.
    fn end(&self, ending: &TurnOutcome) -> std::io::Result<()> {
        drop(lock(&self.waiting).take());
        match &self.out {
            OutputMode::Lines => json::print(&json::ending_json(ending)),
            OutputMode::Answer => print::line(&ending.answer),
            OutputMode::Screen(..) => {
                self.show(&ending.answer);
                Ok(())
            }
        }
    }

    /// Prints the part of a text that was not streamed.
    fn show(&self, text: &str) {
        let OutputMode::Screen(screen, pieces) = &self.out else { return };
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
        let shown = lock(&self.subagents).on_event(info, event, &self.frontend.style(), size(stderr()).0);
        match shown {
            SubagentOutput::Line(line) if self.frontend.has_trace() => print::styled_note(&line),
            SubagentOutput::Ask(line, ask) if self.frontend.has_person() => {
                self.break_off();
                print::styled_note(&line);
                self.ask(*ask);
            }
            _ => {}
        }
    }

    /// The round is over; its text was not the answer.
    fn break_off(&self) {
        drop(lock(&self.waiting).take());
        if let OutputMode::Screen(screen, pieces) = &self.out
            && !std::mem::take(&mut *lock(pieces)).is_empty()
        {
            screen.end_pieces();
        }
    }

    fn trace(&self, event: Event) {
        let style = self.frontend.style();
        let note = |text: &str| print::styled_note(&style.paint(Tone::Quiet, text));
        match event {
            Event::ToolCall { id, tool, arguments } => {
                *self.current_call() = Some(CallTrace::new(&id, &tool, &arguments));
            }
            Event::ToolResult { id, tool, reply, took } => {
                let call = self.current_call().take().filter(|call| call.is(&id));
                let call = call.unwrap_or_else(|| CallTrace::new(&id, &tool, &serde_json::json!({})));
                print::styled_note(&call.result(&reply, took, &style, size(stderr()).0, Quote::Nothing));
            }
            Event::Retry { why, wait } => {
                note(&format!("{}; trying again in {}", printable(&brief(&why)), format_seconds(wait)));
            }
            Event::Compacted { dropped } => {
                note(&format!("the conversation is too long: its oldest {dropped} messages were dropped"));
            }
            Event::Notice(text) => note(&printable(&text)),
            Event::Text(_)
            | Event::ToolOutput { .. }
            | Event::Ask(_)
            | Event::Said(_)
            | Event::Subagent { .. } => {}
        }
    }

    /// Asks on its own thread, so that only the call waits.
    fn ask(&self, ask: Ask) {
        let (style, call) = (self.frontend.style(), Arc::clone(&self.call));
        let asking = Arc::clone(&self.asking);
        std::thread::spawn(move || {
            let _alone = lock(&asking);
            let answer = ask_on_terminal(&ask, &style);
            if let Some(call) = lock(&call).as_mut() {
                call.record_answer(answer.approval);
            }
            approval_prompt::send_answer(ask, answer);
        });
    }

    fn current_call(&self) -> MutexGuard<'_, Option<CallTrace>> {
        lock(&self.call)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the question in full and waits for a line; the end of input is a no.
fn ask_on_terminal(ask: &Ask, style: &Style) -> Answer {
    // Input from before the question is discarded.
    discard_input();
    let shown = approval_prompt::question_lines(ask, style, size(stderr()).0).join("\n");
    print::styled_note(&shown);
    let mut out = std::io::stderr().lock();
    let _unheard =
        write!(out, "{}", style.paint(Tone::Alert, approval_prompt::CHOICES)).and_then(|()| out.flush());
    drop(out);
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(count) if count > 0 => approval_prompt::parse_answer(&line),
        _ => Answer::new(Approval::No, approval_prompt::APPROVED_BY),
    }
}

/// Reads the message from standard input.
pub(super) fn read_message() -> Result<String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_MESSAGE_LEN + 1).read_to_end(&mut bytes);
    if read.context("could not read the message from standard input")? as u64 > MAX_MESSAGE_LEN {
        bail!(
            "the message is longer than {MAX_MESSAGE_LEN} bytes\nhint: put it into a file of the workspace"
        );
    }
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("the message on standard input is not UTF-8"))
}
