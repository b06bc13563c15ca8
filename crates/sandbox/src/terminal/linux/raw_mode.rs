//! Raw mode of a terminal of the user while this process is in the foreground of it.

use crate::launch::{UserTerminal, stream};
use picoclaw_sys::linux::is_foreground;
use rustix::termios::{OptionalActions, OutputModes, Termios, tcgetattr, tcsetattr};
use std::os::fd::AsFd;
use std::sync::{Mutex, Once, TryLockError};

/// For each standard stream, the settings of its terminal before raw mode; `None` while that is not
/// active. A panic ends the program without dropping anything, so its hook looks here.
static ORIGINALS: [Mutex<Option<Termios>>; 3] = [const { Mutex::new(None) }; 3];

/// A guard for raw mode. Dropping it restores the settings.
pub(super) struct RawMode {
    /// The stream through which the settings are changed.
    number: usize,
    /// Standard output is elsewhere: other commands of a pipeline may write to the terminal while
    /// it is raw.
    is_shared: bool,
    /// Whether the user's terminal goes on to process output in raw mode.
    processes_output: bool,
}

impl RawMode {
    /// A guard for this terminal, not active yet.
    pub(super) fn new(user: &UserTerminal) -> Self {
        restore_on_panic();
        Self { number: user.first(), is_shared: !user.has(1), processes_output: false }
    }

    /// Whether raw mode is active, and keys may be read.
    pub(super) fn is_active(&self) -> bool {
        with_original(self.number, |original| original.is_some()).unwrap_or(false)
    }

    /// Whether the user's terminal processes what is written to it, such as line ends.
    pub(super) fn processes_output(&self) -> bool {
        !self.is_active() || self.processes_output
    }

    /// Enters raw mode after a change to the foreground, and forgets it after a change to the
    /// background. In a terminal that is shared, output is processed if the child's terminal,
    /// `master`, processes it.
    pub(super) fn update(&mut self, user: &UserTerminal, master: impl AsFd) {
        if !user.is_available() {
            with_original(self.number, |original| *original = None);
            return;
        }
        let processes_output = self.is_shared && processes_output(master);
        if self.is_active() && processes_output == self.processes_output {
            return;
        }
        self.processes_output = processes_output;
        with_original(self.number, |original| {
            if original.is_none() {
                *original = tcgetattr(stream(self.number)).ok();
            }
        });
        self.reapply();
    }

    /// Sets raw mode again: after a stop that was not announced another process may have changed
    /// the settings.
    pub(super) fn reapply(&self) {
        let original = with_original(self.number, |original| original.clone()).flatten();
        if let Some(original) = original {
            let mut raw = original.clone();
            raw.make_raw();
            if self.processes_output {
                raw.output_modes = original.output_modes;
            }
            // Without discarding input: what was typed ahead is for the child.
            let _gone = tcsetattr(stream(self.number), OptionalActions::Drain, &raw);
        }
    }

    /// Restores the settings.
    pub(super) fn restore(&self) {
        restore(self.number);
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Whether a terminal turns line feeds into line ends.
pub(super) fn processes_output(terminal: impl AsFd) -> bool {
    let wanted = OutputModes::OPOST | OutputModes::ONLCR;
    tcgetattr(terminal).is_ok_and(|settings| settings.output_modes.contains(wanted))
}

/// `None` where a panic interrupted the change of it.
fn with_original<T>(number: usize, act: impl FnOnce(&mut Option<Termios>) -> T) -> Option<T> {
    match ORIGINALS.get(number)?.try_lock() {
        Ok(mut original) => Some(act(&mut original)),
        Err(TryLockError::Poisoned(original)) => Some(act(&mut original.into_inner())),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn restore(number: usize) {
    let original = with_original(number, Option::take).flatten();
    // In the background the settings are another job's.
    if let Some(original) = original.filter(|_| is_foreground(stream(number)) != Some(false)) {
        // The terminal may be gone.
        let _gone = tcsetattr(stream(number), OptionalActions::Drain, &original);
    }
}

fn restore_on_panic() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            (0..ORIGINALS.len()).for_each(restore);
            previous(panic);
        }));
    });
}
