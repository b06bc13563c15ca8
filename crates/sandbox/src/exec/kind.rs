//! The two kinds of effect that commands come with: running one, and attending to one that runs.
//!
//! Invariant: a kind holds what was judged; nothing is looked up again.

use crate::permit::{Kind, Sealed};
use crate::root::{Place, RootError};
use picoclaw_policy::shell::guard::Judgement;
use picoclaw_policy::{ExecIntent, Intent, SessionIntent};
use std::os::fd::OwnedFd;

/// Running a command.
#[derive(Debug)]
pub struct Exec {
    pub(crate) intent: ExecIntent,
    pub(crate) place: Option<Place>,
    /// What the kernel will hold of it, as the ledger names it.
    pub(crate) layers: Vec<String>,
}

/// Doing something with a background session.
#[derive(Debug)]
pub struct Attend(pub SessionIntent);

impl Sealed for Exec {}
impl Sealed for Attend {}

impl Kind for Exec {
    fn intent(&self) -> Intent {
        Intent::Exec(self.intent.clone())
    }

    fn enforced(&self) -> Vec<String> {
        self.layers.clone()
    }
}

impl Kind for Attend {
    fn intent(&self) -> Intent {
        Intent::Session(self.0.clone())
    }
}

impl Exec {
    /// What the guard found, for whoever wants to explain it.
    pub fn judgement(&self) -> &Judgement {
        &self.intent.judgement
    }

    /// A hold on the directory that was judged.
    pub(crate) fn enter(&self) -> Result<OwnedFd, RootError> {
        let outside = || RootError::Escapes { path: self.intent.cwd.asked.as_path().to_owned() };
        self.place.as_ref().ok_or_else(outside)?.enter()
    }
}
