//! Random numbers of the system.

use std::io;
use windows_sys::Win32::Security::Cryptography::{BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom};

/// Fills `bytes` with random numbers that are fit for secrets.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    // SAFETY: pointer and length are those of `bytes`; the generator is the system's own, so no
    // handle is needed.
    let status = unsafe {
        BCryptGenRandom(std::ptr::null_mut(), bytes.as_mut_ptr(), length, BCRYPT_USE_SYSTEM_PREFERRED_RNG)
    };
    if status < 0 { Err(io::Error::other("the system has no random numbers")) } else { Ok(()) }
}
