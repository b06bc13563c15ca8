//! Files that become instructions are text with a history: unless the operator blessed its content, a
//! turn that reads such a file is bounded by every agent on whose behalf it could have been written.

use picoclaw_policy::AgentId;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::authors::{Authors, AuthorsError};
use picoclaw_sandbox::state_dir::StateError;
use picoclaw_sandbox::trust::TrustedFiles;
use std::path::{Path, PathBuf};

/// A file that a turn reads as instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its path.
    pub path: PathBuf,
    /// The hash of its text; `None` when it is too long to be blessed.
    pub sha256: Option<String>,
}

/// The history of an instance's instruction files.
#[derive(Debug)]
pub struct InstructionHistory {
    authors: Authors,
    trusted: TrustedFiles,
    agents: Vec<AgentId>,
}

/// Why the history is not known.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// A state file cannot be opened.
    #[error(transparent)]
    State(#[from] StateError),
    /// The ledger cannot be read.
    #[error(transparent)]
    Authors(#[from] AuthorsError),
}

impl InstructionHistory {
    /// The history in the instance at `home`.
    pub fn open(home: &Path, config: &Config) -> Result<Self, HistoryError> {
        Ok(Self {
            authors: Authors::open(home)?,
            trusted: TrustedFiles::open(home)?,
            agents: config.agents.iter().map(|agent| agent.id.clone()).collect(),
        })
    }

    /// The agents that bound a turn of `owner` that reads these files. An unreadable history bounds by every
    /// agent.
    pub fn bounds(&self, owner: &AgentId, files: &[InstructionFile]) -> Vec<AgentId> {
        let Some(since) = self.unblessed_since(files) else { return Vec::new() };
        self.authors.of(owner, since, &self.agents).unwrap_or_else(|why| {
            tracing::error!(target: "prompt", error = %why, "The history of the instructions is not known");
            self.agents.iter().filter(|agent| *agent != owner).cloned().collect()
        })
    }

    /// Whether the operator blessed the content of a file.
    pub fn is_blessed(&self, file: &InstructionFile) -> bool {
        self.unblessed_since(std::slice::from_ref(file)).is_none()
    }

    /// The record since which one of the files may have been changed; `None` when all are blessed.
    fn unblessed_since(&self, files: &[InstructionFile]) -> Option<u64> {
        if files.is_empty() {
            return None;
        }
        let trusted = self.trusted.read();
        let since = |file: &InstructionFile| match trusted.get(&file.path.display().to_string()) {
            Some(known) if file.sha256.as_ref() == Some(&known.sha256) => None,
            Some(known) => Some(known.seq),
            None => Some(0),
        };
        files.iter().filter_map(since).min()
    }
}
