//! Well-known places of credentials. No refusal proposes a setting that would open one of them.

use std::path::Path;

/// Files and directory trees of the system.
const SYSTEM: &[&str] =
    &["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private"];

/// Names of files and directories in homes, and of backups beside the files of the system.
const NAMES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "gcloud",
    "keyrings",
    "shadow-",
    "gshadow-",
];

/// Whether `path` lies where credentials are kept.
pub(crate) fn holds_credentials(path: &Path) -> bool {
    SYSTEM.iter().any(|place| path.starts_with(place))
        || path.iter().any(|name| NAMES.iter().any(|known| name == *known))
}

#[cfg(test)]
mod tests {
    use super::holds_credentials;
    use std::path::Path;

    #[test]
    fn credentials_are_known_by_their_place() {
        for (path, expected) in [
            ("/etc/shadow", true),
            ("/etc/shadow-", true),
            ("/etc/sudoers.d/local", true),
            ("/home/a/.ssh/id_ed25519", true),
            ("/root/.config/gcloud/credentials.db", true),
            ("/home/a/.netrc", true),
            ("/etc/shadowsocks", false),
            ("/etc/hosts", false),
            ("/home/a/ssh", false),
        ] {
            assert_eq!(holds_credentials(Path::new(path)), expected, "{path}");
        }
    }
}
