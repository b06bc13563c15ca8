//! Runs `spec/windows_paths.toml`, row by row.

use picoclaw_policy::windows_path::{WindowsPathFault, below, case_key, fold};

const WORKSPACE: &str = r"C:\Users\u\.picoclaw\workspace";
const INSTANCE: &str = r"C:\Users\u\.picoclaw";

#[derive(serde::Deserialize)]
struct Table {
    row: Vec<Row>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    path: String,
    is: Option<String>,
    zone: Option<String>,
    refused: Option<String>,
}

fn zone(folded: &str) -> &'static str {
    match (below(folded, WORKSPACE), below(folded, INSTANCE)) {
        (Some(_), _) => "workspace",
        (None, Some(_)) => "protected",
        (None, None) => "outside",
    }
}

fn sentence(fault: WindowsPathFault) -> &'static str {
    match fault.to_string().lines().next().unwrap_or_default() {
        "access denied: path is outside the workspace" => "outside",
        "access denied: not a regular file" => "not a file",
        _ => "another sentence",
    }
}

#[test]
fn every_row_has_one_spelling_or_is_refused() {
    let table: Table = toml::from_str(include_str!("../../../spec/windows_paths.toml")).unwrap();
    assert!(table.row.len() > 70, "the table has only {} rows", table.row.len());
    for row in &table.row {
        let case = format!("{}: `{}`", row.why, row.path);
        let folded = fold(&row.path, Some(WORKSPACE));
        assert_eq!(folded.as_ref().ok(), row.is.as_ref(), "{case}: {folded:?}");
        assert_eq!(folded.as_deref().ok().map(zone), row.zone.as_deref(), "{case}");
        assert_eq!(folded.err().map(sentence), row.refused.as_deref(), "{case}");
    }
}

#[test]
fn a_folded_path_folds_to_itself_and_needs_no_base() {
    let table: Table = toml::from_str(include_str!("../../../spec/windows_paths.toml")).unwrap();
    for path in table.row.iter().filter_map(|row| row.is.as_deref()) {
        assert_eq!(fold(path, None).as_deref(), Ok(path));
        assert_eq!(below(path, path), Some(""), "`{path}`");
        assert_eq!(fold(&case_key(path), None).map(|folded| case_key(&folded)), Ok(case_key(path)));
    }
}

#[test]
fn case_folds_beyond_ascii_and_names_stay_whole() {
    for (path, base, want) in [
        (r"C:\ÜNTER\x", r"C:\ünter", Some("x")),
        (r"C:\ünter", r"C:\ÜNTER", Some("")),
        (r"C:\untere", r"C:\unter", None),
        (r"C:\x", r"C:\", Some("x")),
        (r"D:\x", r"C:\", None),
        (r"C:\straße", r"C:\STRASSE", None),
    ] {
        assert_eq!(below(path, base), want, "`{path}` below `{base}`");
    }
}

#[test]
fn without_a_base_a_path_needs_a_drive() {
    for path in ["x", r"\x", "", "."] {
        assert_eq!(fold(path, None), Err(WindowsPathFault::Relative), "`{path}`");
    }
}

#[test]
fn lengths_are_those_of_windows() {
    let name = "n".repeat(255);
    assert!(fold(&name, Some(WORKSPACE)).is_ok());
    assert_eq!(fold(&format!("{name}n"), Some(WORKSPACE)), Err(WindowsPathFault::TooLong));
    assert_eq!(fold(&format!("{name}\\").repeat(128), Some(WORKSPACE)), Err(WindowsPathFault::TooLong));
    // A character outside the basic plane is two UTF-16 units.
    assert_eq!(fold(&"𝄞".repeat(128), Some(WORKSPACE)), Err(WindowsPathFault::TooLong));
}

/// Every short text of separators, dots and odd names: what is not refused is what Windows opens.
/// `std::path::absolute` asks the system for the full path.
#[cfg(windows)]
#[test]
fn a_folded_path_is_the_full_path_of_windows() {
    const PIECES: &[&str] = &["a", "B.txt", "..", ".", "\\", "/", " ", "NUL", "COM1.x", ":", "x~1"];
    const LENGTH: u32 = 5;
    let (mut accepted, mut refused) = (0, 0);
    for number in 0..PIECES.len().pow(LENGTH) {
        let digits = (0..LENGTH).map(|place| number / PIECES.len().pow(place) % PIECES.len());
        let text: String = digits.map(|digit| PIECES[digit]).collect();
        let Ok(folded) = fold(&text, Some(WORKSPACE)) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        let full = std::path::absolute(std::path::Path::new(WORKSPACE).join(&text)).unwrap();
        let full = full.to_str().unwrap();
        let full = if full.len() > 3 { full.trim_end_matches('\\') } else { full };
        assert_eq!(case_key(&folded), case_key(full), "`{text}`");
    }
    assert!(accepted > 10_000 && refused > 10_000, "{accepted} accepted, {refused} refused");
}
