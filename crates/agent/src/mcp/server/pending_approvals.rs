//! Questions that wait for the client's retry. Each is bound to its call and answered at most once.

use crate::call::Call;
use crate::tools::PendingCall;
use picoclaw_sandbox::presence::random_token;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Questions that may wait at once.
const MAX_PENDING: usize = 32;

/// The waiting questions by ticket.
#[derive(Debug, Default)]
pub(super) struct PendingApprovals(Mutex<BTreeMap<String, PendingApproval>>);

/// A question and the call that it belongs to.
#[derive(Debug)]
pub(super) struct PendingApproval {
    pub(super) asked: PendingCall,
    call_hash: [u8; 32],
}

impl PendingApproval {
    /// Whether `call` is the call that the question is about.
    pub(super) fn belongs_to(&self, call: &Call) -> bool {
        self.call_hash == call_hash(call)
    }
}

impl PendingApprovals {
    /// Adds a question and returns its ticket; gives it back when the limit is reached.
    pub(super) fn add(&self, asked: PendingCall, call: &Call) -> Result<String, Box<PendingCall>> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.len() >= MAX_PENDING {
            return Err(Box::new(asked));
        }
        let Ok(ticket) = random_token() else { return Err(Box::new(asked)) };
        pending.insert(ticket.clone(), PendingApproval { asked, call_hash: call_hash(call) });
        Ok(ticket)
    }

    /// Removes the question with this ticket.
    pub(super) fn take(&self, ticket: &str) -> Option<PendingApproval> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(ticket)
    }
}

/// A hash of tool, arguments, agent and session; the order of the arguments does not matter.
fn call_hash(call: &Call) -> [u8; 32] {
    let mut hash = Sha256::new();
    let members: BTreeMap<_, _> = call.arguments.as_object().into_iter().flatten().collect();
    let arguments = format!("{members:?}");
    for part in [&call.tool, &arguments, call.subject.agent.as_str(), &call.subject.session] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
