//! Windows paths as text: one spelling each, or refused. Pure, and the same on every system.
//!
//! The Win32 layer gives one file many names: short names, trailing dots, streams, device prefixes.
//! A rule that compares text must not see them, so a spelling with a second meaning is refused.

/// The longest path that Windows takes, in UTF-16 units without the NUL.
const MAX_PATH_LEN: usize = 32_766;

/// The longest name of one component, in UTF-16 units.
const MAX_NAME_LEN: usize = 255;

/// Names of devices in every directory, whatever their extension. The superscripts count as digits.
const DEVICES: &[&str] = &["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];
const NUMBERED_DEVICES: &[&str] = &["COM", "LPT"];
const DEVICE_DIGITS: &str = "0123456789¹²³";

const OUTSIDE: &str = "access denied: path is outside the workspace";
const NOT_A_FILE: &str = "access denied: not a regular file";

/// Why a text is no path that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowsPathFault {
    /// `C:name` depends on the current directory of a drive.
    #[error(
        "{OUTSIDE}\nhint: a path on a drive is written `C:\\name`; `C:name` depends on a current directory"
    )]
    DriveRelative,
    /// `\\server\share\name`.
    #[error("{OUTSIDE}\nhint: it names a share of another machine")]
    Network,
    /// `\\.\name`, `\??\name`, or a name behind `\\?\` that is not on a drive.
    #[error("{OUTSIDE}\nhint: it names a device")]
    Device,
    /// No drive, where an absolute path is needed.
    #[error("{OUTSIDE}\nhint: an absolute path begins with a drive, as in `C:\\name`")]
    Relative,
    /// `PROGRA~1`: another name of a file with a longer one.
    #[error("{OUTSIDE}\nhint: a name such as `PROGRA~1` may be the short name of another file")]
    ShortName,
    /// Win32 removes trailing dots and spaces, so that the file opened has another name.
    #[error("{OUTSIDE}\nhint: Windows removes a dot or space at the end of a name")]
    TrailingDotOrSpace,
    /// `CON`, `NUL.txt`.
    #[error("{NOT_A_FILE}\nhint: the name is reserved for a device, with any extension")]
    ReservedName,
    /// `name:stream`.
    #[error("{NOT_A_FILE}\nhint: `:` in a name opens another stream of the file")]
    Stream,
    /// A control character, a wildcard, or one of `<>|"`.
    #[error("{NOT_A_FILE}\nhint: no file name contains control characters or any of `<>|\"?*`")]
    Character,
    /// Not valid Unicode, which no rule could match.
    #[error("{NOT_A_FILE}\nhint: the name is not valid Unicode")]
    NotUnicode,
    /// Longer than Windows accepts.
    #[error("path is longer than {MAX_PATH_LEN} characters, or a name in it longer than {MAX_NAME_LEN}")]
    TooLong,
}

