//! RELRO of a statically linked program.
//!
//! musl's start-up code relocates a static PIE but leaves its `PT_GNU_RELRO` segment writable: only
//! its dynamic linker applies that header.

use std::ffi::{c_int, c_void};
use std::io;

/// Makes the program's `PT_GNU_RELRO` segment read-only, as a dynamic linker does after relocation.
pub fn protect_relro() -> io::Result<()> {
    let mut result = Ok(());
    // SAFETY: `protect` has the callback's signature, and `data` points to `result`, which outlives
    // the call.
    unsafe { libc::dl_iterate_phdr(Some(protect), (&raw mut result).cast()) };
    result
}

/// Called for each loaded object; the first one is the program itself, and no other is asked for.
unsafe extern "C" fn protect(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the C library passes a valid object description with `dlpi_phnum` program headers.
    let (base, headers) = unsafe {
        let info = &*info;
        (info.dlpi_addr, std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)))
    };
    // SAFETY: an integer argument.
    let page = unsafe { libc::getauxval(libc::AT_PAGESZ) };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_GNU_RELRO) {
        let start = (base + header.p_vaddr) & !(page - 1);
        let end = (base + header.p_vaddr + header.p_memsz) & !(page - 1);
        // SAFETY: the linker put only data that is constant after relocation into these pages of
        // our own image; what follows on the last, partial page stays writable.
        if unsafe { libc::mprotect(start as *mut c_void, (end - start) as usize, libc::PROT_READ) } != 0 {
            // SAFETY: `data` is the caller's `result`.
            unsafe { *data.cast::<io::Result<()>>() = Err(io::Error::last_os_error()) };
        }
    }
    1
}
