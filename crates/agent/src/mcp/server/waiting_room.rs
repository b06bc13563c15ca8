//! Questions that wait for the client's retry: bounded in number and time, each bound to its call.
//!
//! Invariant: a question is answered once, for the call that asked it, or not at all.

use crate::call::Call;
use crate::tools::PendingCall;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// How many questions may wait at once.
const MOST: usize = 32;

/// Everyone who waits, by ticket.
#[derive(Debug, Default)]
pub(super) struct WaitingRoom(Mutex<BTreeMap<String, Waiting>>);

/// One question and the call that it belongs to.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) asked: PendingCall,
    print: [u8; 32],
}

impl Waiting {
    /// Whether `call` is the call that asked.
    pub(super) fn belongs_to(&self, call: &Call) -> bool {
        self.print == print(call)
    }
}

impl WaitingRoom {
    /// Lets a question wait, and hands out its ticket; the question comes back when there is no room.
    pub(super) fn enter(&self, asked: PendingCall, call: &Call) -> Result<String, Box<PendingCall>> {
        let mut room = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if room.len() >= MOST {
            return Err(Box::new(asked));
        }
        let ticket = ticket();
        room.insert(ticket.clone(), Waiting { asked, print: print(call) });
        Ok(ticket)
    }

    /// Whoever has this ticket, called out of the room.
    pub(super) fn leave(&self, ticket: &str) -> Option<Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(ticket)
    }
}

/// What a call is, in 32 bytes: tool, arguments, and on whose behalf.
fn print(call: &Call) -> [u8; 32] {
    let mut hash = Sha256::new();
    // The order of the members is no part of what is meant.
    let members: BTreeMap<_, _> = call.arguments.as_object().into_iter().flatten().collect();
    let arguments = format!("{members:?}");
    for part in [&call.tool, &arguments, call.subject.agent.as_str(), &call.subject.session] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// A name that nobody can guess: the hashers' keys are the system's own randomness.
fn ticket() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}
