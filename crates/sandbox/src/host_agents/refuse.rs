//! Where there are no UNIX sockets to lend.

use super::{HostAgentError, HostAgents, LentAgents};
use crate::isolate::UserEnvironment;
use crate::launch::environment::Variables;

impl HostAgents {
    /// Refuses each agent by its flag.
    pub(crate) fn find(
        self,
        _host: &Variables,
        _user: &UserEnvironment,
    ) -> Result<LentAgents, HostAgentError> {
        match self {
            Self { ssh: true, .. } => Err(HostAgentError::LinuxOnly { flag: "--ssh-agent" }),
            Self { gpg: true, .. } => Err(HostAgentError::LinuxOnly { flag: "--gpg" }),
            _ => Ok(LentAgents::default()),
        }
    }
}
