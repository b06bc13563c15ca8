//! `picoclaw approvals`: the acts that a person answered with *always*.

use crate::arguments::Listing;
use crate::exit::Exit;
use crate::print;
use crate::settings::Settings;
use anyhow::Result;
use clap::Subcommand;
use picoclaw_sandbox::always::{AlwaysRule, AlwaysRules};
use picoclaw_sandbox::{printable, printable_json};

/// The subcommands of `picoclaw approvals`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the acts that are always allowed
    List(Listing),
    /// Remove one from the list, so that it is asked about again
    Revoke {
        /// Its id in the list
        id: String,
    },
}

/// Lists or revokes rules.
pub(crate) fn run(command: &ApprovalsCommand, settings: &Settings) -> Result<Exit> {
    let always = AlwaysRules::open(&settings.home)?;
    match command {
        ApprovalsCommand::List(listing) => {
            let rules = always.list()?;
            if listing.json {
                print::line(&printable_json(&rules)?)?;
            } else if rules.is_empty() {
                print::line("nothing is always allowed")?;
            }
            for rule in rules.iter().filter(|_| !listing.json) {
                print::line(&rule_line(rule))?;
            }
            Ok(Exit::Done)
        }
        ApprovalsCommand::Revoke { id } if always.revoke(id)? => {
            print::line(&format!("revoked {}", printable(id)))?;
            Ok(Exit::Done)
        }
        ApprovalsCommand::Revoke { id } => {
            print::note(&format!(
                "error: there is no rule `{}`\nhint: `picoclaw approvals list` shows them",
                printable(id)
            ));
            Ok(Exit::Refused)
        }
    }
}

/// One rule on one line.
pub(crate) fn rule_line(rule: &AlwaysRule) -> String {
    let path = rule.path.as_ref().map(|path| format!(" in {}", printable(path))).unwrap_or_default();
    format!(
        "{}  {} of {}{path}: {}  (by {}, {})",
        printable(&rule.id),
        printable(&rule.tool),
        printable(&rule.agent),
        printable(&rule.text),
        printable(&rule.by),
        printable(&rule.at)
    )
}
