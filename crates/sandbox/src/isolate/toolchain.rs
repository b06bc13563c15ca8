//! Toolchains in the operator's home, shown read-only, with private caches.
//!
//! Invariant: only directories of programs are shown, none that holds credentials (`~/.cargo`
//! does).

use super::git_config::read_git_config;
use crate::isolate::environment::UserEnvironment;
use crate::isolate::error::PlanError;
use crate::isolate::host_files::{HostEntryKind, HostFiles};
use crate::isolate::mount_rules::{MountReason, MountRule};
use picoclaw_policy::config::ExposeMode;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// One toolchain.
struct Toolchain {
    /// Its name in `isolation.toolchains`.
    name: &'static str,
    /// Other accepted names.
    aliases: &'static [&'static str],
    /// Its usual directories.
    places: &'static [&'static str],
    /// Variables that name another directory, and the subdirectory that holds only programs.
    named_by: &'static [(&'static str, &'static str)],
    /// Variables that are set to a directory that is shown.
    shown_by: &'static [(&'static str, &'static str)],
    /// Variables that are set to a directory in the principal's cache.
    cached_by: &'static [(&'static str, &'static str)],
}

const TOOLCHAINS: [Toolchain; 10] = [
    Toolchain {
        name: "rust",
        aliases: &["rustup", "cargo"],
        places: &["~/.rustup", "~/.cargo/bin"],
        named_by: &[("RUSTUP_HOME", ""), ("CARGO_HOME", "bin")],
        shown_by: &[("RUSTUP_HOME", "~/.rustup")],
        cached_by: &[("CARGO_HOME", "cargo")],
    },
    Toolchain {
        name: "node",
        aliases: &["nvm", "npm", "bun", "deno"],
        // Browsers that test runners have fetched are programs too.
        places: &[
            "~/.nvm/versions",
            "~/.volta/bin",
            "~/.volta/tools",
            "~/.bun/bin",
            "~/.deno/bin",
            "~/.fnm",
            "~/.local/share/fnm",
            "~/.local/share/pnpm",
            "~/.npm-global/bin",
            "~/.npm-global/lib",
            "~/.yarn/bin",
            "~/.cache/ms-playwright",
            "~/.cache/puppeteer",
            "~/.cache/Cypress",
            "/opt/node",
        ],
        named_by: &[("NVM_DIR", "versions"), ("PNPM_HOME", ""), ("PLAYWRIGHT_BROWSERS_PATH", "")],
        shown_by: &[
            ("PLAYWRIGHT_BROWSERS_PATH", "~/.cache/ms-playwright"),
            ("PUPPETEER_CACHE_DIR", "~/.cache/puppeteer"),
            ("CYPRESS_CACHE_FOLDER", "~/.cache/Cypress"),
        ],
        cached_by: &[("npm_config_cache", "npm")],
    },
    Toolchain {
        name: "python",
        aliases: &["pyenv", "uv"],
        // Not all of `share/uv`, which also holds credentials.
        places: &[
            "~/.pyenv",
            "~/.local/share/uv/python",
            "~/.local/share/uv/tools",
            "~/.local/share/pipx",
            "~/.local/pipx",
            "~/.local/share/pypoetry",
            "~/.local/bin",
            "~/.local/lib",
        ],
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
        aliases: &[],
        places: &[
            "~/miniconda3",
            "~/anaconda3",
            "~/miniforge3",
            "~/mambaforge",
            "~/micromamba",
            "~/.pixi/bin",
            "~/.pixi/envs",
            "/opt/conda",
        ],
        named_by: &[("CONDA_PREFIX", "")],
        shown_by: &[],
        cached_by: &[],
    },
    Toolchain {
        name: "go",
        aliases: &["golang"],
        places: &["~/sdk", "~/go/bin", "/opt/go"],
        named_by: &[("GOROOT", "")],
        shown_by: &[],
        cached_by: &[("GOPATH", "go"), ("GOCACHE", "go-build")],
    },
    Toolchain {
        name: "jvm",
        aliases: &["java"],
        places: &["~/.sdkman/candidates", "/opt/java", "/opt/jdk"],
        named_by: &[("JAVA_HOME", "")],
        shown_by: &[],
        cached_by: &[],
    },
    Toolchain {
        name: "ruby",
        aliases: &[],
        places: &["~/.rbenv", "~/.rvm/rubies", "~/.rvm/bin", "~/.rvm/gems"],
        named_by: &[],
        shown_by: &[],
        cached_by: &[],
    },
    Toolchain {
        name: "haskell",
        aliases: &["ghcup"],
        places: &["~/.ghcup", "~/.cabal/bin"],
        named_by: &[],
        shown_by: &[],
        cached_by: &[],
    },
    Toolchain {
        name: "ocaml",
        aliases: &["opam"],
        places: &["~/.opam"],
        named_by: &[("OPAMROOT", "")],
        shown_by: &[("OPAMROOT", "~/.opam")],
        cached_by: &[],
    },
    // Programs that install those of any language.
    Toolchain {
        name: "managers",
        aliases: &["asdf", "brew", "mise", "nix"],
        places: &[
            "~/.asdf",
            "~/.local/share/mise/installs",
            "~/.local/share/mise/shims",
            "~/.nix-profile",
            "/home/linuxbrew/.linuxbrew",
        ],
        named_by: &[("ASDF_DATA_DIR", ""), ("MISE_DATA_DIR", "installs"), ("HOMEBREW_PREFIX", "")],
        shown_by: &[("ASDF_DATA_DIR", "~/.asdf"), ("MISE_DATA_DIR", "~/.local/share/mise")],
        cached_by: &[("MISE_CACHE_DIR", "mise")],
    },
];

