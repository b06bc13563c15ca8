//! Parses the `env_file` of an MCP server.

/// Parses `KEY=value` lines. `#` starts a comment line; quotes around a value and a leading
/// `export` are removed. Any other line is an error.
pub fn read_env_file(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut variables = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let invalid = || format!("line {} of the env file is no `KEY=value`", number + 1);
        let (name, value) = line.split_once('=').ok_or_else(invalid)?;
        let name = name.trim();
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
        if !is_name {
            return Err(invalid());
        }
        variables.push((name.to_owned(), unquote(value.trim()).to_owned()));
    }
    Ok(variables)
}

fn unquote(value: &str) -> &str {
    let within = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_env_file_is_assignments_and_comments() {
        let text = "# a comment\n\nA=1\n B = two words \nexport C=\"quoted\"\nD='x=y'\nE=\n";
        let want = [("A", "1"), ("B", "two words"), ("C", "quoted"), ("D", "x=y"), ("E", "")];
        assert_eq!(read_env_file(text).unwrap(), want.map(|(k, v)| (k.to_owned(), v.to_owned())));
        for (why, bad) in
            [("no assignment", "A"), ("no name", "=x"), ("a space in it", "A B=1"), ("a digit first", "1A=x")]
        {
            assert!(read_env_file(bad).is_err(), "{why}: `{bad}`");
        }
    }
}
