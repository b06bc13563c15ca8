//! Profiles: `picoclaw profile`, and what one comes to in `picoclaw run`.

use crate::arguments::Listing;
use crate::exit::{self, Exit};
use crate::print;
use crate::settings::{FoundProfile, ProcessEnv, Profiles, Settings};
use anyhow::{Context, Result, bail, ensure};
use clap::Subcommand;
use picoclaw_policy::config::{ExposeMode, Network};
use picoclaw_policy::{HomeEntry, Profile, home_path_fault};
use picoclaw_sandbox::exec::HomeMount;
use picoclaw_sandbox::{printable, printable_path};
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;

/// The subcommands of `picoclaw profile`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the profiles: those that are built in, and your own in `<home>/profiles/NAME.toml`
    List(Listing),
    /// Print a profile as it is written, to read it or to start one of your own
    Show {
        /// Its name
        name: String,
    },
    /// Validate a profile, and show what it exposes on this machine
    Check {
        /// Its name
        name: String,
    },
}

/// Lists, shows or checks profiles.
pub(crate) fn run(command: &ProfileCommand, loaded: &Settings, process_env: &ProcessEnv) -> Result<Exit> {
    let profiles = Profiles::of(&loaded.home);
    let done = match command {
        ProfileCommand::List(listing) => Ok(list(&profiles, listing)),
        ProfileCommand::Show { name } => profiles.load(name).map(|found| found.text),
        ProfileCommand::Check { name } => check(name, loaded, process_env),
    };
    match done {
        Ok(text) => print::line(&print::untrusted(&text)).map(|()| Exit::Done).map_err(Into::into),
        Err(why) => Ok(exit::bad_usage(&why)),
    }
}

fn list(profiles: &Profiles, listing: &Listing) -> String {
    let names = profiles.names();
    if listing.json {
        let row = |name: &String| match profiles.load(name) {
            Ok(FoundProfile { profile, file, .. }) => {
                json!({"name": name, "description": profile.description, "file": file})
            }
            Err(why) => json!({"name": name, "error": format!("{why:#}")}),
        };
        return serde_json::Value::from_iter(names.iter().map(row)).to_string();
    }
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let line = |name: &String| {
        let said = match profiles.load(name) {
            Ok(FoundProfile { profile, file: None, .. }) => profile.description,
            Ok(FoundProfile { profile, file: Some(file), .. }) => {
                format!("{} ({})", profile.description, file.display())
            }
            Err(why) => format!("cannot be used: {why:#}"),
        };
        format!("{name:width$}  {said}\n")
    };
    names.iter().map(line).collect()
}

fn check(name: &str, loaded: &Settings, process_env: &ProcessEnv) -> Result<String> {
    let AppliedProfile { profile, home } = AppliedProfile::load(name, loaded, process_env)?;
    let mut lines = vec![format!("`{name}` is valid")];
    for entry in &profile.home {
        let is_here = home.iter().any(|mount| mount.place == entry.to);
        let state = if is_here { "found" } else { "not there" };
        lines.push(format!("~/{}: {}, {state}", entry.path.display(), access(entry.mode)));
    }
    for variable in &profile.pass {
        let state = if process_env.variable(variable).is_some() { "set" } else { "not set" };
        lines.push(format!("{variable}: passes, {state}"));
    }
    lines.extend(profile.env.iter().map(|(name, value)| format!("{name}: set to `{value}`")));
    lines.push(format!("network: open; it talks to {}", profile.hosts.join(", ")));
    lines.extend(profile.note);
    Ok(lines.join("\n"))
}

/// A profile on this machine.
#[derive(Debug)]
pub(crate) struct AppliedProfile {
    profile: Profile,
    /// What exists of its files.
    pub(crate) home: Vec<HomeMount>,
}

