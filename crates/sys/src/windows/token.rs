//! The token of a confined child: no privileges, administrators deny-only, low integrity.

use super::{check, own};
use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, OwnedHandle};
use std::ptr;
use windows_sys::Win32::Foundation::LUID;
use windows_sys::Win32::Security::{
    CreateRestrictedToken, CreateWellKnownSid, GetSidSubAuthority, GetSidSubAuthorityCount,
    GetTokenInformation, LUID_AND_ATTRIBUTES, LookupPrivilegeValueW, PSID, SE_CHANGE_NOTIFY_NAME,
    SECURITY_MAX_SID_SIZE, SID_AND_ATTRIBUTES, SetTokenInformation, TOKEN_ADJUST_DEFAULT,
    TOKEN_ASSIGN_PRIMARY, TOKEN_DUPLICATE, TOKEN_GROUPS, TOKEN_INFORMATION_CLASS, TOKEN_MANDATORY_LABEL,
    TOKEN_PRIVILEGES, TOKEN_QUERY, TokenGroups, TokenIntegrityLevel, TokenPrivileges, WELL_KNOWN_SID_TYPE,
    WinLowLabelSid,
};
use windows_sys::Win32::System::SystemServices::{
    SE_GROUP_INTEGRITY, SE_GROUP_USE_FOR_DENY_ONLY, SECURITY_MANDATORY_LOW_RID,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// The last parts of the SIDs of groups whose rights a confined child must not have: administrators
/// of a domain, a schema, a forest and its policies, local administrators also by the group of
/// their accounts, power users, and operators of accounts, servers, printers and backups.
const DENIED_RIDS: &[u32] = &[512, 518, 519, 520, 544, 114, 547, 548, 549, 550, 551];

/// A primary token of less authority than that of this process.
#[derive(Debug)]
pub struct RestrictedToken(OwnedHandle);

impl RestrictedToken {
    /// Takes the token of this process, deletes each privilege but the one to traverse directories,
    /// and leaves the groups of administrators for denying alone. Reads both back.
    pub fn new() -> io::Result<Self> {
        let access = TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY | TOKEN_QUERY | TOKEN_ADJUST_DEFAULT;
        // SAFETY: the pseudo handle of this process is always valid and needs no closing.
        let own_token = open(unsafe { GetCurrentProcess() }, access)?;
        let kept = traverse_privilege()?;
        let deleted: Vec<_> =
            privileges(&own_token)?.into_iter().filter(|privilege| !is_same(privilege.Luid, kept)).collect();
        let own_groups = information(&own_token, TokenGroups)?;
        let disabled: Vec<_> = groups(&own_groups)
            .iter()
            .filter(|group| administrates(group))
            .map(|group| SID_AND_ATTRIBUTES { Attributes: 0, ..*group })
            .collect();
        let mut token = ptr::null_mut();
        // SAFETY: counts and pointers are those of live vectors, and the SIDs that they name
        // outlive the call.
        check(unsafe {
            CreateRestrictedToken(
                own_token.as_raw_handle(),
                0,
                disabled.len() as u32,
                disabled.as_ptr(),
                deleted.len() as u32,
                deleted.as_ptr(),
                0,
                ptr::null(),
                &raw mut token,
            )
        })?;
        let token = Self(own(token)?);
        if privileges(&token.0)?.iter().any(|privilege| !is_same(privilege.Luid, kept)) {
            return Err(io::Error::other("the token still has privileges"));
        }
        if groups(&information(&token.0, TokenGroups)?).iter().any(administrates) {
            return Err(io::Error::other("the token still has the rights of administrators"));
        }
        Ok(token)
    }

    /// Lowers the integrity level, so that nothing of a higher level can be written.
    pub fn lower_integrity(&self) -> io::Result<()> {
        let mut sid = well_known_sid(WinLowLabelSid)?;
        let label = TOKEN_MANDATORY_LABEL {
            Label: SID_AND_ATTRIBUTES { Sid: sid.as_mut_ptr().cast(), Attributes: SE_GROUP_INTEGRITY as u32 },
        };
        // SAFETY: the label and the SID that it names outlive the call.
        check(unsafe {
            SetTokenInformation(
                self.0.as_raw_handle(),
                TokenIntegrityLevel,
                ptr::from_ref(&label).cast(),
                (size_of::<TOKEN_MANDATORY_LABEL>() + size_of_val(&sid)) as u32,
            )
        })?;
        check_low(&self.0)
    }

    pub(super) fn handle(&self) -> BorrowedHandle<'_> {
        use std::os::windows::io::AsHandle as _;
        self.0.as_handle()
    }
}

