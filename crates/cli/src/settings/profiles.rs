//! The profiles of `run --profile`: built in, or in `<home>/profiles`, where no agent can write.

use super::file::read_text;
use anyhow::{Context, Result, bail};
use picoclaw_policy::{BUILT_IN_PROFILES, Profile, is_profile_name};
use picoclaw_sandbox::printable_path;
use std::path::{Path, PathBuf};

/// Where profiles are found.
#[derive(Debug)]
pub(crate) struct Profiles {
    directory: PathBuf,
}

/// A profile and its text.
#[derive(Debug)]
pub(crate) struct FoundProfile {
    pub(crate) profile: Profile,
    pub(crate) text: String,
    /// Its file; `None` for one that is built in.
    pub(crate) file: Option<PathBuf>,
}

impl Profiles {
    /// Those of the instance at `home`.
    pub(crate) fn of(home: &Path) -> Self {
        Self { directory: home.join("profiles") }
    }

    /// Every name, in order. One in the instance hides a built-in one of its name.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = BUILT_IN_PROFILES.map(|(name, _)| name.to_owned()).into();
        for entry in std::fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".toml"));
            names.extend(name.filter(|name| is_profile_name(name)).map(str::to_owned));
        }
        names.sort();
        names.dedup();
        names
    }

    /// The profile `name`.
    pub(crate) fn load(&self, name: &str) -> Result<FoundProfile> {
        let file = self.directory.join(format!("{name}.toml"));
        let own = if is_profile_name(name) { read_text(&file)? } else { None };
        if let Some(own) = own {
            let profile = Profile::parse(name, &own.text);
            let profile = profile.map_err(|why| anyhow::anyhow!("{}:{why}", printable_path(&file)))?;
            return Ok(FoundProfile { profile, text: own.text, file: Some(file) });
        }
        let Some((_, text)) = BUILT_IN_PROFILES.iter().find(|(known, _)| *known == name) else {
            let known = self.names().join("`, `");
            bail!("there is no profile `{}`; known are `{known}`", picoclaw_sandbox::printable(name));
        };
        let profile = Profile::parse(name, text).context("a built-in profile")?;
        Ok(FoundProfile { profile, text: (*text).to_owned(), file: None })
    }
}