impl AppliedProfile {
    /// Loads the profile `name`, and looks for its files.
    pub(crate) fn load(name: &str, loaded: &Settings, process_env: &ProcessEnv) -> Result<Self> {
        let profile = Profiles::of(&loaded.home).load(name)?.profile;
        let home = process_env.user_home().context("no home directory is known")?;
        let find = |entry| find_entry(entry, &home, &loaded.home).transpose();
        let found = profile.home.iter().filter_map(find).collect::<Result<Vec<_>>>();
        let home = found.with_context(|| format!("profile `{name}`"))?;
        Ok(Self { profile, home })
    }

    /// The variables that pass or are set.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let set = self.profile.env.iter().map(|(name, value)| (name.into(), value.into()));
        let passed = self.profile.pass.iter();
        set.chain(passed.filter_map(|name| Some((name.into(), std::env::var_os(name)?)))).collect()
    }

    /// The command with the profile's arguments, if it is a program of the profile.
    pub(crate) fn command(&self, words: &[OsString]) -> Vec<OsString> {
        let mut command = words.to_vec();
        if let Some(at) = self.profile.program_at(words) {
            command.splice(at + 1..at + 1, self.profile.arguments.iter().map(Into::into));
        }
        command
    }

    /// The hosts that its program talks to.
    pub(crate) fn hosts(&self) -> &[String] {
        &self.profile.hosts
    }

    /// What it shows and opens, in one line.
    pub(crate) fn line(&self, network: &Network) -> String {
        let mut said = Vec::new();
        match network {
            Network::Host => said.push("the network is open, to every host".to_owned()),
            Network::Allow(hosts) => said.push(format!("the network reaches {hosts}")),
            Network::None => {}
        }
        for mode in [ExposeMode::ReadOnly, ExposeMode::ReadWrite] {
            let entries = self.home.iter().filter(|mount| mount.mode == mode);
            let shown: Vec<_> = entries.map(|mount| format!("`~/{}`", mount.place.display())).collect();
            if !shown.is_empty() {
                said.push(format!("{} {}", shown.join(", "), access(mode)));
            }
        }
        said.extend(self.profile.note.clone());
        printable(&format!("profile `{}`: {}", self.profile.name, said.join("; "))).into_owned()
    }
}

/// Names the profile of a program that is run without one.
pub(crate) fn suggest_profile(command: &[OsString], loaded: &Settings) {
    let profiles = Profiles::of(&loaded.home);
    let known = profiles.names().into_iter().filter_map(|name| profiles.load(&name).ok());
    if let Some(found) = known.into_iter().find(|found| found.profile.program_at(command).is_some()) {
        let name = &found.profile.name;
        print::note(&format!(
            "picoclaw run: there is a profile for it: `--profile {name}` shows its login and opens the network"
        ));
    }
}

/// A file or directory of a profile; `None` if it does not exist. Links must not lead out of the
/// home, nor to the instance.
fn find_entry(entry: &HomeEntry, home: &Path, instance: &Path) -> Result<Option<HomeMount>> {
    let path = home.join(&entry.path);
    let (Ok(source), Ok(home)) = (path.canonicalize(), home.canonicalize()) else { return Ok(None) };
    let shown = printable_path(&path);
    let inside = source.strip_prefix(&home).ok();
    let inside = inside.with_context(|| format!("`{shown}` leads out of the home"))?;
    if let Some(fault) = home_path_fault(inside) {
        bail!("`{shown}` leads to `{}`, which {fault}", printable_path(&source));
    }
    if let Ok(instance) = instance.canonicalize() {
        let holds = source.starts_with(&instance) || instance.starts_with(&source);
        ensure!(!holds, "`{shown}` holds files of picoclaw, which no command may see");
    }
    ensure!(source.is_file() || source.is_dir(), "`{shown}` is neither a file nor a directory");
    Ok(Some(HomeMount { source, place: entry.to.clone(), mode: entry.mode }))
}

fn access(mode: ExposeMode) -> &'static str {
    match mode {
        ExposeMode::ReadOnly => "read-only",
        ExposeMode::ReadWrite => "read-write",
    }
}
