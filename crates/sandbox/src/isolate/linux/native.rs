//! The native backend: namespaces, and the steps that the new process takes in them.

use crate::isolate::error::IsolateError;
use crate::isolate::linux::proc_masks::mask_steps;
use crate::isolate::linux::rootfs::{c_string, console, rootfs_steps};
use crate::isolate::plan::Plan;
use picoclaw_policy::config::Network;
use picoclaw_sys::linux::Step;
use std::ffi::CString;
use std::path::Path;

/// The namespaces of a cage.
pub(super) fn namespaces(network: &Network) -> u32 {
    let always = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    match network {
        Network::Host => always as u32,
        Network::None | Network::Allow(_) => (always | libc::CLONE_NEWNET) as u32,
    }
}

/// What the first process of the namespaces does before the command starts, with a `/proc` of its
/// own or the host's.
pub(super) fn setup(plan: &Plan, shows_host_proc: bool) -> Result<Vec<Step>, IsolateError> {
    let mut steps = vec![map_own_ids()?];
    steps.extend(shows_host_proc.then_some(Step::HostProc));
    if !plan.network.is_open() {
        // Before the root changes: the `/proc` of the cage is read-only.
        steps.push(Step::LoopbackUp);
    }
    steps.extend(rootfs_steps(plan)?);
    steps.push(Step::Proc(pid_max(plan)));
    steps.extend(mask_steps()?);
    steps.extend([Step::Devpts, Step::Mqueue, console()?, Step::PivotRoot]);
    Ok(steps)
}

/// Maps the user and the group to themselves, and no other.
fn map_own_ids() -> Result<Step, IsolateError> {
    let line = |id: u32| c_string(Path::new(&format!("{id} {id} 1\n")));
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Ok(Step::MapIds(line(user)?, line(group)?))
}

/// `kernel.pid_max` for the process limit. The kernel takes no less than 301, and two processes are
/// the cage's own.
fn pid_max(plan: &Plan) -> Option<CString> {
    let limit = plan.limits.processes;
    if limit == 0 {
        None
    } else {
        CString::new(limit.saturating_add(2).clamp(301, 4_194_304).to_string()).ok()
    }
}
