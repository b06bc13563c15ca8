//! Events of the console: the interrupt key, and the end of the session.

use super::check;
use std::io;
use std::sync::{Mutex, PoisonError};
use windows_sys::Win32::System::Console::{CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::core::BOOL;

/// An event of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleEvent {
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Break, a closed window, a logoff or a shutdown. After the last three the system ends the program.
    End,
}

type Handler = Box<dyn Fn(ConsoleEvent) -> bool + Send>;

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// Calls `handle` for each event, on a thread of the system. The program ends by the event where it returns false. A second
/// call replaces the handler.
pub fn on_console_events(handle: impl Fn(ConsoleEvent) -> bool + Send + 'static) -> io::Result<()> {
    let replaced = HANDLER.lock().unwrap_or_else(PoisonError::into_inner).replace(Box::new(handle));
    if replaced.is_some() {
        return Ok(());
    }
    // SAFETY: the function has the signature that the call asks for and lives as long as the program.
    check(unsafe { SetConsoleCtrlHandler(Some(on_event), 1) })
}

/// # Safety
///
/// The system calls it, on a thread of its own.
unsafe extern "system" fn on_event(kind: u32) -> BOOL {
    let event = if kind == CTRL_C_EVENT { ConsoleEvent::Interrupt } else { ConsoleEvent::End };
    let handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
    handler.as_ref().is_some_and(|handle| handle(event)).into()
}
