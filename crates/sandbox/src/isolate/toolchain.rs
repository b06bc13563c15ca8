//! Toolchains that people keep in their home, shown read-only, with their caches in the principal's own environment.
//!
//! Invariant: only directories of programs are shown here, never one that holds credentials (`~/.cargo` and `~/.npmrc` do).

use crate::isolate::environment::UserEnvironment;
use crate::isolate::error::PlanError;
use crate::isolate::host::{HostFiles, Kind};
use crate::isolate::view::{Rule, Why};
use picoclaw_policy::config::ExposeMode;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// One toolchain: its name in `isolation.toolchains`, where it lies, and the variable that names the place.
struct Toolchain {
    name: &'static str,
    /// Names of its parts, which people use for the whole.
    also: &'static [&'static str],
    places: &'static [&'static str],
    /// Variables of the operator's that lead to it elsewhere, and the part of that place which holds programs alone.
    named_by: &'static [(&'static str, &'static str)],
    /// A variable that leads to a place which is shown.
    shown_by: &'static [(&'static str, &'static str)],
    /// A variable that leads to a private directory beneath the principal's cache.
    cached_by: &'static [(&'static str, &'static str)],
}

const KNOWN: [Toolchain; 7] = [
    Toolchain {
        name: "rust",
        also: &["rustup", "cargo"],
        places: &["~/.rustup", "~/.cargo/bin"],
        named_by: &[("RUSTUP_HOME", ""), ("CARGO_HOME", "bin")],
        shown_by: &[("RUSTUP_HOME", "~/.rustup")],
        cached_by: &[("CARGO_HOME", "cargo")],
    },
    Toolchain {
        name: "node",
        also: &["nvm", "npm", "bun", "deno"],
        places: &[
            "~/.nvm/versions",
            "~/.volta/bin",
            "~/.volta/tools",
            "~/.bun/bin",
            "~/.deno/bin",
            "~/.fnm",
            "/opt/node",
        ],
        named_by: &[("NVM_DIR", "versions")],
        shown_by: &[],
        cached_by: &[("npm_config_cache", "npm")],
    },
    Toolchain {
        name: "python",
        also: &["pyenv", "uv"],
        // Not all of `share/uv`: it keeps credentials beside them.
        places: &["~/.pyenv", "~/.local/share/uv/python", "~/.local/share/uv/tools", "~/.local/bin"],
        named_by: &[
            ("PYENV_ROOT", ""),
            ("UV_PYTHON_INSTALL_DIR", ""),
            ("UV_TOOL_DIR", ""),
            ("UV_TOOL_BIN_DIR", ""),
        ],
        shown_by: &[("PYENV_ROOT", "~/.pyenv")],
        cached_by: &[("UV_CACHE_DIR", "uv"), ("PIP_CACHE_DIR", "pip")],
    },
    Toolchain {
        name: "conda",
        also: &[],
        places: &["~/miniconda3", "~/anaconda3", "~/miniforge3", "~/mambaforge", "/opt/conda"],
        named_by: &[("CONDA_PREFIX", "")],
        shown_by: &[],
        cached_by: &[],
    },
    Toolchain {
        name: "go",
        also: &["golang"],
        places: &["~/sdk", "~/go/bin", "/opt/go"],
        named_by: &[("GOROOT", "")],
        shown_by: &[],
        cached_by: &[("GOPATH", "go"), ("GOCACHE", "go-build")],
    },
    Toolchain {
        name: "jvm",
        also: &["java"],
        places: &["~/.sdkman/candidates", "/opt/java", "/opt/jdk"],
        named_by: &[("JAVA_HOME", "")],
        shown_by: &[],
        cached_by: &[],
    },
    Toolchain {
        name: "ruby",
        also: &[],
        places: &["~/.rbenv", "~/.rvm/rubies", "~/.rvm/bin"],
        named_by: &[],
        shown_by: &[],
        cached_by: &[],
    },
];

/// The toolchains that `isolation.toolchains` chooses: `auto`, `none` or a list of names.
fn chosen(setting: &str) -> impl Iterator<Item = &'static Toolchain> {
    KNOWN.iter().filter(move |toolchain| match setting {
        "auto" => true,
        "none" => false,
        list => list.split(',').any(|name| toolchain.is_called(name.trim())),
    })
}

