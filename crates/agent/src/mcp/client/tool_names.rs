//! The names under which a server's tools are offered. A name that had to be changed carries a hash
//! of the original, and so does one that could be a tool of another server.

/// The longest name that models accept.
const MAX_NAME_BYTES: usize = 64;

/// `mcp_<server>_<tool>`: lower case, other characters as `_`, runs collapsed, at most 64 bytes.
pub fn tool_name(server: &str, tool: &str) -> String {
    let name = plain_name(server, tool);
    name.unwrap_or_else(|| hashed_name(server, tool))
}

/// The name of a tool beside these servers. Where `mcp_a_b_c` could be `b_c` of server `a` and `c`
/// of server `a_b`, it is the one of the longer server name, whether or not that one is connected
/// and has such a tool; the other is offered with a hash.
pub(super) fn offered_name(server: &str, tool: &str, servers: &[String]) -> String {
    let own = normalize(&format!("mcp_{server}_"));
    let belongs_to_longer = |name: &String| {
        let prefixes = servers.iter().map(|other| normalize(&format!("mcp_{other}_")));
        prefixes.into_iter().any(|prefix| prefix.len() > own.len() && name.starts_with(&prefix))
    };
    let name = plain_name(server, tool).filter(|name| !belongs_to_longer(name));
    name.unwrap_or_else(|| hashed_name(server, tool))
}

/// The name in the characters that names have, without a hash.
pub(super) fn spelled_name(server: &str, tool: &str) -> String {
    normalize(&format!("mcp_{server}_{tool}"))
}

/// The name without a hash, if nothing of it had to be changed.
fn plain_name(server: &str, tool: &str) -> Option<String> {
    let plain = format!("mcp_{server}_{tool}");
    let name = normalize(&plain);
    (name == plain && !name.ends_with('_') && name.len() <= MAX_NAME_BYTES).then_some(name)
}

fn hashed_name(server: &str, tool: &str) -> String {
    let mut name = spelled_name(server, tool);
    let hash = fnv1a(&[server.as_bytes(), b"\0", tool.as_bytes()].concat());
    name.truncate(MAX_NAME_BYTES - 9);
    format!("{}_{hash:08x}", name.trim_end_matches('_'))
}

/// Whether a tool of this name can belong to `server`.
pub fn can_be_of(server: &str, name: &str) -> bool {
    // A changed name keeps its beginning, as far as it fits beside the hash.
    let prefix = normalize(&format!("mcp_{server}_"));
    name.starts_with(&prefix[..prefix.len().min(MAX_NAME_BYTES - 9)])
}

fn normalize(plain: &str) -> String {
    let mut name = String::with_capacity(plain.len());
    for c in plain.chars() {
        let c = if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        if c != '_' || !name.ends_with('_') {
            name.push(c);
        }
    }
    name
}

/// 32-bit FNV-1a, the hash of the original program's tool names.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_tool_it_is() {
        assert_eq!(tool_name("files", "read_file"), "mcp_files_read_file");
        let long = tool_name("files", &"x".repeat(100));
        assert!(long.len() == MAX_NAME_BYTES && long.starts_with("mcp_files_xxx"), "{long}");
        let lossy = tool_name("My Files", "read/file");
        assert!(lossy.starts_with("mcp_my_files_read_file_") && lossy.len() == 31, "{lossy}");
        assert_ne!(tool_name("a", "b-c"), tool_name("a", "b.c"), "what differs stays different");
        assert_ne!(tool_name("a_b", "c"), tool_name("a_b", "C"));
        for (server, tool) in
            [("files", "x"), ("My Files", "r/w"), (&*"s".repeat(80), "t"), ("a", &"y".repeat(90))]
        {
            assert!(can_be_of(server, &tool_name(server, tool)), "{server} {tool}");
        }
        assert!(!can_be_of("b", &tool_name("a", "b")));
        let servers = ["a".to_owned(), "a_b".to_owned()];
        assert_eq!(offered_name("a_b", "c", &servers), "mcp_a_b_c");
        let other = offered_name("a", "b_c", &servers);
        assert!(other.starts_with("mcp_a_b_c_") && can_be_of("a", &other), "{other}");
        assert_eq!(offered_name("a", "bc", &servers), "mcp_a_bc", "no other server's");
        assert_eq!(offered_name("a", "b_c", &servers[..1]), "mcp_a_b_c", "there is no other");
        assert_eq!(fnv1a(b"foobar"), 0xbf9c_f968, "the published vector");
    }
}
