//! `picoclaw trust FILE`: trusts the content of an instruction file.

use crate::arguments::TrustArguments;
use crate::exit::{self, Exit};
use crate::settings::Settings;
use crate::{app, print};
use anyhow::{Context, Result, bail};
use picoclaw_agent::run::PromptSources;
use picoclaw_policy::{Grant, Origin, Verdict};
use picoclaw_sandbox::authors::Authors;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::ledger::Entry;
use picoclaw_sandbox::printable_path;
use picoclaw_sandbox::trust::TrustedFiles;
use std::path::PathBuf;
use std::time::Duration;

/// Trusts the files as they are now.
pub(crate) fn run(arguments: &TrustArguments, settings: &Settings) -> Result<Exit> {
    let instance = app::open_instance(settings)?;
    let mut files = Vec::new();
    for path in &arguments.files {
        match hash(path, &instance) {
            Ok(file) => files.push(file),
            Err(why) => return Ok(exit::bad_usage(&why)),
        }
    }
    let ledger = app::open_ledger(&instance, &settings.config)?;
    let trusted = TrustedFiles::open(instance.home())?;
    let subject = app::subject(settings, None, Origin::Cli)?;
    for (path, sha256) in files {
        let intent = format!("trust {}: sha256 {sha256}", path.display());
        let grant = Grant { rule: "the operator's own command".to_owned() };
        let decided = Entry::decided(&subject, "trust", &intent, &Verdict::Allow(grant));
        ledger.append(&[decided.clone(), decided.finished("ok", Duration::ZERO)])?;
        trusted.add(&path, &sha256, Authors::open(instance.home())?.now()?)?;
        print::line(&format!("trusted {} (sha256 {sha256})", path.display()))?;
    }
    Ok(Exit::Done)
}

/// The path of a file in a workspace as prompts name it, and the hash of its text.
fn hash(path: &PathBuf, instance: &Instance) -> Result<(PathBuf, String)> {
    let path = std::path::absolute(path)?;
    let path = std::fs::canonicalize(&path)
        .with_context(|| format!("there is no file `{}`", printable_path(&path)))?;
    let file = PromptSources::open(instance)?.instruction_file(&path)?;
    let Some(file) = file else {
        bail!(
            "`{}` is in no agent's workspace\nhint: instructions are read from workspaces alone",
            printable_path(&path)
        );
    };
    let sha256 = file
        .sha256
        .with_context(|| format!("`{}` is too long to be read whole", printable_path(&file.path)))?;
    Ok((file.path, sha256))
}