/// Reads back that the token of a process has the low integrity level.
pub(super) fn check_process_is_low(process: BorrowedHandle<'_>) -> io::Result<()> {
    check_low(&open(process.as_raw_handle(), TOKEN_QUERY)?)
}

fn check_low(token: &OwnedHandle) -> io::Result<()> {
    let buffer = information(token, TokenIntegrityLevel)?;
    // SAFETY: the kernel filled the buffer with this structure; its SID lies in the same buffer.
    let level = last_part(unsafe { (*buffer.as_ptr().cast::<TOKEN_MANDATORY_LABEL>()).Label.Sid });
    if level > SECURITY_MANDATORY_LOW_RID as u32 {
        return Err(io::Error::other(format!("the integrity level is {level:#x}, not low")));
    }
    Ok(())
}

fn open(process: std::os::windows::io::RawHandle, access: u32) -> io::Result<OwnedHandle> {
    let mut token = ptr::null_mut();
    // SAFETY: the process handle is open, and the token is written to a local.
    check(unsafe { OpenProcessToken(process, access, &raw mut token) })?;
    own(token)
}

/// A token's information of one class, aligned for any structure.
fn information(token: &OwnedHandle, class: TOKEN_INFORMATION_CLASS) -> io::Result<Vec<u64>> {
    let mut size = 0;
    // SAFETY: without a buffer the call only says how large one must be.
    unsafe { GetTokenInformation(token.as_raw_handle(), class, ptr::null_mut(), 0, &raw mut size) };
    let mut buffer = vec![0_u64; (size as usize).div_ceil(8).max(1)];
    let room = (buffer.len() * 8) as u32;
    // SAFETY: pointer and size are those of the buffer.
    check(unsafe {
        GetTokenInformation(token.as_raw_handle(), class, buffer.as_mut_ptr().cast(), room, &raw mut size)
    })?;
    Ok(buffer)
}

/// The groups of a token.
fn groups(information: &[u64]) -> &[SID_AND_ATTRIBUTES] {
    // SAFETY: the kernel filled the buffer with this structure and as many groups as it says.
    unsafe {
        let head = information.as_ptr().cast::<TOKEN_GROUPS>();
        let first = (&raw const (*head).Groups).cast::<SID_AND_ATTRIBUTES>();
        std::slice::from_raw_parts(first, (*head).GroupCount as usize)
    }
}

/// Whether a group has rights of administrators and grants them.
fn administrates(group: &SID_AND_ATTRIBUTES) -> bool {
    let is_denied = group.Attributes & SE_GROUP_USE_FOR_DENY_ONLY as u32 != 0;
    !is_denied && DENIED_RIDS.contains(&last_part(group.Sid))
}

/// The last part of a valid SID.
fn last_part(sid: PSID) -> u32 {
    // SAFETY: callers pass a SID that the kernel wrote, which has a last part.
    unsafe {
        let last = u32::from(*GetSidSubAuthorityCount(sid)).saturating_sub(1);
        *GetSidSubAuthority(sid, last)
    }
}

fn privileges(token: &OwnedHandle) -> io::Result<Vec<LUID_AND_ATTRIBUTES>> {
    let buffer = information(token, TokenPrivileges)?;
    // SAFETY: the kernel filled the buffer with this structure and as many privileges as it says.
    let found = unsafe {
        let head = buffer.as_ptr().cast::<TOKEN_PRIVILEGES>();
        let first = (&raw const (*head).Privileges).cast::<LUID_AND_ATTRIBUTES>();
        std::slice::from_raw_parts(first, (*head).PrivilegeCount as usize)
    };
    Ok(found.to_vec())
}

/// `SeChangeNotifyPrivilege`: without it a path cannot be opened below a directory that cannot be
/// listed.
fn traverse_privilege() -> io::Result<LUID> {
    let mut luid = LUID::default();
    // SAFETY: the name is a constant with a NUL; the result is written to a local.
    check(unsafe { LookupPrivilegeValueW(ptr::null(), SE_CHANGE_NOTIFY_NAME, &raw mut luid) })?;
    Ok(luid)
}

fn is_same(a: LUID, b: LUID) -> bool {
    (a.LowPart, a.HighPart) == (b.LowPart, b.HighPart)
}

fn well_known_sid(kind: WELL_KNOWN_SID_TYPE) -> io::Result<[u32; SECURITY_MAX_SID_SIZE as usize / 4]> {
    let mut sid = [0; SECURITY_MAX_SID_SIZE as usize / 4];
    let mut size = size_of_val(&sid) as u32;
    // SAFETY: pointer and size are those of the array, which has room for every SID.
    check(unsafe { CreateWellKnownSid(kind, ptr::null_mut(), sid.as_mut_ptr().cast(), &raw mut size) })?;
    Ok(sid)
}