/// The toolchains that `isolation.toolchains` selects: `auto`, `none` or a list of names.
fn selected(setting: &str) -> impl Iterator<Item = &'static Toolchain> {
    TOOLCHAINS.iter().filter(move |toolchain| match setting {
        "auto" => true,
        "none" => false,
        list => list.split(',').any(|name| toolchain.is_called(name.trim())),
    })
}

impl Toolchain {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Refuses unknown names, so that a misspelt toolchain is not silently missing.
pub(super) fn check(setting: &str) -> Result<(), PlanError> {
    let known = |name: &&str| TOOLCHAINS.iter().any(|toolchain| toolchain.is_called(name));
    let unknown = setting.split(',').map(str::trim).find(|name| !name.is_empty() && !known(name));
    match unknown.filter(|_| !["auto", "none"].contains(&setting)) {
        None => Ok(()),
        Some(name) => Err(PlanError::Toolchain {
            name: name.to_owned(),
            known: TOOLCHAINS.map(|toolchain| toolchain.name).join(", "),
        }),
    }
}

fn expand_home(place: &str, home: &Path) -> PathBuf {
    place.strip_prefix("~/").map_or_else(|| PathBuf::from(place), |rest| home.join(rest))
}

/// Its usual directories. If the home does not exist, nothing in it is looked up.
fn usual_places<'h>(
    toolchain: &'static Toolchain,
    home: &'h Path,
    host: &dyn HostFiles,
) -> impl Iterator<Item = PathBuf> + use<'h> {
    let at_home = host.find(home).is_some();
    let places = toolchain.places.iter().filter(move |place| at_home || !place.starts_with("~/"));
    places.map(move |place| expand_home(place, home))
}

/// Toolchain directories that the operator's environment names: variable, value, shown directory.
fn from_variables(
    setting: &str,
    home: &Path,
    variables: &[(OsString, OsString)],
) -> Vec<(&'static str, PathBuf, PathBuf)> {
    let names = selected(setting).flat_map(|toolchain| toolchain.named_by);
    let found = names.filter_map(|(name, part)| {
        let value =
            variables.iter().find(|(known, _)| known == name).map(|(_, value)| PathBuf::from(value))?;
        let plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
        // The home itself, or a directory that holds it, is not a toolchain.
        let fits = value.is_absolute() && value.components().all(plain) && !home.starts_with(&value);
        let place = if part.is_empty() { value.clone() } else { value.join(part) };
        fits.then_some((*name, value, place))
    });
    found.collect()
}

