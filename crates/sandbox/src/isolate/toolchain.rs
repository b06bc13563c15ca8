//! Toolchains that people keep in their home, shown read-only.
//!
//! Invariant: nothing here shows a directory that holds credentials.

use crate::isolate::host::HostFiles;
use crate::isolate::view::Rule;

/// The rules for `isolation.toolchains`.
pub(super) fn rules(_chosen: &str, _host: &dyn HostFiles) -> Vec<Rule> {
    Vec::new()
}
