//! `picoclaw version`.

use crate::arguments::Listing;
use crate::exit::Exit;
use crate::print;
use anyhow::Result;

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints the version; as JSON also the commit it was built from (`null` outside a git checkout),
/// the target and the optional features that were compiled in.
pub(crate) fn run(listing: &Listing) -> Result<Exit> {
    if listing.json {
        let features: [&str; 0] = [];
        let commit = option_env!("PICOCLAW_COMMIT").filter(|commit| !commit.is_empty());
        let version = serde_json::json!({
            "version": VERSION,
            "commit": commit,
            "target": env!("PICOCLAW_TARGET"),
            "features": features,
        });
        print::line(&version.to_string())?;
    } else {
        print::line(&format!("picoclaw {VERSION}"))?;
    }
    Ok(Exit::Done)
}
