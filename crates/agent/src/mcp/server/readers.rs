//! Three readers: one reads, and answers what it has read, if that can be done on the spot.
//!
//! Whoever has a call for the quick way lays the input down before it begins, and nearly always finds it there
//! afterwards: most calls are over before another thread would be awake. One of the others looks now and then while there
//! is something to do, and takes up an input that has lain for a moment; at once where the next line is there already.
//! So a file that is slow to come, or a client that does not listen, keeps nobody from hearing what is said next. Two
//! may answer at once, since a client need not wait for its answers.
//!
//! Invariant: an input lies for two moments ([`MOMENT`]) at most; messages that are passed on keep their order.

use super::client::Client;
use super::frame;
use super::lines::{Heard, Lines};
use super::quick::{Quick, Taken};
use super::sheet::Sheet;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc;

const READERS: [&str; 3] = ["mcp-reader-1", "mcp-reader-2", "mcp-reader-3"];

/// How long an input may lie, beside a call, before another one takes it up.
const MOMENT: Duration = Duration::from_millis(4);

/// After so many looks at which nothing has happened, nobody looks any more until something does.
const LOOKS: u32 = 16;

/// What they have in common.
struct Desk {
    table: Mutex<Table>,
    /// Rung when the input is laid down, and nobody would look or somebody should at once.
    bell: Condvar,
    /// Paper for an answer each: whoever has a sheet answers, and there is one less than there are readers.
    sheets: [Mutex<Sheet>; READERS.len() - 1],
    quick: Quick,
    client: Arc<Client>,
}

/// Where the input lies while nobody reads.
#[derive(Default)]
struct Table {
    input: Option<Input>,
    /// How often it was laid down.
    times: u64,
    /// Whether somebody looks at it again within a moment.
    is_watched: bool,
    is_over: bool,
}

impl Table {
    /// Whether more was heard already than is being answered.
    fn is_urgent(&self) -> bool {
        self.input.as_ref().is_some_and(|input| input.lines.are_ahead())
    }
}

struct Input {
    lines: Lines,
    /// Where everything else goes.
    pass_on: mpsc::Sender<Heard>,
}

/// Lets them begin.
pub(super) fn start(
    input: Box<dyn Read + Send>,
    pass_on: mpsc::Sender<Heard>,
    quick: Quick,
    client: &Arc<Client>,
) -> io::Result<()> {
    let input = Input { lines: Lines::new(input), pass_on };
    let table = Mutex::new(Table { input: Some(input), ..Table::default() });
    let (bell, sheets, client) = (Condvar::new(), Default::default(), Arc::clone(client));
    let desk = Arc::new(Desk { table, bell, sheets, quick, client });
    for name in READERS {
        let desk = Arc::clone(&desk);
        thread::Builder::new().name(name.to_owned()).spawn(move || desk.work())?;
    }
    Ok(())
}

impl Desk {
    fn work(&self) {
        while let Some(mut input) = self.pick_up() {
            let Some((taken, mut sheet)) = self.read(&mut input) else { return self.close() };
            self.lay_down(input);
            self.quick.answer(taken, &mut sheet);
        }
    }

    /// Reads until there is a call to be answered here, and passes on everything else; `None` when it is all over.
    fn read(&self, input: &mut Input) -> Option<(Taken<'_>, MutexGuard<'_, Sheet>)> {
        loop {
            let heard = input.lines.next()?;
            if let Heard::Line(line) = &heard {
                if let Some(sheet) = self.free_sheet()
                    && let Some(taken) = self.quick.take(line)
                {
                    return Some((taken, sheet));
                }
                if frame::calls_roots_back(line) {
                    self.client.forget_roots();
                }
            }
            input.pass_on.blocking_send(heard).ok()?;
        }
    }

    /// Takes the input up; whoever comes from an answer nearly always finds it. `None` when it is all over.
    fn pick_up(&self) -> Option<Input> {
        let mut table = self.table();
        if table.input.is_none() {
            table = self.stand_by(table);
        }
        table.input.take()
    }

    /// Waits until the input has lain for too long, or all is over.
    fn stand_by<'t>(&'t self, mut table: MutexGuard<'t, Table>) -> MutexGuard<'t, Table> {
        let mut idle = LOOKS;
        while !table.is_over && !table.is_urgent() {
            if table.is_watched || idle == LOOKS {
                table = self.bell.wait(table).unwrap_or_else(PoisonError::into_inner);
                idle = 0;
                continue;
            }
            let times = table.times;
            table.is_watched = true;
            let waited = self.bell.wait_timeout(table, MOMENT);
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
            table.is_watched = false;
            match table.times == times {
                true if table.input.is_some() => break,
                true => idle += 1,
                false => idle = 0,
            }
        }
        table
    }

    fn lay_down(&self, input: Input) {
        let mut table = self.table();
        table.times += 1;
        table.input = Some(input);
        if !table.is_watched || table.is_urgent() {
            self.bell.notify_one();
        }
    }

    fn close(&self) {
        self.table().is_over = true;
        self.bell.notify_all();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free_sheet(&self) -> Option<MutexGuard<'_, Sheet>> {
        self.sheets.iter().find_map(|sheet| match sheet.try_lock() {
            Ok(sheet) => Some(sheet),
            Err(TryLockError::Poisoned(sheet)) => Some(sheet.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}