impl Toolchain {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.also.contains(&name)
    }
}

/// Refuses a name that nobody knows: what is misspelt would be missing without a word.
pub(super) fn check(setting: &str) -> Result<(), PlanError> {
    let known = |name: &&str| KNOWN.iter().any(|toolchain| toolchain.is_called(name));
    let unknown = setting.split(',').map(str::trim).find(|name| !name.is_empty() && !known(name));
    match unknown.filter(|_| !["auto", "none"].contains(&setting)) {
        None => Ok(()),
        Some(name) => Err(PlanError::Toolchain {
            name: name.to_owned(),
            known: KNOWN.map(|toolchain| toolchain.name).join(", "),
        }),
    }
}

fn resolve(place: &str, home: &Path) -> PathBuf {
    place.strip_prefix("~/").map_or_else(|| PathBuf::from(place), |rest| home.join(rest))
}

/// The places that can be there at all: in a home that is not there, nothing is looked for.
fn places<'h>(
    toolchain: &'static Toolchain,
    home: &'h Path,
    host: &dyn HostFiles,
) -> impl Iterator<Item = PathBuf> + use<'h> {
    let at_home = host.find(home).is_some();
    let places = toolchain.places.iter().filter(move |place| at_home || !place.starts_with("~/"));
    places.map(move |place| resolve(place, home))
}

/// Where the operator's environment says that toolchains are: the variable, its value, and the part that is shown.
fn named(
    setting: &str,
    home: &Path,
    variables: &[(OsString, OsString)],
) -> Vec<(&'static str, PathBuf, PathBuf)> {
    let names = chosen(setting).flat_map(|toolchain| toolchain.named_by);
    let said = names.filter_map(|(name, part)| {
        let value =
            variables.iter().find(|(known, _)| known == name).map(|(_, value)| PathBuf::from(value))?;
        let plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
        // A home, or what holds one, is no toolchain.
        let fits = value.is_absolute() && value.components().all(plain) && !home.starts_with(&value);
        let place = if part.is_empty() { value.clone() } else { value.join(part) };
        fits.then_some((*name, value, place))
    });
    said.collect()
}

/// The rules for `isolation.toolchains`, for an operator with this home and this environment.
pub(super) fn rules(
    setting: &str,
    home: &Path,
    variables: &[(OsString, OsString)],
    host: &dyn HostFiles,
) -> Vec<Rule> {
    let places = chosen(setting).flat_map(|toolchain| places(toolchain, home, host));
    let places = places.chain(named(setting, home, variables).into_iter().map(|(_, _, place)| place));
    let found = places.filter_map(|place| host.find(&place).map(|found| (place, found)));
    let directories =
        found.filter(|(_, found)| found.kind == Kind::Directory && !found.resolved.starts_with("/usr"));
    directories
        .map(|(target, found)| {
            let (mode, kind, why) = (ExposeMode::ReadOnly, found.kind, Why::Toolchain);
            Rule::Show { source: found.resolved, target, mode, kind, why }
        })
        .collect()
}

/// The variables that lead to shown toolchains and to their private caches.
pub fn toolchain_variables(
    setting: &str,
    (home, variables): (&Path, &[(OsString, OsString)]),
    host: &dyn HostFiles,
    user: &UserEnvironment,
) -> Vec<(&'static str, PathBuf)> {
    let mut led = Vec::new();
    let named = named(setting, home, variables);
    for toolchain in chosen(setting) {
        let own = named.iter().filter(|(name, ..)| toolchain.named_by.iter().any(|(known, _)| known == name));
        let own: Vec<_> = own.filter(|(.., place)| host.find(place).is_some()).collect();
        let at_home = places(toolchain, home, host).any(|place| host.find(&place).is_some());
        if !at_home && own.is_empty() {
            continue;
        }
        let shown = toolchain.shown_by.iter().map(|(name, place)| (*name, resolve(place, home)));
        led.extend(shown.filter(|(_, place)| host.find(place).is_some()));
        led.extend(own.iter().map(|(name, value, _)| (*name, value.clone())));
        // Last, so that a cache is never the operator's.
        led.extend(
            toolchain.cached_by.iter().map(|(name, place)| (*name, user.path().join("cache").join(place))),
        );
    }
    led
}
