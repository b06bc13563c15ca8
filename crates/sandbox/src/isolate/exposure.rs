//! `isolation.expose_paths`: checked, merged, resolved.
//!
//! Invariant: every exposure that comes out has a source that is there and a target that is nobody else's.

use crate::isolate::error::PlanError;
use crate::isolate::host::{HostFiles, Kind};
use crate::isolate::view::{Rule, Why};
use picoclaw_policy::config::Expose;
use std::path::{Component, Path};

/// More than anybody needs, and few enough to mount in no time.
const MOST: usize = 512;

/// Places inside the cage that are its own, with all that is beneath them.
const RESERVED: [&str; 3] = ["/proc", "/dev", "/sys"];

/// What is wrong with the configured exposures on this host, each by itself.
pub fn exposure_faults(exposures: &[Expose], host: &dyn HostFiles) -> Vec<PlanError> {
    exposures.iter().filter_map(|exposure| rule(exposure, host).err()).collect()
}

/// Turns the configured exposures into rules.
pub(super) fn rules(exposures: &[Expose], host: &dyn HostFiles) -> Result<Vec<Rule>, PlanError> {
    if exposures.len() > MOST {
        return Err(PlanError::TooMany { count: exposures.len(), most: MOST });
    }
    exposures.iter().map(|exposure| rule(exposure, host)).collect()
}

fn rule(exposure: &Expose, host: &dyn HostFiles) -> Result<Rule, PlanError> {
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
    if found.resolved == Path::new("/") && found.kind == Kind::Directory {
        return Err(PlanError::WholeHost);
    }
    Ok(Rule::Show {
        source: found.resolved,
        // Without the repeated slashes that somebody may have written: one place, one spelling.
        target: target.components().collect(),
        mode: exposure.mode,
        kind: found.kind,
        why: Why::Configured,
    })
}

/// Absolute, without dots and without NUL bytes: what is written is what is meant.
fn is_clean(path: &Path) -> bool {
    let plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
    path.is_absolute() && path.components().all(plain) && !path.as_os_str().as_encoded_bytes().contains(&0)
}
