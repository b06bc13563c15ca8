//! Parses the cage flags of `picoclaw run` and `picoclaw mcp wrap`, without looking at the host.

use crate::arguments::CageArguments;
use crate::units;
use anyhow::{Context, Result, bail, ensure};
use picoclaw_policy::CleanPath;
use picoclaw_policy::config::{Expose, ExposeMode, IsolationConfig, Network};
use picoclaw_policy::network::{AllowedHosts, HostPattern};
use picoclaw_sandbox::{printable, printable_path};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The parsed flags.
#[derive(Debug)]
pub(crate) struct CageOptions {
    /// `--env`.
    pub(crate) variables: Vec<(OsString, OsString)>,
    exposures: Vec<Expose>,
    memory_mb: Option<u64>,
    tmp_mb: Option<u64>,
    debug: bool,
    network: Option<Network>,
    /// `--allow-host`.
    hosts: Vec<HostPattern>,
    toolchains: Option<String>,
    unprotected: Vec<PathBuf>,
}

impl CageOptions {
    /// Parses the flags, and compares them with the configured limits.
    pub(crate) fn parse(arguments: &CageArguments, configured: &IsolationConfig) -> Result<Self> {
        let mut exposures = Vec::new();
        for (paths, mode) in [(&arguments.ro, ExposeMode::ReadOnly), (&arguments.rw, ExposeMode::ReadWrite)] {
            for path in paths {
                let full = std::path::absolute(path).context("`--ro` and `--rw` want a path")?;
                let full = CleanPath::absolute(&full).map_or(full, |clean| clean.as_path().to_owned());
                exposures.push(Expose { source: full.clone(), target: full, mode });
            }
        }
        for text in &arguments.expose {
            exposures.push(parse_exposure(text)?);
        }
        for path in &arguments.unprotect {
            let has_dots = path.components().any(|part| part == Component::ParentDir);
            ensure!(!has_dots, "`--unprotect {}`: a path without `..`", printable_path(path));
        }
        let memory_mb = arguments.memory.as_deref().map(units::parse_mebibytes).transpose()?;
        let tmp_mb = arguments.tmp.as_deref().map(units::parse_mebibytes).transpose()?;
        let limit = memory_mb.unwrap_or(configured.limits.memory_mb);
        ensure!(
            limit == 0 || tmp_mb.is_none_or(|size| size < limit),
            "`--tmp` is to be less than the memory limit of {limit} MiB, which counts it; raise that with --memory"
        );
        let hosts: Vec<_> =
            arguments.allow_host.iter().map(|text| parse_host(text)).collect::<Result<_>>()?;
        let is_open = arguments.net.as_deref() == Some("host");
        ensure!(
            hosts.is_empty() || !is_open,
            "`--allow-host` with `--net host`: an open network reaches every host already"
        );
        Ok(Self {
            hosts,
            unprotected: arguments.unprotect.clone(),
            variables: arguments.env.iter().map(|text| parse_variable(text)).collect::<Result<_>>()?,
            exposures,
            memory_mb,
            tmp_mb,
            debug: arguments.debug,
            network: arguments.net.as_deref().map(|name| match name {
                "host" => Network::Host,
                _ => Network::None,
            }),
            toolchains: arguments.toolchain.clone(),
        })
    }

    /// Opens the network for a program that talks to these hosts: to them besides those of
    /// `--allow-host`, to every host if there is none, and not at all with `--net none` alone.
    pub(crate) fn open_network(&mut self, hosts: &[String]) {
        if self.hosts.is_empty() {
            self.network.get_or_insert(Network::Host);
        } else {
            self.hosts.extend(hosts.iter().filter_map(|host| host.parse().ok()));
        }
    }

    /// The network.
    pub(crate) fn network(&self) -> Network {
        match &self.hosts[..] {
            [] => self.network.clone().unwrap_or(Network::None),
            hosts => Network::Allow(Arc::new(AllowedHosts::new(hosts.to_vec(), Vec::new()))),
        }
    }

    /// Whether the network is the host's.
    pub(crate) fn has_open_network(&self) -> bool {
        self.network.as_ref().is_some_and(Network::is_open)
    }

    /// Whether hosts are reached by name.
    pub(crate) fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// `--ro`, `--rw` and `--expose`.
    pub(crate) fn exposures(&self) -> &[Expose] {
        &self.exposures
    }

    /// The configured isolation with the flags applied.
    pub(crate) fn apply_to(&self, configured: &IsolationConfig) -> IsolationConfig {
        let mut isolation = configured.clone();
        isolation.enabled = true;
        // What the configuration denies stays denied.
        isolation.network = match (self.network(), configured.network.hosts()) {
            (Network::Allow(hosts), Some(own)) => {
                Network::Allow(Arc::new(AllowedHosts::new(hosts.allow().to_vec(), own.deny().to_vec())))
            }
            (network, _) => network,
        };
        self.unprotected.iter().for_each(|path| isolation.protect.unprotect(path));
        isolation.expose_paths.extend(self.exposures.iter().cloned());
        if let Some(toolchains) = &self.toolchains {
            isolation.toolchains.clone_from(toolchains);
        }
        if let Some(memory) = self.memory_mb {
            isolation.limits.memory_mb = memory;
        }
        isolation.debug = self.debug;
        isolation.tmp_mb = self.tmp_mb;
        isolation
    }

    /// Whether processes may trace each other.
    pub(crate) fn is_debugged(&self) -> bool {
        self.debug
    }
}

/// `NAME[:PORT]`.
fn parse_host(text: &str) -> Result<HostPattern> {
    text.parse().with_context(|| format!("`--allow-host {}`", printable(text)))
}

/// `SRC:DST:MODE`.
fn parse_exposure(text: &str) -> Result<Expose> {
    let parts: Vec<&str> = text.split(':').collect();
    let [source, target, mode] = parts[..] else { bail!("`--expose {text}` is not SRC:DST:MODE") };
    let mode = match mode {
        "ro" => ExposeMode::ReadOnly,
        "rw" => ExposeMode::ReadWrite,
        other => bail!("`--expose {text}`: the mode is `ro` or `rw`, not `{other}`"),
    };
    let target = if target.is_empty() { source } else { target };
    let absolute = [source, target].iter().all(|path| Path::new(path).is_absolute());
    ensure!(absolute, "`--expose {text}`: source and target are absolute paths");
    Ok(Expose { source: source.into(), target: target.into(), mode })
}

/// `K=V`.
fn parse_variable(text: &str) -> Result<(OsString, OsString)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => bail!("`--env {text}` is not K=V"),
    }
}
