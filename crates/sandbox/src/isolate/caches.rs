//! `--cache`: what a command finds of the operator's package caches.
//!
//! Invariant: only directories of downloaded packages are shown, none that holds credentials or the
//! addresses of private repositories (`~/.cargo`, uv's and Go's git checkouts do).

use crate::isolate::environment::UserEnvironment;
use crate::isolate::host_files::{HostEntryKind, HostFiles, LiveHost};
use crate::isolate::mount_rules::MountRule;
use crate::launch::environment::{Variables, get};
use crate::printable::printable_path;
use std::path::{Path, PathBuf};

/// Which caches of package managers a command has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// The project's own, kept from run to run.
    #[default]
    Private,
    /// The operator's, beneath what the run adds, which is discarded with it.
    Shared,
    /// Empty ones, discarded with the run.
    None,
}

/// Where a package manager keeps downloaded packages.
struct Cache {
    /// The variable that names its directory, and the directory in the home without it.
    base: (&'static str, &'static str),
    /// The parts that hold packages; one that ends in `*` is every directory with that beginning.
    parts: &'static [&'static str],
}

const CACHES: [Cache; 7] = [
    Cache { base: ("CARGO_HOME", ".cargo"), parts: &["registry/index", "registry/cache"] },
    Cache { base: ("npm_config_cache", ".npm"), parts: &["_cacache"] },
    Cache { base: ("PNPM_HOME", ".local/share/pnpm"), parts: &["store"] },
    Cache { base: ("PIP_CACHE_DIR", ".cache/pip"), parts: &["http", "http-v2", "wheels"] },
    Cache {
        base: ("UV_CACHE_DIR", ".cache/uv"),
        parts: &["archive-v*", "simple-v*", "wheels-v*", "sdists-v*", "builds-v*"],
    },
    Cache { base: ("GOPATH", "go"), parts: &["pkg/mod/cache/download"] },
    Cache { base: ("MAVEN_USER_HOME", ".m2"), parts: &["repository"] },
];

impl Cache {
    /// Its directory, by these variables.
    fn directory(&self, variables: &Variables, home: &Path) -> PathBuf {
        let (name, usual) = self.base;
        let named = get(variables, name).map(PathBuf::from).filter(|path| path.is_absolute());
        // XDG_CACHE_HOME replaces the beginning of those in `.cache`.
        let cached = || {
            let rest = usual.strip_prefix(".cache/")?;
            get(variables, "XDG_CACHE_HOME").map(|cache| Path::new(cache).join(rest))
        };
        named.or_else(cached).unwrap_or_else(|| home.join(usual))
    }

    /// Its parts that exist in `directory`.
    fn found_in(&self, directory: &Path) -> Vec<PathBuf> {
        self.parts
            .iter()
            .flat_map(|part| match part.strip_suffix('*') {
                None => vec![PathBuf::from(part)],
                Some(beginning) => {
                    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
                    let names = entries.map(|entry| PathBuf::from(entry.file_name()));
                    names.filter(|name| name.to_string_lossy().starts_with(beginning)).collect()
                }
            })
            .collect()
    }
}

/// What of the operator's files a cache must not lead to.
pub(crate) struct Untrusted<'p> {
    /// Nothing in or above such a path is shown.
    pub(crate) closed: Vec<&'p Path>,
    /// Trees whose files came with a project or from commands: a link there may lead anywhere.
    pub(crate) trees: Vec<&'p Path>,
}

impl Untrusted<'_> {
    /// The directory that `place` leads to, unless one of the trees has a part in it.
    fn trusted(&self, place: &Path) -> Option<PathBuf> {
        let resolved = place.canonicalize().ok()?;
        let is_within = |path: &Path| self.trees.iter().any(|tree| path.starts_with(tree));
        (!is_within(&resolved) && !LiveHost.links(place).iter().any(|link| is_within(link)))
            .then_some(resolved)
    }

    fn is_closed(&self, path: &Path) -> bool {
        self.closed.iter().any(|closed| path.starts_with(closed) || closed.starts_with(path))
    }
}

/// The mounts of a mode. `own` are the command's variables and `host` the operator's, whose home is
/// `home`.
pub(crate) fn cache_mounts(
    mode: CacheMode,
    user: &UserEnvironment,
    own: &Variables,
    (host, home): (&Variables, &Path),
    untrusted: &Untrusted<'_>,
) -> Vec<MountRule> {
    let own_home = user.path().join("home");
    let inside = |cache: &Cache| cache.directory(own, &own_home);
    match mode {
        CacheMode::Private => Vec::new(),
        CacheMode::None => {
            let all = user.path().join("cache");
            let others =
                CACHES.iter().flat_map(|cache| cache.parts.iter().map(|part| inside(cache).join(part)));
            let others = others.filter(|path| !path.starts_with(&all)).collect::<Vec<_>>();
            let empty = |target| MountRule::Tmpfs { target, mode: 0o700 };
            std::iter::once(all.clone()).chain(others).map(empty).collect()
        }
        CacheMode::Shared => CACHES
            .iter()
            .flat_map(|cache| shared(cache, &cache.directory(host, home), &inside(cache), untrusted))
            .collect(),
    }
}

/// The parts of one cache at `outside`, as the command finds them at `inside`. Beneath the cache's
/// own directory no link is followed.
fn shared(cache: &Cache, outside: &Path, inside: &Path, untrusted: &Untrusted<'_>) -> Vec<MountRule> {
    let skip = |path: &Path, why: &str| {
        tracing::warn!(target: "isolation", "`--cache shared`: `{}` is not shared: {why}", printable_path(path));
    };
    let mut rules = Vec::new();
    for part in cache.found_in(outside) {
        let (place, target) = (outside.join(&part), inside.join(&part));
        let Some(found) = LiveHost.find(&place).filter(|found| found.kind == HostEntryKind::Directory) else {
            continue;
        };
        let Some(directory) = untrusted.trusted(outside) else {
            skip(outside, "it lies in what commands can write, or a link there leads to it");
            return rules;
        };
        if found.resolved != directory.join(&part) {
            skip(&place, "it is behind a link in the cache");
        } else if untrusted.trusted(&found.resolved).is_none() {
            skip(&place, "commands can write it");
        } else if !untrusted.is_closed(&found.resolved) {
            rules.push(MountRule::Overlay { lower: found.resolved, target });
        }
    }
    rules
}
