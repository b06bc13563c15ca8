//! Finds the agents and lends their sockets.

use super::{HostAgentError, HostAgents, LentAgents};
use crate::confine::{operator_home, runtime_dir};
use crate::isolate::{HostEntryKind, UserEnvironment};
use crate::launch::environment::{self, Variables};
use crate::printable::printable_path;
use picoclaw_policy::config::{Expose, ExposeMode};
use rustix::fs::FileType;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The restricted socket of a gpg-agent: it signs and decrypts, and neither exports nor changes a
/// key.
const GPG_SOCKET: &str = "S.gpg-agent.extra";

/// Public keys, of which a home of GnuPG has one. The trust in them stays outside: GnuPG fails
/// where it cannot write it.
const GPG_FILES: [&str; 2] = ["pubring.kbx", "pubring.gpg"];

impl HostAgents {
    /// Finds the agents that are asked for, as a command with this user environment will see them.
    pub(crate) fn find(self, host: &Variables, user: &UserEnvironment) -> Result<LentAgents, HostAgentError> {
        let mut lent = LentAgents::default();
        let home = operator_home(host);
        if self.ssh {
            lent.add_ssh(host, &home)?;
        }
        if self.gpg {
            lent.add_gpg(host, &home, user)?;
        }
        Ok(lent)
    }
}

/// Whether `path` is itself of this type, and this user's.
fn is_own(path: &Path, kind: FileType) -> bool {
    rustix::fs::lstat(path).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == kind && stat.st_uid == rustix::process::geteuid().as_raw()
    })
}

impl LentAgents {
    fn add_ssh(&mut self, host: &Variables, home: &Path) -> Result<(), HostAgentError> {
        let socket = environment::get(host, "SSH_AUTH_SOCK").filter(|path| !path.is_empty());
        let path = PathBuf::from(socket.ok_or(HostAgentError::NoSshAgent)?);
        UnixStream::connect(&path)
            .map_err(|source| HostAgentError::SilentSshAgent { path: path.clone(), source })?;
        let lent = runtime_dir().join("ssh-agent.sock");
        self.variables.push(("SSH_AUTH_SOCK".into(), lent.clone().into()));
        self.expose(path, lent, ExposeMode::ReadWrite);
        // ssh looks for the user's own file in the home that /etc/passwd names, and for these two
        // in any case.
        let system = PathBuf::from("/etc/ssh/ssh_known_hosts");
        for (known, at) in
            [(home.join(".ssh/known_hosts"), "/etc/ssh/ssh_known_hosts2".into()), (system.clone(), system)]
        {
            if known.is_file() {
                self.expose(known, at, ExposeMode::ReadOnly);
            }
        }
        Ok(())
    }

    fn add_gpg(
        &mut self,
        host: &Variables,
        home: &Path,
        user: &UserEnvironment,
    ) -> Result<(), HostAgentError> {
        let named = environment::get(host, "GNUPGHOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let gpg_home = named.clone().unwrap_or_else(|| home.join(".gnupg"));
        // A link is not followed: a project that has the home of GnuPG may have come with it.
        let gpg_home = gpg_home.canonicalize().unwrap_or(gpg_home);
        // Where there is a `/run/user/UID`, the agent of the default home has its sockets there.
        let runtime = runtime_dir().join("gnupg");
        let mut tried: Vec<_> = named.is_none().then(|| runtime.join(GPG_SOCKET)).into_iter().collect();
        tried.push(gpg_home.join(GPG_SOCKET));
        let Some(socket) = tried
            .iter()
            .find(|path| is_own(path, FileType::Socket) && UnixStream::connect(path).is_ok())
            .cloned()
        else {
            return Err(HostAgentError::NoGpgAgent { tried });
        };
        self.expose(socket, runtime.join("S.gpg-agent"), ExposeMode::ReadWrite);
        let lent_home = Path::new(".gnupg");
        let lent_home = user.mount_point(lent_home, HostEntryKind::Directory).map_err(|errno| {
            HostAgentError::GpgHome { path: user.path().join("home").join(lent_home), source: errno.into() }
        })?;
        for name in GPG_FILES {
            let keys = gpg_home.join(name);
            if is_own(&keys, FileType::RegularFile) {
                self.expose(keys, lent_home.join(name), ExposeMode::ReadOnly);
            } else if keys.exists() {
                let path = printable_path(&keys);
                tracing::warn!(target: "isolation", "`--gpg`: `{path}` is not shown: it is a link, or not your own file");
            }
        }
        // GnuPG uses directories that are open to their owner alone. Over the command's own home of
        // GnuPG lies an empty one, so that nothing of yours stays there and none of its keys is
        // replaced.
        self.private.extend([runtime, lent_home]);
        Ok(())
    }

    fn expose(&mut self, source: PathBuf, target: PathBuf, mode: ExposeMode) {
        self.exposures.push(Expose { source, target, mode });
    }
}
