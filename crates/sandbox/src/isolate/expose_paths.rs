//! Turns `isolation.expose_paths` into mount rules.
//!
//! Invariant: the source of a rule exists, and its target is none of the cage's own mounts.

use crate::isolate::error::PlanError;
use crate::isolate::host_files::{HostEntryKind, HostFiles};
use crate::isolate::mount_rules::{MountReason, MountRule};
use picoclaw_policy::config::Expose;
use std::path::{Component, Path};

/// The most exposures of one configuration.
const MAX_EXPOSURES: usize = 512;

/// Directories that the cage mounts itself.
const RESERVED: [&str; 3] = ["/proc", "/dev", "/sys"];

/// What is wrong with each configured exposure on this host.
pub fn exposure_faults(exposures: &[Expose], host: &dyn HostFiles) -> Vec<PlanError> {
    exposures.iter().filter_map(|exposure| rule(exposure, host).err()).collect()
}

/// Turns the configured exposures into rules.
pub(super) fn rules(exposures: &[Expose], host: &dyn HostFiles) -> Result<Vec<MountRule>, PlanError> {
    if exposures.len() > MAX_EXPOSURES {
        return Err(PlanError::TooMany { count: exposures.len(), most: MAX_EXPOSURES });
    }
    exposures.iter().map(|exposure| rule(exposure, host)).collect()
}

fn rule(exposure: &Expose, host: &dyn HostFiles) -> Result<MountRule, PlanError> {
    let (source, target) = (&exposure.source, &exposure.target);
    if source.as_os_str().is_empty() {
        return Err(PlanError::NoSource);
    }
    let target = if target.as_os_str().is_empty() { source } else { target };
    if !is_clean(source) || !is_clean(target) {
        return Err(PlanError::NotAbsolute { source_path: source.clone(), target: target.clone() });
    }
    if target == Path::new("/") || RESERVED.iter().any(|reserved| target.starts_with(reserved)) {
        return Err(PlanError::Reserved { target: target.clone() });
    }
    if RESERVED.iter().any(|reserved| source.starts_with(reserved)) {
        return Err(PlanError::KernelSource { path: source.clone() });
    }
    let found = host.find(source).ok_or_else(|| PlanError::Missing { path: source.clone() })?;
    if found.resolved == Path::new("/") && found.kind == HostEntryKind::Directory {
        return Err(PlanError::WholeHost);
    }
    Ok(MountRule::Bind {
        source: found.resolved,
        // One spelling for one target: without repeated slashes.
        target: target.components().collect(),
        mode: exposure.mode,
        kind: found.kind,
        reason: MountReason::Configured,
    })
}

/// Whether a path is absolute and has neither dots nor NUL bytes.
fn is_clean(path: &Path) -> bool {
    let plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
    path.is_absolute() && path.components().all(plain) && !path.as_os_str().as_encoded_bytes().contains(&0)
}
