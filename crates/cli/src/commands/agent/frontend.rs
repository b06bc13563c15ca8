//! Where this run takes place: at a terminal, or between programs. Found out once, before anything is said.
//!
//! Invariant: a person is asked only where one can read the question and type the answer.

use super::interrupt::Interrupt;
use super::one_shot;
use super::screen::Screen;
use super::style::{Liveness, Style};
use crate::arguments::AgentArguments;
use crate::logs::LogProfile;
use crate::settings::ProcessEnv;
use anyhow::{Result, ensure};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::isatty;
use std::sync::Arc;

/// The stage of one run.
pub(crate) struct Frontend {
    /// The screen of an interactive session.
    screen: Option<Screen>,
    /// How the trace of a one-shot turn looks.
    style: Style,
    liveness: Liveness,
    stop: Interrupt,
}

impl Frontend {
    /// Looks around, and listens for signals: to be called before anything starts a thread.
    pub(crate) fn detect(arguments: &AgentArguments, env: &ProcessEnv) -> Result<Self> {
        let stop = Interrupt::listen()?;
        let variable = |name: &str| env.variable(name).map(|value| value.to_string_lossy().into_owned());
        let term = variable("TERM");
        let is_session =
            arguments.message.is_none() && !arguments.json && isatty(stdin()) && isatty(stdout());
        let liveness = if is_session {
            Liveness::of(stdout(), term.as_deref())
        } else {
            Liveness::of(stderr(), term.as_deref())
        };
        let style = Style::of_environment(variable, liveness);
        let screen = is_session.then(|| Screen::new(Box::new(std::io::stdout()), style, liveness));
        Ok(Self { screen, style, liveness, stop })
    }

    /// The message of a one-shot turn; none where a session begins.
    pub(super) fn message(&self, arguments: &AgentArguments) -> Result<Option<String>> {
        if self.screen.is_some() {
            return Ok(None);
        }
        let message = match arguments.message.as_deref() {
            Some("-") | None => {
                ensure!(
                    arguments.message.is_some() || !isatty(stdin()) || !arguments.json,
                    "`--json` needs a message: `-m TEXT`, or one on standard input"
                );
                one_shot::read_message()?
            }
            Some(text) => text.to_owned(),
        };
        ensure!(!message.trim().is_empty(), "the message is empty");
        Ok(Some(message))
    }

    /// What an interrupt stops.
    pub(super) fn stop(&self) -> &Interrupt {
        &self.stop
    }

    /// The screen of a session.
    pub(super) fn screen(&self) -> Option<&Screen> {
        self.screen.as_ref()
    }

    /// How a trace on standard error looks.
    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// Whether lines can be drawn over.
    pub(super) fn liveness(&self) -> Liveness {
        self.liveness
    }

    /// Whether somebody reads standard error as it comes.
    pub(super) fn has_trace(&self) -> bool {
        isatty(stderr())
    }

    /// Whether standard output is read by a person, to whom control characters could lie.
    pub(super) fn has_reader(&self) -> bool {
        isatty(stdout())
    }

    /// Whether a question can be put: it is read where it is written, and answered where it is typed.
    pub(super) fn has_person(&self) -> bool {
        isatty(stdin()) && isatty(stderr())
    }

    /// How this run logs: beside a trace, a failed call is not told twice; on a screen, lines keep off the moving one.
    pub(crate) fn log_profile(&self) -> LogProfile {
        match &self.screen {
            Some(screen) => {
                let screen = screen.clone();
                LogProfile::Screen(Arc::new(move |text: &str| screen.lines(text.trim_end_matches('\n'))))
            }
            None if self.has_trace() => LogProfile::Traced,
            None => LogProfile::OneShot,
        }
    }
}