/// The one spelling of `path`: a drive letter in upper case, `\` between names, no `.` and `..`.
///
/// A relative path starts at `base`, which must be such a spelling, and `\name` at its drive; `..`
/// at a drive stays there. Without `base`, `path` must be absolute.
pub fn fold(path: &str, base: Option<&str>) -> Result<String, WindowsPathFault> {
    use WindowsPathFault::{Device, DriveRelative, Network, Relative, TooLong};
    // `\\?\` turns the translation of names off, so separators are compared as they are there.
    let verbatim = path.strip_prefix(r"\\?\");
    let text = verbatim.unwrap_or(path);
    let is_separator = |c: char| c == '\\' || (c == '/' && verbatim.is_none());
    let (start, rest) = match split_drive(text) {
        Some((drive, rest)) if rest.starts_with(is_separator) => (format!("{drive}:"), rest),
        Some(_) => return Err(DriveRelative),
        None if verbatim.is_some() => return Err(verbatim_fault(text)),
        None => match prefix(text) {
            Prefix::Device => return Err(Device),
            Prefix::Network => return Err(Network),
            Prefix::Root => (base.ok_or(Relative)?.chars().take(2).collect(), text),
            Prefix::None => (base.ok_or(Relative)?.trim_end_matches('\\').to_owned(), text),
        },
    };
    let mut folded = start;
    for name in rest.split(is_separator).filter(|name| !name.is_empty()) {
        match name {
            // Behind `\\?\` these are names of files, which other programs cannot open.
            "." | ".." if verbatim.is_some() => return Err(WindowsPathFault::TrailingDotOrSpace),
            "." => {}
            ".." => folded.truncate(folded.rfind('\\').unwrap_or(folded.len())),
            name => {
                check_name(name)?;
                folded.push('\\');
                folded.push_str(name);
            }
        }
    }
    // A drive alone is relative to its current directory.
    if folded.len() == 2 {
        folded.push('\\');
    }
    if utf16_len(&folded) > MAX_PATH_LEN { Err(TooLong) } else { Ok(folded) }
}

/// A folded path in upper case: names that differ in case alone are the same file.
pub fn case_key(folded: &str) -> String {
    folded.chars().map(upper_case).collect()
}

/// The rest of `path` below `base`, both folded. `None` if it is not below.
pub fn below<'p>(path: &'p str, base: &str) -> Option<&'p str> {
    let mut rest = path.chars();
    for c in base.trim_end_matches('\\').chars() {
        if upper_case(rest.next()?) != upper_case(c) {
            return None;
        }
    }
    let rest = rest.as_str();
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('\\') }
}

/// NTFS compares characters in upper case one by one; those whose upper case is longer stay.
fn upper_case(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

enum Prefix {
    Device,
    Network,
    Root,
    None,
}

/// What a text without a drive begins with.
fn prefix(text: &str) -> Prefix {
    let text: String = text.chars().take(4).map(|c| if c == '/' { '\\' } else { c }).collect();
    match text.as_str() {
        r"\??\" | r"\\.\" | r"\\?\" | r"\\." | r"\\?" => Prefix::Device,
        text if text.starts_with(r"\\") => Prefix::Network,
        text if text.starts_with('\\') => Prefix::Root,
        _ => Prefix::None,
    }
}

fn verbatim_fault(rest: &str) -> WindowsPathFault {
    match rest.get(..4) {
        Some(kind) if kind.eq_ignore_ascii_case(r"UNC\") => WindowsPathFault::Network,
        _ => WindowsPathFault::Device,
    }
}

/// The drive letter in upper case, and what follows its colon.
fn split_drive(text: &str) -> Option<(char, &str)> {
    let letter = text.chars().next().filter(char::is_ascii_alphabetic)?;
    Some((letter.to_ascii_uppercase(), text[1..].strip_prefix(':')?))
}

fn check_name(name: &str) -> Result<(), WindowsPathFault> {
    use WindowsPathFault::{Character, ReservedName, ShortName, Stream, TooLong, TrailingDotOrSpace};
    if name.chars().any(|c| c.is_control() || "<>|\"?*/".contains(c)) {
        return Err(Character);
    }
    if is_reserved(name) {
        return Err(ReservedName);
    }
    if name.contains(':') {
        return Err(Stream);
    }
    if name.ends_with(['.', ' ']) {
        return Err(TrailingDotOrSpace);
    }
    if may_be_short(name) {
        return Err(ShortName);
    }
    if utf16_len(name) > MAX_NAME_LEN { Err(TooLong) } else { Ok(()) }
}

/// Whether the part before the first dot or colon names a device. Spaces before it do not count.
fn is_reserved(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or(name).trim_end_matches(' ');
    let upper = case_key(stem);
    let is_numbered = |device: &&str| {
        let mut digits = upper.strip_prefix(*device).unwrap_or_default().chars();
        digits.next().is_some_and(|digit| DEVICE_DIGITS.contains(digit)) && digits.next().is_none()
    };
    DEVICES.contains(&upper.as_str()) || NUMBERED_DEVICES.iter().any(is_numbered)
}

/// Whether a name has the form that Windows gives to short names: at most eight and three
/// characters, and `~` with digits at the end of the first part.
fn may_be_short(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let Some((before, digits)) = stem.rsplit_once('~') else { return false };
    stem.chars().count() <= 8
        && extension.chars().count() <= 3
        && !before.is_empty()
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}
