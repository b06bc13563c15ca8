//! Attending to a background session: each action spends a permit of its own.
//!
//! Invariant: what is typed is what was judged.

use super::kind::Attend;
use super::session::Session;
use crate::launch::{BackgroundError, State, TruncatedOutput};
use crate::permit::Permit;

/// How the session stands.
pub fn poll(permit: Permit<Attend>, session: &Session) -> State {
    let (_, settling) = permit.spend();
    let state = session.state();
    settling.settle_as("ok");
    state
}

/// What the session said since the last time, and how it stands.
pub fn read(permit: Permit<Attend>, session: &Session) -> (TruncatedOutput, State) {
    let (_, settling) = permit.spend();
    // The state first: what is said before the end is then not missed.
    let state = session.state();
    let output = session.take_output();
    settling.settle_as("ok");
    (output, state)
}

/// Types the text that was judged.
pub fn write(permit: Permit<Attend>, session: &Session) -> Result<(), BackgroundError> {
    let (Attend(intent), settling) = permit.spend();
    settling.settle(session.write(&intent.input))
}

/// Presses the keys that were judged.
pub fn send_keys(permit: Permit<Attend>, session: &Session) -> Result<(), BackgroundError> {
    let (Attend(intent), settling) = permit.spend();
    settling.settle(session.send_keys(&intent.input))
}

/// Ends the session and everything that it started.
pub fn kill(permit: Permit<Attend>, session: &Session) -> State {
    let (_, settling) = permit.spend();
    let state = session.kill();
    settling.settle_as("ok");
    state
}

/// Pays for naming the sessions; the names are the caller's own.
pub fn list(permit: Permit<Attend>) {
    let (_, settling) = permit.spend();
    settling.settle_as("ok");
}
