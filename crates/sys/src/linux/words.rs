//! The words that this process was started with, as anybody can read them who sees it.
//!
//! Invariant: only memory that the kernel filled with arguments and environment is ever written to.

use crate::linux::own::own_stat;
use std::ptr;

/// Where the kernel put our arguments and, behind them, our environment.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    arguments: usize,
    environment_end: usize,
}

impl Words {
    /// As `/proc/self/stat` tells; `None` when it does not.
    pub(crate) fn find() -> Option<Self> {
        // Counted from the third field: the 48th is the first argument's address, the 51st the end of the environment.
        let mut addresses = own_stat().skip(45).filter_map(|field| field.parse::<usize>().ok());
        let (arguments, arguments_end) = (addresses.next()?, addresses.next()?);
        let environment_end = addresses.nth(1)?;
        let plausible = arguments != 0
            && arguments < arguments_end
            && arguments_end <= environment_end
            && environment_end - arguments < (8 << 20);
        plausible.then_some(Self { arguments, environment_end })
    }

    /// Wipes all of them, in a process with a memory of its own that reads them no more.
    pub(crate) fn forget(self) {
        wipe(self.arguments, self.environment_end);
    }
}

fn wipe(start: usize, end: usize) {
    // SAFETY: the kernel put arguments and environment there, on the main thread's stack, at our own start; it is writable
    // memory of this process, and every argument in it stays one, an empty one.
    unsafe { ptr::write_bytes(start as *mut u8, 0, end.saturating_sub(start)) };
}
