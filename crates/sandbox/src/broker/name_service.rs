//! The files by which the programs of a cage find the broker's name server.

use crate::instance::Instance;
use crate::isolate::{HostEntryKind, MountReason, MountRule, Plan};
use crate::state_dir::{StateDir, StateError};
use picoclaw_policy::config::ExposeMode;
use std::net::Ipv4Addr;
use std::path::Path;

/// The address of the name server in the network of a cage. The range is reserved for benchmarks
/// (RFC 2544): no host is there, and no program takes it for the loopback.
pub(super) const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// Names of the loopback alone: what else the host's file names has an address that a cage does not
/// reach. `localhost` is where the broker may listen.
const HOSTS: &str = "127.0.0.1\tlocalhost\n::1\tip6-localhost ip6-loopback\n";

/// With the name of this host, which programs look up.
fn hosts() -> String {
    let names = rustix::system::uname();
    let own = names.nodename().to_string_lossy();
    let is_name = !own.is_empty() && own.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if is_name { format!("{HOSTS}127.0.1.1\t{own}\n") } else { HOSTS.to_owned() }
}

/// Shows `/etc/resolv.conf` and `/etc/hosts` of the instance's own in the place of the host's.
pub(crate) fn show_name_service(plan: &mut Plan, instance: &Instance) -> Result<(), StateError> {
    // Not in the user environment, where the child could put a link in its place.
    let directory = StateDir::open(instance.home(), "network")?;
    for (name, text) in [("resolv.conf", format!("nameserver {NAME_SERVER}\nsearch .\n")), ("hosts", hosts())]
    {
        let file = directory.ensure(name, text.as_bytes())?;
        let place = Path::new("/etc").join(name);
        plan.mounts.retain(|rule| rule.target() != place);
        plan.mounts.push(MountRule::Bind {
            source: file,
            target: place,
            mode: ExposeMode::ReadOnly,
            kind: HostEntryKind::File,
            reason: MountReason::Etc,
        });
    }
    Ok(())
}
