//! `picoclaw token`: the named tokens of the gateway.

use crate::exit::Exit;
use crate::print;
use crate::settings::Settings;
use anyhow::Result;
use clap::Subcommand;
use picoclaw_agent::tokens::{NamedToken, Scope, Scopes, TokenStore, TokenStoreError};
use serde_json::json;

/// The subcommands of `picoclaw token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it; it is not shown again
    Add {
        /// Its name, which the audit log shows
        name: String,
        /// What it may do: any of chat, watch, approve, admin
        #[arg(long, required = true, value_delimiter = ',', value_name = "SCOPES")]
        scope: Vec<Scope>,
    },
    /// List the tokens with their scopes
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a token; a running gateway refuses it at once
    #[command(visible_alias = "remove")]
    Revoke {
        /// Its name
        name: String,
    },
}

/// Makes, lists or removes tokens.
pub(crate) fn run(command: &TokenCommand, settings: &Settings) -> Result<Exit> {
    let done = TokenStore::open(&settings.home).and_then(|store| match command {
        TokenCommand::Add { name, scope } => {
            let text = store.add(name, scope.iter().copied().collect())?;
            Ok((text, Some("picoclaw: this is shown once; only its hash is kept".to_owned())))
        }
        TokenCommand::List { json } => Ok((listing(&store.list()?, *json), None)),
        TokenCommand::Revoke { name } => {
            store.revoke(name)?;
            Ok((format!("✓ Revoked {name}"), None))
        }
    });
    match done {
        Ok((text, note)) => {
            note.iter().for_each(|note| print::note(note));
            if !text.is_empty() {
                print::line(&text)?;
            }
            Ok(Exit::Done)
        }
        Err(why) => {
            let hint = why.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            print::note(&format!("error: {why}{hint}"));
            Ok(if matches!(why, TokenStoreError::BadName(_)) { Exit::Usage } else { Exit::Refused })
        }
    }
}

fn listing(tokens: &[NamedToken], as_json: bool) -> String {
    let scopes = |scopes: &Scopes| scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>();
    if as_json {
        let rows = tokens.iter().map(|token| {
            json!({"name": token.name, "scopes": scopes(&token.scopes), "created_at": token.created_at})
        });
        return serde_json::Value::from_iter(rows).to_string();
    }
    let rows = tokens.iter().map(|token| {
        format!("{:<20}  {:<27}  {}", token.name, scopes(&token.scopes).join(","), token.created_at)
    });
    rows.collect::<Vec<_>>().join("\n")
}
