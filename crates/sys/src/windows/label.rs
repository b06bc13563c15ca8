//! The integrity label of a directory: where confined children may write.

use super::check;
use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle};
use std::ptr;
use windows_sys::Win32::Foundation::{ERROR_SUCCESS, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW,
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo, SDDL_REVISION_1, SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    LABEL_SECURITY_INFORMATION, OBJECT_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, SetKernelObjectSecurity,
};

/// Memory of the system that is given back with `LocalFree`.
struct Local(*mut std::ffi::c_void);

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: a system call returned the memory to be given back this way, once.
        unsafe { LocalFree(self.0) };
    }
}

/// Labels a directory, and what will be created below it, with the low integrity level, and reads
/// the label back.
///
/// The handle needs the rights `WRITE_OWNER` and `READ_CONTROL`. It is the object itself that is
/// labelled, whatever its name leads to by now.
pub fn label_low(directory: BorrowedHandle<'_>) -> io::Result<()> {
    let handle = directory.as_raw_handle();
    // Inherited by directories and files; lower levels may not write.
    let descriptor = Descriptor::parse("S:(ML;OICI;NW;;;LW)")?;
    // The directory alone: what is in it is the child's, and would be gone through with the rights
    // of this process. SAFETY: the handle is open, and the descriptor outlives the call.
    check(unsafe { SetKernelObjectSecurity(handle, LABEL_SECURITY_INFORMATION, descriptor.get()) })?;
    let found = descriptor_text(directory, LABEL_SECURITY_INFORMATION)?;
    if !found.ends_with(";;;LW)") {
        return Err(io::Error::other(format!("the label of the directory is `{found}`, not low")));
    }
    Ok(())
}

/// A security descriptor.
pub(super) struct Descriptor(Local);

impl Descriptor {
    /// From the system's notation.
    pub(super) fn parse(text: &str) -> io::Result<Self> {
        let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
        // SAFETY: the text ends with a NUL; the descriptor is written to a local.
        check(unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                units.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                ptr::null_mut(),
            )
        })?;
        Ok(Self(Local(descriptor)))
    }

    pub(super) fn get(&self) -> PSECURITY_DESCRIPTOR {
        self.0.0
    }
}

/// A part of an object's security descriptor in the system's notation; empty where there is none.
pub(super) fn descriptor_text(
    object: BorrowedHandle<'_>,
    part: OBJECT_SECURITY_INFORMATION,
) -> io::Result<String> {
    let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
    let null = ptr::null_mut();
    // SAFETY: the handle is open; parts that are not asked for may be null; the descriptor is
    // written to a local.
    let code = unsafe {
        GetSecurityInfo(
            object.as_raw_handle(),
            SE_FILE_OBJECT,
            part,
            null,
            null,
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    succeeded(code)?;
    let descriptor = Local(descriptor);
    let (mut text, mut length) = (ptr::null_mut(), 0);
    // SAFETY: the descriptor is valid; text and length are written to locals.
    check(unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor.0,
            SDDL_REVISION_1,
            part,
            &raw mut text,
            &raw mut length,
        )
    })?;
    let text = Local(text.cast());
    // SAFETY: the call returned a text of this many units, which lives until it is given back.
    let units = unsafe { std::slice::from_raw_parts(text.0.cast::<u16>(), length as usize) };
    Ok(String::from_utf16_lossy(units).trim_end_matches('\0').to_owned())
}

pub(super) fn succeeded(code: u32) -> io::Result<()> {
    match code {
        ERROR_SUCCESS => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.cast_signed())),
    }
}
