//! Finds model servers on this machine, at the ports that they use by default.

use reqwest::Client;
use serde_json::Value;
use std::time::Duration;

/// How long a server may take; it is on this machine.
const TIMEOUT: Duration = Duration::from_millis(700);

/// The longest list of models that is read, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The most models of one server that are offered.
const MAX_MODELS: usize = 20;

/// Servers by protocol and default port.
const SERVERS: [(&str, u16); 4] = [("ollama", 11434), ("lmstudio", 1234), ("vllm", 8000), ("llamacpp", 8080)];

/// A model server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The protocol, as `provider` names it.
    pub provider: &'static str,
    /// Its port.
    pub port: u16,
    /// The ids of its models.
    pub models: Vec<String>,
}

/// The servers that answer on the loopback interface.
pub async fn local_servers() -> Vec<LocalServer> {
    // Fails when one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Ok(client) = Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(TIMEOUT)
        .tls_certs_only([])
        .build()
    else {
        return Vec::new();
    };
    let asked = SERVERS.map(|(provider, port)| {
        let client = client.clone();
        async move { Some(LocalServer { provider, port, models: models(&client, port).await? }) }
    });
    futures_util::future::join_all(asked).await.into_iter().flatten().collect()
}

/// The models of the server at `port`; `None` if nothing there serves models.
async fn models(client: &Client, port: u16) -> Option<Vec<String>> {
    let request = client.get(format!("http://127.0.0.1:{port}/v1/models"));
    let mut response = request.send().await.ok()?.error_for_status().ok()?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_BYTES {
            return None;
        }
    }
    let list: Value = serde_json::from_slice(&bytes).ok()?;
    let ids = list.get("data")?.as_array()?.iter().filter_map(|model| model.get("id")?.as_str());
    Some(ids.take(MAX_MODELS).map(str::to_owned).collect())
}
