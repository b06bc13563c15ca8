//! The access list of a file: who may do what with it.

use super::check;
use super::label::{Descriptor, descriptor_text, succeeded};
use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle};
use std::ptr;
use windows_sys::Win32::Security::Authorization::{SE_FILE_OBJECT, SetSecurityInfo};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetSecurityDescriptorDacl, PROTECTED_DACL_SECURITY_INFORMATION,
    UNPROTECTED_DACL_SECURITY_INFORMATION,
};

/// The access list in the system's notation. The handle needs the right `READ_CONTROL`.
pub fn access_list(file: BorrowedHandle<'_>) -> io::Result<String> {
    descriptor_text(file, DACL_SECURITY_INFORMATION)
}

/// Replaces the access list. The handle needs the right `WRITE_DAC`.
pub fn set_access_list(file: BorrowedHandle<'_>, list: &str) -> io::Result<()> {
    let descriptor = Descriptor::parse(list)?;
    let (mut is_present, mut is_default, mut list_found) = (0, 0, ptr::null_mut());
    // SAFETY: the descriptor is valid; the results are written to locals. The list lies in the
    // descriptor.
    check(unsafe {
        GetSecurityDescriptorDacl(
            descriptor.get(),
            &raw mut is_present,
            &raw mut list_found,
            &raw mut is_default,
        )
    })?;
    if is_present == 0 {
        return Err(io::Error::other("there is no access list"));
    }
    // `P` keeps what the directory would add.
    let inheritance = if list.starts_with("D:P") {
        PROTECTED_DACL_SECURITY_INFORMATION
    } else {
        UNPROTECTED_DACL_SECURITY_INFORMATION
    };
    let null = ptr::null_mut();
    // SAFETY: the handle is open, and the list outlives the call.
    succeeded(unsafe {
        SetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION | inheritance,
            null,
            null,
            list_found,
            ptr::null(),
        )
    })
}
