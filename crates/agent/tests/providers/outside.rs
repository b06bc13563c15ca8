//! What the surroundings say: certificates are the system's, proxies are the entry's.
//!
//! Variables belong to a whole process, so each row runs one test of this file again, in a process of its own.

use crate::support::{ask, config, hello};
use picoclaw_agent::providers::{ErrorClass, Models};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// Where the other process puts the certificate of its own authority, and whether it trusts it.
const AUTHORITY: &str = "TEST_AUTHORITY";

/// Runs one test of this file in a process of its own, with these variables.
async fn again(test: &str, variables: &[(&str, &str)]) -> String {
    let program = std::env::current_exe().unwrap();
    let variables: Vec<_> = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let test = test.to_owned();
    let running = tokio::task::spawn_blocking(move || {
        std::process::Command::new(program)
            .args(["--exact", &test, "--nocapture", "--ignored"])
            .envs(variables)
            .output()
            .unwrap()
    });
    let output = running.await.unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    text
}

#[tokio::test]
async fn a_proxy_in_the_environment_is_nobodys() {
    let nobody = "http://127.0.0.1:1";
    let proxies = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let proxies: Vec<(&str, &str)> = proxies.iter().map(|name| (*name, nobody)).collect();
    again("outside::a_plain_question_is_answered", &proxies).await;
}

#[tokio::test]
#[ignore = "run by the test above, with other variables"]
async fn a_plain_question_is_answered() {
    let body = json!({"choices": [{"message": {"content": "hi"}}]}).to_string();
    let peer = crate::peer::Peer::new(vec![crate::peer::Act::Reply(200, "", body)]).await;
    let models = models(&peer.base);
    assert_eq!(ask(&models, &hello()).await.answer().content, "hi");
}

#[tokio::test]
async fn a_server_is_trusted_when_the_system_trusts_its_authority() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("authority.pem");
    let file = file.to_str().unwrap();
    let trusted =
        again("outside::a_question_goes_over_tls", &[(AUTHORITY, file), ("SSL_CERT_FILE", file)]).await;
    assert!(trusted.contains("answered: hi"), "{trusted}");
    let strange = again("outside::a_question_goes_over_tls", &[(AUTHORITY, file)]).await;
    assert!(strange.contains("refused: ") && strange.contains("certificate"), "{strange}");
}

#[tokio::test]
#[ignore = "run by the test above, with other variables"]
async fn a_question_goes_over_tls() {
    let base = secret_peer(Path::new(&std::env::var(AUTHORITY).unwrap())).await;
    match ask(&models(&base), &hello()).await.result {
        Ok((answer, _)) => eprintln!("answered: {}", answer.content),
        Err(why) => {
            // On a host without trusted certificates, there is nothing to compare with.
            assert!(matches!(why.class, ErrorClass::Network | ErrorClass::Malformed), "{why}");
            eprintln!("refused: {why}");
        }
    }
}

fn models(base: &str) -> Models {
    let entry = json!({"model_name": "m", "model": "openai/x", "api_base": base, "request_timeout": 5});
    let defaults = json!({"model_name": "m", "max_llm_retries": 0});
    Models::new(&config(&json!({"agents": {"defaults": defaults}, "model_list": [entry]})))
}

/// A peer behind TLS whose authority is written to `file`.
async fn secret_peer(file: &Path) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(file, authority.pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![leaf.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"}") && stream.read_buf(&mut bytes).await.unwrap_or_default() > 0 {}
            let body = json!({"choices": [{"message": {"content": "hi"}}]}).to_string();
            let head =
                format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    format!("https://localhost:{port}/v1")
}
