//! The console: its events, its size and its modes.

use super::check;
use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle};
use std::sync::{Mutex, PoisonError};
use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, CONSOLE_SCREEN_BUFFER_INFO, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT,
    CTRL_SHUTDOWN_EVENT, ENABLE_ECHO_INPUT, FlushConsoleInputBuffer, GetConsoleMode,
    GetConsoleScreenBufferInfo, SetConsoleCtrlHandler, SetConsoleMode,
};
use windows_sys::core::BOOL;

/// An event of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleEvent {
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Break, a closed window, a logoff or a shutdown. After the last three the system ends
    /// the program.
    End,
}

type Handler = Box<dyn Fn(ConsoleEvent) -> bool + Send>;

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// Calls `handle` for each event, on a thread of the system. The program ends by the event where it
/// returns false. A second call replaces the handler.
pub fn on_console_events(handle: impl Fn(ConsoleEvent) -> bool + Send + 'static) -> io::Result<()> {
    let replaced = HANDLER.lock().unwrap_or_else(PoisonError::into_inner).replace(Box::new(handle));
    if replaced.is_some() {
        return Ok(());
    }
    // SAFETY: the function has the signature that the call asks for and lives as long as the
    // program.
    check(unsafe { SetConsoleCtrlHandler(Some(on_event), 1) })
}

/// # Safety
///
/// The system calls it, on a thread of its own.
unsafe extern "system" fn on_event(kind: u32) -> BOOL {
    let event = if kind == CTRL_C_EVENT { ConsoleEvent::Interrupt } else { ConsoleEvent::End };
    let handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
    let is_handled = handler.as_ref().is_some_and(|handle| handle(event));
    drop(handler);
    // When the window is closed, and at logoff and shutdown, the system ends the program once this
    // returns.
    while is_handled && [CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT].contains(&kind) {
        std::thread::park();
    }
    is_handled.into()
}

/// Columns and rows of the window of a console.
pub fn window_size(output: BorrowedHandle<'_>) -> io::Result<(u16, u16)> {
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is open, and the result is written to a local.
    check(unsafe { GetConsoleScreenBufferInfo(output.as_raw_handle(), &raw mut info) })?;
    let window = info.srWindow;
    let count = |first: i16, last: i16| u16::try_from(i32::from(last) - i32::from(first) + 1).unwrap_or(0);
    Ok((count(window.Left, window.Right), count(window.Top, window.Bottom)))
}

/// The modes of a console's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes(CONSOLE_MODE);

impl Modes {
    /// The same without echo.
    #[must_use]
    pub fn without_echo(self) -> Self {
        Self(self.0 & !ENABLE_ECHO_INPUT)
    }
}

/// The modes that a console's input has now.
pub fn modes(input: BorrowedHandle<'_>) -> io::Result<Modes> {
    let mut modes = 0;
    // SAFETY: the handle is open, and the result is written to a local.
    check(unsafe { GetConsoleMode(input.as_raw_handle(), &raw mut modes) })?;
    Ok(Modes(modes))
}

/// Sets the modes of a console's input.
pub fn set_modes(input: BorrowedHandle<'_>, modes: Modes) -> io::Result<()> {
    // SAFETY: the handle is open.
    check(unsafe { SetConsoleMode(input.as_raw_handle(), modes.0) })
}

/// Discards what was typed and not read.
pub fn discard_input(input: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: the handle is open.
    check(unsafe { FlushConsoleInputBuffer(input.as_raw_handle()) })
}