/// The mount rules for `isolation.toolchains`.
pub(super) fn rules(
    setting: &str,
    home: &Path,
    variables: &[(OsString, OsString)],
    host: &dyn HostFiles,
) -> Vec<MountRule> {
    let places = selected(setting).flat_map(|toolchain| usual_places(toolchain, home, host));
    let places =
        places.chain(from_variables(setting, home, variables).into_iter().map(|(_, _, place)| place));
    let found = places.filter_map(|place| host.find(&place).map(|found| (place, found)));
    let directories = found
        .filter(|(_, found)| found.kind == HostEntryKind::Directory && !found.resolved.starts_with("/usr"));
    directories
        .map(|(target, found)| {
            let (mode, kind, reason) = (ExposeMode::ReadOnly, found.kind, MountReason::Toolchain);
            MountRule::Bind { source: found.resolved, target, mode, kind, reason }
        })
        .collect()
}

/// Cargo's settings in a home. Cargo reads those of every directory above a project, and stops at
/// one that it may not read; without mounts the file cannot be hidden. Settings with a token or a
/// password stay closed.
pub fn cargo_settings(home: &Path) -> impl Iterator<Item = PathBuf> {
    let has_password = |text: &str| {
        let mut hosts = text.split("://").skip(1).filter_map(|rest| rest.split(['/', '"', '\'']).next());
        hosts.any(|host| host.contains('@'))
    };
    let is_public = move |path: &PathBuf| {
        read_git_config(path).is_some_and(|text| !text.contains("token") && !has_password(&text))
    };
    ["config.toml", "config"].map(|name| home.join(".cargo").join(name)).into_iter().filter(is_public)
}

/// Makes the packages that `pip install --user` put into the operator's home importable: Python
/// looks for such packages in the child's home, where a `.pth` file names the operator's directory.
/// The child's own come before them.
pub fn link_python_packages(setting: &str, home: &Path, user: &UserEnvironment) {
    let lib = home.join(".local/lib");
    if !selected(setting).any(|toolchain| toolchain.name == "python") {
        return;
    }
    for entry in std::fs::read_dir(&lib).into_iter().flatten().flatten() {
        let (name, site) = (entry.file_name(), entry.path().join("site-packages"));
        let path = site.to_str().filter(|path| !path.contains('\n') && site.is_dir());
        if let Some(path) = path.filter(|_| name.as_encoded_bytes().starts_with(b"python")) {
            let place = Path::new(".local/lib").join(name).join("site-packages/picoclaw-home.pth");
            // The child may have spoilt its own home; then the packages are not found.
            let _ = user.new_file(&place, &format!("{path}\n"));
        }
    }
}

/// The variables that name the shown toolchains and their private caches.
pub fn toolchain_variables(
    setting: &str,
    (home, variables): (&Path, &[(OsString, OsString)]),
    host: &dyn HostFiles,
    user: &UserEnvironment,
) -> Vec<(&'static str, PathBuf)> {
    let mut set = Vec::new();
    let named = from_variables(setting, home, variables);
    for toolchain in selected(setting) {
        let own = named.iter().filter(|(name, ..)| toolchain.named_by.iter().any(|(known, _)| known == name));
        let own: Vec<_> = own.filter(|(.., place)| host.find(place).is_some()).collect();
        let at_home = usual_places(toolchain, home, host).any(|place| host.find(&place).is_some());
        if !at_home && own.is_empty() {
            continue;
        }
        let shown = toolchain.shown_by.iter().map(|(name, place)| (*name, expand_home(place, home)));
        set.extend(shown.filter(|(_, place)| host.find(place).is_some()));
        set.extend(own.iter().map(|(name, value, _)| (*name, value.clone())));
        // Last, so that these win: a cache is never the operator's.
        set.extend(
            toolchain.cached_by.iter().map(|(name, place)| (*name, user.path().join("cache").join(place))),
        );
    }
    set
}
