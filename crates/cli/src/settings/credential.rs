//! References to secrets: `file://` next to the configuration, and `enc://`.
//!
//! A `file://` name never leads out of the configuration's directory, with links resolved.

use super::encrypted;
use super::file::{FileError, read_bytes};
use super::process_env::ProcessEnv;
use picoclaw_policy::config::SecretSource;
use std::path::{Path, PathBuf};

/// Resolves references for one configuration.
pub(super) struct Credentials<'a> {
    /// The directory of the configuration.
    pub(super) directory: &'a Path,
    /// Names passphrase and key file.
    pub(super) env: &'a ProcessEnv,
}

impl SecretSource for Credentials<'_> {
    fn open(&self, reference: &str) -> Result<String, String> {
        if let Some(name) = reference.strip_prefix("file://") {
            return self.read_file_reference(name.trim());
        }
        match reference.strip_prefix("enc://") {
            Some(sealed) => self.decrypt(sealed),
            None => Ok(reference.to_owned()),
        }
    }
}

impl Credentials<'_> {
    fn read_file_reference(&self, name: &str) -> Result<String, String> {
        if name.is_empty() {
            return Err("credential: file:// reference has no filename".to_owned());
        }
        let base = self.directory.canonicalize().unwrap_or_else(|_| self.directory.to_owned());
        // A leading slash is ignored: every name is below the directory.
        let asked = base.join(name.trim_start_matches('/'));
        let failed = |path: &Path, why: &dyn std::fmt::Display| {
            format!("credential: failed to resolve credential file path {path:?}: {why}")
        };
        let path = asked.canonicalize().map_err(|why| failed(&asked, &why))?;
        if !path.starts_with(&base) || path == base {
            return Err("credential: file:// path escapes config directory".to_owned());
        }
        let bytes = read_key(&path)
            .map_err(|why| format!("credential: failed to read credential file {path:?}: {why}"))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("credential: credential file {path:?} is not UTF-8 text"))?;
        match text.trim() {
            "" => Err(format!("credential: credential file {path:?} is empty")),
            value => Ok(value.to_owned()),
        }
    }

    fn decrypt(&self, sealed: &str) -> Result<String, String> {
        let passphrase = self.env.variable("PICOCLAW_KEY_PASSPHRASE");
        let passphrase = passphrase.ok_or("credential: enc:// passphrase required")?;
        let passphrase = passphrase.to_str().ok_or("credential: the passphrase is not UTF-8 text")?;
        let path = self.key_file().ok_or(
            "credential: SSH private key is required but not found (set PICOCLAW_SSH_KEY_PATH or place key at ~/.ssh/picoclaw_ed25519.key)",
        )?;
        let key =
            read_key(&path).map_err(|why| format!("credential: cannot read SSH key {path:?}: {why}"))?;
        encrypted::decrypt(sealed, &key, passphrase).map_err(|fault| fault.to_string())
    }

    /// `PICOCLAW_SSH_KEY_PATH`, even if empty, else the key at its default path.
    fn key_file(&self) -> Option<PathBuf> {
        match self.env.raw_variable("PICOCLAW_SSH_KEY_PATH") {
            Some(path) if path.is_empty() => None,
            Some(path) => Some(self.env.absolute(Path::new(path))),
            None => {
                let path = self.env.user_home()?.join(".ssh/picoclaw_ed25519.key");
                path.exists().then_some(path)
            }
        }
    }
}

