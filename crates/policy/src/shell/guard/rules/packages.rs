//! Package managers: changes to the system or to the user's installation. A project's own packages
//! are allowed.

use super::{Rule, always};
use crate::shell::guard::options::{Grammar, Item, NamedCommand, is_abbreviation, parse};
use crate::shell::guard::partial_word::PartialWord;
use crate::shell::guard::programs::has_word;

const CHANGES: &str = "install remove purge autoremove upgrade dist-upgrade full-upgrade erase reinstall downgrade \
    localinstall groupinstall groupremove build-dep add del delete uninstall in rm dup up refresh switch \
    unlink swap distro-sync";

/// Subcommands that only query.
const QUERY_SUBCOMMANDS: &str = "search show list info policy depends rdepends se lr find help changelog provides whatprovides \
    repolist history check check-update outdated deps home doctor config";

/// A query makes the rest harmless, unless its name may be the value of an option before it.
fn is_change(call: &NamedCommand<'_>) -> bool {
    let (items, at) = parse(call.args, Grammar::leading("o c t"));
    let looks = call.args.get(at).is_some_and(|verb| has_word(QUERY_SUBCOMMANDS, verb.as_str()));
    let is_sure = !items.iter().any(|item| matches!(item, Item::Long(_, None)));
    !(looks && is_sure) && call.has_arg(CHANGES)
}

fn is_global(call: &NamedCommand<'_>) -> bool {
    call.has("", "g global") || call.values("location", "location").contains(&"global")
}

/// Options of pip that install elsewhere than into the environment, in full or cut short.
fn leaves_environment(call: &NamedCommand<'_>) -> bool {
    call.args.iter().filter_map(|arg| arg.as_str().strip_prefix("--")).any(|option| {
        let name = option.split('=').next().unwrap_or_default();
        option.starts_with("root=")
            || name.len() > 1
                && ["user", "break-system-packages", "system"].iter().any(|full| is_abbreviation(name, full))
    })
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "packages",
        why: "changes the packages of the system",
        programs: "apt apt-get aptitude apt-fast nala yum dnf dnf5 microdnf tdnf zypper apk snap flatpak pkg \
                   pkg_add port brew choco winget scoop opkg xbps-install eopkg swupd pkcon guix urpmi",
        when: |call| {
            is_change(call)
                || matches!(call.name, "pkg_add" | "xbps-install" | "urpmi")
                || (matches!(call.name, "yum" | "dnf" | "dnf5") && call.has_arg("update"))
        },
        stops: &[
            "apt install x",
            "apt-get -y install x",
            "apk --no-cache add x",
            "yum -y remove x",
            "brew install x",
            "apt --option list install x",
        ],
        spares: &["apt list --installed", "apt search x", "apt-cache policy x", "brew list"],
    },
    Rule {
        name: "packages",
        why: "changes the packages of the system",
        programs: "pacman yay paru pamac",
        when: |call| {
            let asks = call.surely_has("", "s i search info") && !call.has("", "R U remove upgrade");
            call.has("", "S R U sync remove upgrade") && !asks
        },
        stops: &["pacman -S x", "pacman -Syu", "pacman -Rns x"],
        spares: &["pacman -Q", "pacman -Ss x"],
    },
    Rule {
        name: "packages",
        why: "changes the packages of the system",
        programs: "dpkg rpm installer",
        when: |call| {
            const CHANGES: &str = "install remove purge upgrade erase unpack configure freshen import";
            let letters = if call.name == "dpkg" { "i r P" } else { "i U F e" };
            let reads = call.name == "rpm" && call.surely_has("", "q V K query verify");
            !reads && (call.has("", CHANGES) || call.has("", letters))
        },
        stops: &["dpkg -i x.deb", "rpm -ivh x.rpm", "rpm -e x", "dpkg --purge x"],
        spares: &["dpkg -l", "rpm -qa", "rpm -qi x", "dpkg -L x"],
    },
    Rule {
        name: "packages",
        why: "changes the packages of the system",
        programs: "emerge nix-env nix-channel slackpkg installpkg removepkg",
        when: |call| call.name != "nix-env" || call.has("", "i u e U install upgrade uninstall remove"),
        stops: &["nix-env -iA x", "emerge x"],
        spares: &["nix-env -q"],
    },
    Rule {
        name: "packages",
        why: "makes the system over",
        programs: "nixos-rebuild darwin-rebuild home-manager",
        when: |call| call.has_arg("switch boot test"),
        stops: &["nixos-rebuild switch"],
        spares: &["nixos-rebuild dry-build"],
    },
    Rule {
        name: "packages",
        why: "installs for the whole system, not for the project",
        programs: "npm pnpm yarn bun cnpm",
        when: |call| {
            const CHANGES: &str =
                "install i in add isntall uninstall un remove rm r update up upgrade link ln";
            let is_yarn_global =
                call.name == "yarn" && call.args.first().is_some_and(|arg| arg.as_str() == "global");
            call.has_arg(CHANGES) && (is_yarn_global || is_global(call))
        },
        stops: &[
            "npm install -g x",
            "npm i -g x",
            "npm --location global i x",
            "yarn global add x",
            "pnpm add -g x",
        ],
        spares: &["npm install", "npm ls -g", "yarn add x"],
    },
    Rule {
        name: "packages",
        why: "installs for the user or into the system, not into an environment",
        programs: "pip* uv python* pypy*",
        when: |call| {
            let glued = |arg: &PartialWord| arg.as_str().starts_with('-') && arg.as_str().ends_with("mpip");
            call.has_arg("install uninstall")
                && leaves_environment(call)
                && (!call.name.starts_with("py") || call.args.iter().any(glued))
        },
        stops: &[
            "pip install --user x",
            "pip3 install x --break-system",
            "python3 -m pip install --user x",
            "python3 -mpip install --user x",
        ],
        spares: &["pip install x", "pip list --user", "pip install -r requirements.txt"],
    },
    Rule {
        name: "packages",
        why: "installs for the user, not for the project",
        programs: "gem",
        when: |call| call.has_arg("--user-install --system"),
        stops: &["gem install --user-install x", "gem update --system"],
        spares: &["gem list"],
    },
    Rule {
        name: "packages",
        why: "changes what starts with the system",
        programs: "update-rc.d chkconfig rc-update",
        when: always,
        stops: &["update-rc.d x defaults"],
        spares: &["systemctl list-unit-files"],
    },
];
