//! Home directories from `/etc/passwd`. Parsed as bytes, since a path need not be UTF-8; malformed
//! lines are skipped.

/// The home directories of root and of accounts that are not system accounts.
pub fn home_directories(accounts: &[u8]) -> Vec<&[u8]> {
    accounts.split(|byte| *byte == b'\n').filter_map(home_of_person).collect()
}

fn home_of_person(line: &[u8]) -> Option<&[u8]> {
    let mut fields = line.split(|byte| *byte == b':');
    let uid: u32 = std::str::from_utf8(fields.nth(2)?).ok()?.parse().ok()?;
    if uid != 0 && !(1_000..65_534).contains(&uid) {
        return None;
    }
    fields.nth(2).filter(|home| home.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_homes_and_system_accounts_do_not() {
        for (line, want) in [
            ("root:x:0:0:root:/root:/bin/bash", Some("/root")),
            ("user:x:1000:1000:,,,:/home/user:/bin/bash", Some("/home/user")),
            ("daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin", None),
            ("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin", None),
            ("user:x:1000:1000::/home/user", Some("/home/user")),
            ("user:x:1000:1000::home:/bin/sh", None),
            ("user:x:1000:1000::/home/user:/bin/sh:more:and:more", Some("/home/user")),
            ("user:x:1000:1000:", None),
            ("user:x:1000", None),
            ("user:x::1000::/home/user:/bin/sh", None),
            ("broken", None),
            ("", None),
        ] {
            assert_eq!(home_of_person(line.as_bytes()), want.map(str::as_bytes), "`{line}`");
        }
        let list =
            b"root:x:0:0:root:/root:/bin/bash\n\nbin:x:2:2::/bin:/x\nuser:x:1000:1000::/home/user:/bin/sh";
        assert_eq!(home_directories(list), [&b"/root"[..], b"/home/user"]);
    }
}
