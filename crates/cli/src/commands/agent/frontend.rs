//! The frontend of one run: a terminal, or pipes. Detected once, before any output.
//!
//! A person is asked only where the question can be read and the answer typed.

use super::interrupt::Interrupt;
use super::one_shot;
use super::screen::Screen;
use crate::arguments::AgentArguments;
use crate::logs::LogProfile;
use crate::settings::ProcessEnv;
use crate::style::{Liveness, Style};
use anyhow::{Result, ensure};
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::sync::Arc;

/// The frontend of one run.
pub(crate) struct Frontend {
    /// The screen of an interactive session.
    screen: Option<Screen>,
    /// The style of a one-shot turn's trace.
    style: Style,
    liveness: Liveness,
    stop: Interrupt,
}

impl Frontend {
    /// Detects the frontend and registers signal handlers; must run before any thread is started.
    pub(crate) fn detect(arguments: &AgentArguments, env: &ProcessEnv) -> Result<Self> {
        let stop = Interrupt::listen()?;
        let variable = |name: &str| env.variable(name).map(|value| value.to_string_lossy().into_owned());
        let term = variable("TERM");
        let is_session =
            arguments.message.is_none() && !arguments.json && stdin().is_terminal() && stdout().is_terminal();
        let liveness = if is_session {
            Liveness::of(stdout(), term.as_deref())
        } else {
            Liveness::of(stderr(), term.as_deref())
        };
        let style = Style::of_environment(variable, liveness);
        let screen = is_session.then(|| Screen::new(Box::new(std::io::stdout()), style, liveness));
        Ok(Self { screen, style, liveness, stop })
    }

    /// The message of a one-shot turn; `None` for an interactive session.
    pub(super) fn message(&self, arguments: &AgentArguments) -> Result<Option<String>> {
        if self.screen.is_some() {
            return Ok(None);
        }
        let message = match arguments.message.as_deref() {
            Some("-") | None => {
                ensure!(
                    arguments.message.is_some() || !stdin().is_terminal() || !arguments.json,
                    "`--json` needs a message: `-m TEXT`, or one on standard input"
                );
                one_shot::read_message()?
            }
            Some(text) => text.to_owned(),
        };
        ensure!(!message.trim().is_empty(), "the message is empty");
        Ok(Some(message))
    }

    /// The interrupt handler.
    pub(super) fn stop(&self) -> &Interrupt {
        &self.stop
    }

    /// The screen of a session.
    pub(super) fn screen(&self) -> Option<&Screen> {
        self.screen.as_ref()
    }

    /// The style of the trace on standard error.
    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// Whether lines can be redrawn.
    pub(super) fn liveness(&self) -> Liveness {
        self.liveness
    }

    /// Whether standard error is a terminal, and so gets a trace.
    pub(super) fn has_trace(&self) -> bool {
        stderr().is_terminal()
    }

    /// Whether a person reads standard output, so that control characters have to be escaped.
    pub(super) fn has_reader(&self) -> bool {
        stdout().is_terminal()
    }

    /// Whether a person can be asked.
    pub(super) fn has_person(&self) -> bool {
        stdin().is_terminal() && stderr().is_terminal()
    }

    /// The log profile: next to a trace, a failed call is not logged again; on a screen, log lines
    /// do not overwrite the status line.
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
