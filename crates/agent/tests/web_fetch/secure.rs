//! Encrypted pages.

use crate::support::{Fickle, Fixture, HERE, Server, done, failed, head, plain, say};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::sync::Arc;

/// Made for this test, of no other use: `secure.example`, signed by itself, for a hundred years.
const CERTIFICATE: &[u8] = include_bytes!("secure.example.crt");
const KEY: &[u8] = include_bytes!("secure.example.key");

/// A server for `secure.example`, and a client's trust in it.
fn secure(answer: &'static str) -> (Server, Arc<ClientConfig>) {
    let certificate = CertificateDer::from(CERTIFICATE);
    let key = PrivateKeyDer::Pkcs8(KEY.into());
    let provider = Arc::new(default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let server = Server::raw("127.0.0.1:0".parse().unwrap(), Arc::default(), move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        if !head(&mut stream).is_empty() {
            say(&mut stream, answer);
        }
    });
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let trust = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (server, Arc::new(trust))
}

#[test]
fn a_server_is_spoken_to_if_somebody_vouches_for_its_name() {
    let (server, trust) = secure(plain("secret page").leak());
    let port = server.address.port();
    let fixture = Fixture::new(HERE);
    let resolver = Fickle::new(&[&["127.0.0.1"]]);
    let trusting = fixture.tool().resolving(resolver.clone()).trusting(trust);
    let page = done(&fixture.fetch_with(&trusting, &format!("https://secure.example:{port}/")));
    assert_eq!(page["text"], "secret page");
    let dot = done(&fixture.fetch_with(&trusting, &format!("https://secure.example.:{port}/")));
    assert_eq!(dot["text"], "secret page", "a trailing dot is the same name");

    let other = fixture.fetch_with(&trusting, &format!("https://other.example:{port}/"));
    assert!(failed(&other).contains("the secure connection failed: invalid peer certificate"), "{other:?}");
    let stranger = fixture.tool().resolving(resolver);
    let unknown = fixture.fetch_with(&stranger, &format!("https://secure.example:{port}/"));
    assert!(
        failed(&unknown).contains("the secure connection failed: "),
        "nobody on this machine vouches: {unknown:?}"
    );
    assert!(fixture.records().pop().unwrap().outcome.unwrap().starts_with("the secure connection failed: "));
}

#[test]
fn a_plain_server_is_not_mistaken_for_a_secure_one() {
    let server = Server::raw("127.0.0.1:0".parse().unwrap(), Arc::default(), |mut stream| {
        say(&mut stream, "HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let (_other, trust) = secure("");
    let fixture = Fixture::new(HERE);
    let tool = fixture.tool().resolving(Fickle::new(&[&["127.0.0.1"]])).trusting(trust);
    let reply = fixture.fetch_with(&tool, &format!("https://secure.example:{}/", server.address.port()));
    assert!(failed(&reply).contains("the secure connection failed: "), "{reply:?}");
}

#[test]
fn what_began_encrypted_does_not_go_on_in_the_clear() {
    let open = Server::new(|_, stream| say(stream, &plain("in the clear")));
    let answer = format!("HTTP/1.1 302 Found\r\nLocation: {}\r\n\r\n", open.url("/"));
    let (server, trust) = secure(answer.leak());
    let fixture = Fixture::new(HERE);
    let tool = fixture.tool().resolving(Fickle::new(&[&["127.0.0.1"]])).trusting(trust);
    let reply = fixture.fetch_with(&tool, &format!("https://secure.example:{}/", server.address.port()));
    assert!(failed(&reply).starts_with("failed to fetch: redirected from https to `http://"), "{reply:?}");
    assert_eq!(open.visits(), 0);
    assert_eq!(
        done(&fixture.fetch(&open.url("/")))["text"],
        "in the clear",
        "asked for by itself, it is fetched"
    );
}
