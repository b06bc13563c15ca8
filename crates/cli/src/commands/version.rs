//! `picoclaw version`.

use crate::arguments::Listing;
use crate::exit::Exit;
use crate::print;
use anyhow::Result;

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints the version.
pub(crate) fn run(listing: &Listing) -> Result<Exit> {
    if listing.json {
        let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        print::line(&serde_json::json!({"version": VERSION, "target": target}).to_string())?;
    } else {
        print::line(&format!("picoclaw {VERSION}"))?;
    }
    Ok(Exit::Done)
}
