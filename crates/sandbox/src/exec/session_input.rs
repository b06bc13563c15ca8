//! Actions on a background session, each under a permit of its own.
//!
//! What is typed is the text that was judged.

use super::SessionAction;
use super::session::Session;
use crate::launch::{BackgroundError, State, TruncatedOutput};
use crate::permit::Permit;

/// The state of the session.
pub fn poll(permit: Permit<SessionAction>, session: &Session) -> State {
    let (_, outcome) = permit.spend();
    let state = session.state();
    outcome.settle_as("ok");
    state
}

/// The output since the last call, and the state of the session.
pub fn read(permit: Permit<SessionAction>, session: &Session) -> (TruncatedOutput, State) {
    let (_, outcome) = permit.spend();
    // The state first: output before the end is then not missed.
    let state = session.state();
    let output = session.take_output();
    outcome.settle_as("ok");
    (output, state)
}

/// Types the text that was judged.
pub fn write(permit: Permit<SessionAction>, session: &Session) -> Result<(), BackgroundError> {
    let (SessionAction(intent), outcome) = permit.spend();
    outcome.settle(session.write(&intent.input))
}

/// Presses the keys that were judged.
pub fn send_keys(permit: Permit<SessionAction>, session: &Session) -> Result<(), BackgroundError> {
    let (SessionAction(intent), outcome) = permit.spend();
    outcome.settle(session.send_keys(&intent.input))
}

/// Kills the session's process tree.
pub fn kill(permit: Permit<SessionAction>, session: &Session) -> State {
    let (_, outcome) = permit.spend();
    let state = session.kill();
    outcome.settle_as("ok");
    state
}

/// Records that the sessions were listed; the caller has the list.
pub fn list(permit: Permit<SessionAction>) {
    let (_, outcome) = permit.spend();
    outcome.settle_as("ok");
}
