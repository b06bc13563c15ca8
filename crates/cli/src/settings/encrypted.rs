//! `enc://`: secrets encrypted with a passphrase and a key file, in the original's format.
//!
//! Base64 of salt (16), nonce (12) and AES-256-GCM ciphertext with its tag. The key is HKDF-SHA256
//! over HMAC-SHA256(SHA-256 of the key file, passphrase). A wrong passphrase, a wrong key file and
//! a changed byte are not told apart.

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};
use data_encoding::BASE64;
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

const SALT_LEN: usize = 16;
const NONCE_LEN: usize = 12;
const INFO: &[u8] = b"picoclaw-credential-v1";

/// Why a secret cannot be decrypted. The texts are the original's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DecryptError {
    /// Not base64.
    #[error("credential: enc:// invalid base64: {0}")]
    Base64(data_encoding::DecodeError),
    /// Shorter than salt and nonce.
    #[error("credential: enc:// payload too short")]
    TooShort,
    /// The wrong key, or a changed ciphertext.
    #[error("credential: enc:// decryption failed (wrong passphrase or SSH key?)")]
    Wrong,
}

/// Decrypts the base64 after `enc://`.
pub(super) fn decrypt(sealed: &str, key_file: &[u8], passphrase: &str) -> Result<String, DecryptError> {
    let blob = BASE64.decode(sealed.trim().as_bytes()).map_err(DecryptError::Base64)?;
    let (salt, rest) = blob.split_at_checked(SALT_LEN).ok_or(DecryptError::TooShort)?;
    let (nonce, ciphertext) = rest.split_at_checked(NONCE_LEN).ok_or(DecryptError::TooShort)?;
    if ciphertext.is_empty() {
        return Err(DecryptError::TooShort);
    }
    let cipher = cipher(key_file, passphrase, salt).ok_or(DecryptError::Wrong)?;
    let nonce = Nonce::try_from(nonce).map_err(|_| DecryptError::Wrong)?;
    let plain = cipher.decrypt(&nonce, ciphertext).map_err(|_| DecryptError::Wrong)?;
    String::from_utf8(plain).map_err(|_| DecryptError::Wrong)
}

fn cipher(key_file: &[u8], passphrase: &str, salt: &[u8]) -> Option<Aes256Gcm> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&Sha256::digest(key_file)).ok()?;
    mac.update(passphrase.as_bytes());
    let ikm = mac.finalize().into_bytes();
    let mut key = [0_u8; 32];
    Hkdf::<Sha256>::new(Some(salt), &ikm).expand(INFO, &mut key).ok()?;
    Aes256Gcm::new_from_slice(&key).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Encrypts, for tests.
    pub(crate) fn seal(plain: &str, key_file: &[u8], passphrase: &str) -> String {
        let (salt, nonce) = ([7_u8; SALT_LEN], [9_u8; NONCE_LEN]);
        let cipher = cipher(key_file, passphrase, &salt).unwrap();
        let ciphertext = cipher.encrypt(&Nonce::from(nonce), plain.as_bytes()).unwrap();
        BASE64.encode(&[&salt[..], &nonce[..], &ciphertext[..]].concat())
    }

    #[test]
    fn what_was_sealed_opens_with_the_same_key_and_with_no_other() {
        let sealed = seal("sk-sealed-1", b"key file", "passphrase");
        for (why, sealed, key, passphrase, want) in [
            ("the right key", sealed.as_str(), &b"key file"[..], "passphrase", Ok("sk-sealed-1".to_owned())),
            ("another passphrase", &sealed, b"key file", "Passphrase", Err(DecryptError::Wrong)),
            ("another key file", &sealed, b"key filf", "passphrase", Err(DecryptError::Wrong)),
            ("nothing", "", b"key file", "passphrase", Err(DecryptError::TooShort)),
            (
                "salt and nonce alone",
                &BASE64.encode(&[0; 28]),
                b"key file",
                "passphrase",
                Err(DecryptError::TooShort),
            ),
            ("no tag", &BASE64.encode(&[0; 30]), b"key file", "passphrase", Err(DecryptError::Wrong)),
        ] {
            assert_eq!(decrypt(sealed, key, passphrase), want, "{why}");
        }
        assert!(matches!(decrypt("!", b"k", "p"), Err(DecryptError::Base64(_))), "not base64");
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let blob = BASE64.decode(seal("sk-sealed-1", b"k", "p").as_bytes()).unwrap();
        for at in 0..blob.len() {
            let mut changed = blob.clone();
            changed[at] ^= 1;
            assert_eq!(decrypt(&BASE64.encode(&changed), b"k", "p"), Err(DecryptError::Wrong), "byte {at}");
        }
    }

    #[test]
    fn what_another_implementation_sealed_opens_here() {
        // Encrypted with Python's `cryptography` in the same format.
        let key_file =
            b"-----BEGIN OPENSSH PRIVATE KEY-----\nnot a real one\n-----END OPENSSH PRIVATE KEY-----\n";
        let sealed = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGzhwpCmmHu4H+oCIMQ6zQazDLgy/X+vCxByrHJCK3LMa0Q==";
        assert_eq!(decrypt(sealed, key_file, "correct horse").as_deref(), Ok("sk-from-elsewhere"));
    }
}
