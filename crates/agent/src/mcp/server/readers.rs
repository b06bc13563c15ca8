//! Three readers: one reads, and the others answer what they have read, if that can be done on the spot.
//!
//! Whoever has a call for the quick way lets go of the input before it begins, and another one reads on. So a
//! file that is slow to come, or a client that does not listen, keeps nobody from hearing what is said next.
//! Two may answer at once, since a client's next call can be there before the last answer is quite put away.
//!
//! Invariant: one of the three is always reading; messages that are passed on keep their order.

use super::client::Client;
use super::frame;
use super::lines::{Heard, Lines};
use super::quick::Quick;
use super::sheet::Sheet;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use tokio::sync::mpsc;

const READERS: [&str; 3] = ["mcp-reader-1", "mcp-reader-2", "mcp-reader-3"];

/// What they have in common.
struct Desk {
    input: Mutex<Input>,
    /// Paper for an answer each: whoever has a sheet answers, and there is one less than there are readers.
    sheets: [Mutex<Sheet>; READERS.len() - 1],
    quick: Quick,
    client: Arc<Client>,
}

struct Input {
    lines: Lines,
    /// Where everything else goes; nowhere any more, once the input has ended.
    pass_on: Option<mpsc::Sender<Heard>>,
}

/// Lets them begin.
pub(super) fn start(
    input: Box<dyn Read + Send>,
    pass_on: mpsc::Sender<Heard>,
    quick: Quick,
    client: &Arc<Client>,
) -> io::Result<()> {
    let input = Input { lines: Lines::new(input), pass_on: Some(pass_on) };
    let (sheets, client) = (Default::default(), Arc::clone(client));
    let desk = Desk { input: Mutex::new(input), sheets, quick, client };
    let desk = Arc::new(desk);
    for name in READERS {
        let desk = Arc::clone(&desk);
        thread::Builder::new().name(name.to_owned()).spawn(move || desk.work())?;
    }
    Ok(())
}

impl Desk {
    fn work(&self) {
        loop {
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            let (taken, mut sheet) = loop {
                let heard = input.pass_on.is_some().then(|| input.lines.next()).flatten();
                let Some(heard) = heard else {
                    input.pass_on = None;
                    return;
                };
                if let Heard::Line(line) = &heard {
                    if let Some(sheet) = self.free_sheet()
                        && let Some(taken) = self.quick.take(line)
                    {
                        break (taken, sheet);
                    }
                    if frame::calls_roots_back(line) {
                        self.client.forget_roots();
                    }
                }
                let passed_on = input.pass_on.as_ref().is_some_and(|to| to.blocking_send(heard).is_ok());
                if !passed_on {
                    input.pass_on = None;
                    return;
                }
            };
            drop(input);
            self.quick.answer(taken, &mut sheet);
        }
    }

    fn free_sheet(&self) -> Option<MutexGuard<'_, Sheet>> {
        self.sheets.iter().find_map(|sheet| match sheet.try_lock() {
            Ok(sheet) => Some(sheet),
            Err(TryLockError::Poisoned(sheet)) => Some(sheet.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}
