//! Describes a configured server without its secrets: values of variables and headers, and the
//! credentials and query of a URL.

use picoclaw_policy::config::{Config, ExposeMode, MASK, McpServerConfig, McpTransport, Network, mask_words};
use picoclaw_sandbox::{Redactor, printable, shell_word};

/// `stdio` or `http`.
pub(super) fn kind(server: &McpServerConfig) -> &'static str {
    match server.transport {
        McpTransport::Stdio { .. } => "stdio",
        McpTransport::Http { .. } => "http",
    }
}

/// The command line, or the URL without what may be secret.
pub(super) fn target(server: &McpServerConfig, config: &Config) -> String {
    let text = match &server.transport {
        McpTransport::Stdio { command, args, .. } => {
            let words: Vec<&String> = std::iter::once(command).chain(args).collect();
            mask_words(&words).iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
        }
        McpTransport::Http { url, .. } => redact_url(url),
    };
    sanitize(&text, config)
}

/// Variables and headers with masked values, one per line.
pub(super) fn masked_values(server: &McpServerConfig) -> Vec<String> {
    match &server.transport {
        McpTransport::Stdio { env, env_file, .. } => {
            let file =
                env_file.iter().map(|path| format!("env_file: {}", printable(&path.to_string_lossy())));
            env.iter().map(|(name, _)| format!("env: {}={MASK}", printable(name))).chain(file).collect()
        }
        McpTransport::Http { headers, .. } => {
            headers.iter().map(|(name, _)| format!("header: {}: {MASK}", printable(name))).collect()
        }
    }
}

/// What its cage has besides, one per line.
pub(super) fn isolation(server: &McpServerConfig) -> Vec<String> {
    let exposures = server.isolation.expose_paths.iter().map(|exposure| {
        let mode = match exposure.mode {
            ExposeMode::ReadOnly => "ro",
            ExposeMode::ReadWrite => "rw",
        };
        format!("{mode}: {}", printable(&exposure.source.to_string_lossy()))
    });
    let network = server.isolation.network.as_ref().map(|network| match network {
        Network::None => "network: closed".to_owned(),
        Network::Host => "network: open, to every host".to_owned(),
        Network::Allow(hosts) => format!("network: by name, to {hosts}"),
    });
    exposures.chain(network).collect()
}

/// Text without control characters and without the configuration's secrets.
pub(super) fn sanitize(text: &str, config: &Config) -> String {
    printable(&Redactor::new(&config.secrets).clean(text)).into_owned()
}

/// The server of that name, or the error message.
pub(super) fn find<'c>(name: &str, config: &'c Config) -> Result<&'c McpServerConfig, String> {
    let found = config.mcp.servers.iter().find(|server| server.name == name);
    found.ok_or_else(|| {
        let known: Vec<_> = config.mcp.servers.iter().map(|server| server.name.as_str()).collect();
        let hint = match known.is_empty() {
            true => "the configuration names none yet; `picoclaw mcp add` puts one in".to_owned(),
            false => format!("the configuration names {}", printable(&known.join(", "))),
        };
        format!("there is no MCP server `{}`\nhint: {hint}", printable(name))
    })
}

/// A URL without user name, password and query.
fn redact_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (place, query) = rest.split_once(['?', '#']).map_or((rest, ""), |(place, _)| (place, "?…"));
    let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (url, want) in [
            ("https://api.example.com/mcp", "https://api.example.com/mcp"),
            ("https://me:pass@host:8443/mcp?key=abc", "https://host:8443/mcp?…"),
            ("http://127.0.0.1:1?a=b", "http://127.0.0.1:1?…"),
            ("https://host/a#token", "https://host/a?…"),
        ] {
            assert_eq!(redact_url(url), want);
        }
    }
}
