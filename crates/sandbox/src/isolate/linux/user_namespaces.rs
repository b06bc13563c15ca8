//! What forbids user namespaces on a host, and what would allow them.

use crate::os_file::read_regular_file;
use std::path::Path;

/// Settings of the kernel that forbid user namespaces: the file, the value that does, whether root
/// is exempt, and the remedy.
const SETTINGS: [(&str, &str, bool, &str); 3] = [
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        false,
        "this host allows no user namespaces; `sudo sysctl user.max_user_namespaces=10000` does",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        true,
        "this host allows user namespaces to root alone; `sudo sysctl kernel.unprivileged_userns_clone=1` allows them to all",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        true,
        "AppArmor allows user namespaces only to programs with a profile; `deploy/apparmor/picoclaw` in the source is one, \
         and `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows them to all programs",
    ),
];

/// What would allow user namespaces, where a setting forbids them to this process.
pub(super) fn user_namespace_remedy() -> Option<&'static str> {
    let is_root = rustix::process::geteuid().is_root();
    remedy(is_root, |path| String::from_utf8(read_regular_file(Path::new(path), 64).ok()?).ok())
}

fn remedy(is_root: bool, read: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    let forbids = |(path, value, exempts_root, _): &&(&str, &str, bool, &str)| {
        !(is_root && *exempts_root) && read(path).is_some_and(|text| text.trim() == *value)
    };
    SETTINGS.iter().find(forbids).map(|(.., remedy)| *remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_forbids_is_named() {
        for (why, is_root, file, value, want) in [
            ("none at all", true, "max_user_namespaces", "0\n", Some("user.max_user_namespaces=10000")),
            ("some", false, "max_user_namespaces", "63000\n", None),
            (
                "Debian's switch",
                false,
                "unprivileged_userns_clone",
                "0\n",
                Some("unprivileged_userns_clone=1"),
            ),
            ("root is exempt", true, "unprivileged_userns_clone", "0\n", None),
            ("Ubuntu's rule", false, "restrict_unprivileged_userns", "1\n", Some("deploy/apparmor/picoclaw")),
            ("it is off", false, "restrict_unprivileged_userns", "0\n", None),
            ("nothing is there", false, "-", "", None),
        ] {
            let found = remedy(is_root, |path| path.ends_with(file).then(|| value.to_owned()));
            assert_eq!(found.is_some(), want.is_some(), "{why}: {found:?}");
            assert!(
                want.is_none_or(|want| found.is_some_and(|found| found.contains(want))),
                "{why}: {found:?}"
            );
        }
    }
}
