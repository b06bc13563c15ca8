//! A message from standard input.
//!
//! Invariant: it is text, whole, and of a bounded size.

use anyhow::{Context, Result, bail};
use std::io::Read;

/// The largest message.
const MOST: u64 = 4 << 20;

/// Everything that standard input holds.
pub(super) fn of_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    if read.context("could not read the message from standard input")? as u64 > MOST {
        bail!("the message is longer than {MOST} bytes\nhint: put it into a file of the workspace");
    }
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("the message on standard input is not UTF-8"))
}
