//! Files that become instructions are text with a history: unless the operator trusts its content,
//! a turn that reads such a file is bounded by every agent on whose behalf it could have been
//! written.

use picoclaw_policy::AgentId;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::authors::{Authors, AuthorsError, Since};
use picoclaw_sandbox::state_dir::StateError;
use picoclaw_sandbox::trust::TrustedFiles;
use std::path::{Path, PathBuf};

/// A file that a turn reads as instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its path.
    pub path: PathBuf,
    /// The hash of its text; `None` when it is too long to be trusted.
    pub sha256: Option<String>,
}

/// The history of an instance's instruction files.
#[derive(Debug)]
pub struct InstructionHistory {
    authors: Authors,
    trusted: TrustedFiles,
    /// Every agent, with those that it may start.
    agents: Vec<(AgentId, Vec<String>)>,
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
            agents: config
                .agents
                .iter()
                .map(|agent| (agent.id.clone(), agent.allow_agents.clone()))
                .collect(),
        })
    }

    /// The agents that bound a turn of `owner` that reads these files. An unreadable history bounds
    /// by every agent.
    pub fn bounds(&self, owner: &AgentId, files: &[InstructionFile]) -> Vec<AgentId> {
        let Some(since) = self.untrusted_since(files) else { return Vec::new() };
        // The first version did not record who had started a subagent.
        let may_start = |allowed: &[String]| allowed.iter().any(|name| name == "*" || name == owner.as_str());
        let starters = self.agents.iter().filter(|(_, allowed)| may_start(allowed));
        let starters: Vec<AgentId> = starters.map(|(agent, _)| agent.clone()).collect();
        self.authors.of(owner, &since, &starters).unwrap_or_else(|why| {
            tracing::error!(target: "prompt", error = %why, "The history of the instructions is not known");
            self.agents.iter().map(|(agent, _)| agent).filter(|agent| *agent != owner).cloned().collect()
        })
    }

    /// Whether the operator trusts the content of a file.
    pub fn is_trusted(&self, file: &InstructionFile) -> bool {
        self.untrusted_since(std::slice::from_ref(file)).is_none()
    }

    /// The point since which one of the files may have been changed; `None` when all are trusted.
    fn untrusted_since(&self, files: &[InstructionFile]) -> Option<Since> {
        let trusted = self.trusted.read();
        let since = |file: &InstructionFile| match trusted.get(&file.path.display().to_string()) {
            Some(known) if file.sha256.as_ref() == Some(&known.sha256) => None,
            Some(known) => Some(known.since.clone()),
            None => Some(Since::default()),
        };
        let points: Vec<Since> = files.iter().filter_map(since).collect();
        // Points in different ledgers cannot be compared.
        let is_one = points.iter().all(|point| point.ledger == points[0].ledger);
        if is_one { points.into_iter().min_by_key(|point| point.seq) } else { Some(Since::default()) }
    }
}
