//! The events of the console.

use super::{SignalAction, SignalEvent};
pub use picoclaw_sys::windows::console;
use picoclaw_sys::windows::console::{ConsoleEvent, on_console_events};
use std::io;

/// Calls `handle` for each event of the console, on a thread of its own.
pub fn on_signals(handle: impl Fn(SignalEvent) -> SignalAction + Send + 'static) -> io::Result<()> {
    on_console_events(move |event| {
        let event = match event {
            ConsoleEvent::Interrupt => SignalEvent::Interrupt,
            ConsoleEvent::End => SignalEvent::Terminate,
        };
        handle(event) == SignalAction::Continue
    })
}

/// There is no job control.
pub fn suspend_program() {}
