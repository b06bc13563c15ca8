//! The `/etc/passwd` of a cage: the host's, with the home that the child has.

/// Replaces the home of the user `uid`. A user who is not in the file, as with a directory service
/// that the cage does not reach, is added as `name`.
pub fn passwd_with_home(text: &str, (uid, gid): (u32, u32), name: &str, home: &str) -> String {
    let is_own = |line: &str| line.split(':').nth(2).is_some_and(|field| field == uid.to_string());
    let moved = |line: &str| {
        let mut fields: Vec<&str> = line.split(':').collect();
        if let Some(field) = fields.get_mut(5).filter(|_| is_own(line)) {
            *field = home;
        }
        fields.join(":") + "\n"
    };
    let mut passwd: String = text.lines().map(moved).collect();
    if !text.lines().any(is_own) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_name = !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain);
        let name = if is_name { name } else { "user" };
        passwd.push_str(&format!("{name}:x:{uid}:{gid}::{home}:/bin/sh\n"));
    }
    passwd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_home_is_replaced_and_no_other() {
        let host = "root:x:0:0:root:/root:/bin/bash\nme:x:1000:1000:Me,,,:/home/me:/bin/zsh\n";
        for (why, uid, name, want) in [
            ("a user", 1000, "me", host.replace("/home/me", "/run/home")),
            ("root", 0, "root", host.replace("/root", "/run/home")),
            ("one of a directory service", 7, "a.b", format!("{host}a.b:x:7:8::/run/home:/bin/sh\n")),
            ("a name with a colon", 7, "a:0", format!("{host}user:x:7:8::/run/home:/bin/sh\n")),
            ("no name", 7, "", format!("{host}user:x:7:8::/run/home:/bin/sh\n")),
        ] {
            assert_eq!(passwd_with_home(host, (uid, 8), name, "/run/home"), want, "{why}");
        }
        let broken = "root\n:::\n";
        let want = format!("{broken}me:x:0:0::/h:/bin/sh\n");
        assert_eq!(passwd_with_home(broken, (0, 0), "me", "/h"), want, "lines that are no entries");
    }
}