fn read_key(path: &Path) -> Result<Vec<u8>, String> {
    match read_bytes(path) {
        Ok(Some((bytes, _))) => Ok(bytes),
        Ok(None) => Err("no such file".to_owned()),
        Err(FileError::Io { source, .. }) => Err(source.to_string()),
        Err(fault) => Err(fault.to_string()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::super::encrypted::tests::seal;
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_reference_stays_beside_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("conf");
        std::fs::create_dir_all(inside.join("keys")).unwrap();
        std::fs::write(inside.join("token"), "  sk-in-a-file\n").unwrap();
        std::fs::write(inside.join("keys/deep"), "sk-deep").unwrap();
        std::fs::write(inside.join("blank"), " \n").unwrap();
        std::fs::write(dir.path().join("outside"), "sk-outside").unwrap();
        symlink(dir.path().join("outside"), inside.join("link")).unwrap();
        symlink(inside.join("token"), inside.join("inner-link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, inside.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        let env = ProcessEnv::default();
        let vault = Credentials { directory: &inside, env: &env };
        for (why, reference, want) in [
            ("a plain name, trimmed", "file://token", Ok("sk-in-a-file")),
            ("a directory below", "file://keys/deep", Ok("sk-deep")),
            ("a link that stays inside", "file://inner-link", Ok("sk-in-a-file")),
            ("a leading slash is still below", "file:///token", Ok("sk-in-a-file")),
            ("dots climb out", "file://../outside", Err("credential: file:// path escapes config directory")),
            ("a link leads out", "file://link", Err("credential: file:// path escapes config directory")),
            ("the directory itself", "file://.", Err("credential: file:// path escapes config directory")),
            ("no name", "file://  ", Err("credential: file:// reference has no filename")),
            ("nothing in it", "file://blank", Err("is empty")),
            ("no such file", "file://none", Err("credential: failed to resolve credential file path")),
            ("a pipe does not block", "file://pipe", Err("is a pipe")),
            ("a directory", "file://keys", Err("is a directory")),
        ] {
            match (vault.open(reference), want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{why}"),
                (Err(got), Err(part)) => assert!(got.contains(part), "{why}: {got}"),
                (got, want) => panic!("{why}: {got:?} instead of {want:?}"),
            }
        }
    }

    #[test]
    fn a_sealed_secret_opens_with_passphrase_and_key_file() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join(".ssh/picoclaw_ed25519.key");
        std::fs::create_dir_all(dir.path().join(".ssh")).unwrap();
        std::fs::write(&key, "key material").unwrap();
        let other = dir.path().join("other.key");
        std::fs::write(&other, "other material").unwrap();
        let sealed = format!("enc://{}", seal("sk-sealed", b"key material", "open sesame"));
        let home = dir.path().to_str().unwrap();
        let other = other.to_str().unwrap();
        for (why, variables, want) in [
            (
                "the usual place",
                vec![("HOME", home), ("PICOCLAW_KEY_PASSPHRASE", "open sesame")],
                Ok("sk-sealed"),
            ),
            (
                "a named key",
                vec![
                    ("PICOCLAW_SSH_KEY_PATH", key.to_str().unwrap()),
                    ("PICOCLAW_KEY_PASSPHRASE", "open sesame"),
                ],
                Ok("sk-sealed"),
            ),
            ("no passphrase", vec![("HOME", home)], Err("credential: enc:// passphrase required")),
            (
                "the wrong one",
                vec![("HOME", home), ("PICOCLAW_KEY_PASSPHRASE", "open barley")],
                Err("credential: enc:// decryption failed (wrong passphrase or SSH key?)"),
            ),
            (
                "the wrong key",
                vec![("PICOCLAW_SSH_KEY_PATH", other), ("PICOCLAW_KEY_PASSPHRASE", "open sesame")],
                Err("credential: enc:// decryption failed (wrong passphrase or SSH key?)"),
            ),
            (
                "an empty path is no path",
                vec![
                    ("HOME", home),
                    ("PICOCLAW_SSH_KEY_PATH", ""),
                    ("PICOCLAW_KEY_PASSPHRASE", "open sesame"),
                ],
                Err("credential: SSH private key is required but not found"),
            ),
            (
                "no key anywhere",
                vec![("HOME", "/nonexistent"), ("PICOCLAW_KEY_PASSPHRASE", "open sesame")],
                Err("credential: SSH private key is required but not found"),
            ),
        ] {
            let variables =
                variables.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
            let env =
                ProcessEnv { variables: variables.collect(), account_home: None, ..ProcessEnv::default() };
            let vault = Credentials { directory: dir.path(), env: &env };
            match (vault.open(&sealed), want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{why}"),
                (Err(got), Err(part)) => {
                    assert!(got.contains(part) && !got.contains("sesame"), "{why}: {got}")
                }
                (got, want) => panic!("{why}: {got:?} instead of {want:?}"),
            }
        }
    }
}
