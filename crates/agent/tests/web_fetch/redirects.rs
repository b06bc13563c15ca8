//! Redirects: each is judged as if it had been asked for.

use crate::support::{Fixture, HERE, Server, done, failed, plain, refused, say};
use picoclaw_agent::call::Reply;

fn to(location: impl Into<String>) -> Server {
    let location = location.into();
    Server::new(move |_, stream| say(stream, &format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\n\r\n")))
}

#[test]
fn a_redirect_inwards_is_refused_and_would_have_arrived() {
    let inside = Server::at("127.0.0.2:0".parse().unwrap(), |_, stream| say(stream, &plain("inside")));
    for target in [inside.url("/"), format!("http://127.0.0.2.:{}/", inside.address.port())] {
        let server = to(target.clone());
        let before = inside.visits();
        let fixture = Fixture::new(HERE);
        let reply = fixture.fetch(&server.url("/"));
        assert_eq!(refused(&reply), "host_not_allowed", "{target}");
        let Reply::Refused(no) = &reply else { panic!("{reply:?}") };
        assert!(no.hint.starts_with(&format!("`{}` redirects there; ", server.url("/"))), "{}", no.hint);
        assert_eq!(inside.visits(), before, "{target}");
        let phases: Vec<_> = fixture.records().iter().map(|r| format!("{} {}", r.phase, r.verdict)).collect();
        assert_eq!(phases, ["decided allow", "finished allow", "decided deny", "finished deny"], "{target}");
        let control = Fixture::new(&["127.0.0.0/8"]);
        assert_eq!(done(&control.fetch(&server.url("/")))["text"], "inside", "the control run of {target}");
    }
}

#[test]
fn a_redirect_to_anything_but_a_public_page_is_refused() {
    for (why, location, code) in [
        ("metadata", "http://169.254.169.254/latest/meta-data/", "host_not_allowed"),
        ("metadata as a number", "http://2852039166/", "host_not_allowed"),
        ("without a scheme", "//10.0.0.1/", "host_not_allowed"),
        ("NAT64 of metadata", "http://[64:ff9b::a9fe:a9fe]/", "host_not_allowed"),
        ("a port of others", "http://127.0.0.1:22/", "url_not_allowed"),
    ] {
        let server = to(location);
        assert_eq!(refused(&Fixture::new(HERE).fetch(&server.url("/"))), code, "{why}");
    }
    for (why, location) in
        [("a file", "file:///etc/passwd"), ("a password", "http://me:pw@127.0.0.1/"), ("nonsense", "http://")]
    {
        let server = to(location);
        let fixture = Fixture::new(HERE);
        assert_eq!(refused(&fixture.fetch(&server.url("/"))), "url_not_allowed", "{why}");
        let records = format!("{:?}", fixture.records());
        assert!(records.contains("url_not_allowed") && !records.contains("pw"), "{why}: {records}");
    }
}

#[test]
fn a_redirect_may_be_relative_and_is_told_by_its_last_address() {
    let server = Server::new(|head, stream| {
        let path = head.split(' ').nth(1).unwrap();
        match path {
            "/a/start" => {
                say(stream, "HTTP/1.1 301 Moved\r\nLocation: next?x=1#there\r\nContent-Length: 3\r\n\r\nold")
            }
            "/a/next?x=1" => say(stream, "HTTP/1.1 307 Go\r\nLocation: /end\r\n\r\n"),
            _ => say(stream, &plain(path)),
        }
    });
    let page = done(&Fixture::new(HERE).fetch(&server.url("/a/start")));
    assert_eq!(
        (page["url"].as_str(), page["text"].as_str()),
        (Some(server.url("/end").as_str()), Some("/end"))
    );
}

#[test]
fn redirects_end() {
    let server = to("/again");
    let fixture = Fixture::new(HERE);
    let reply = fixture.fetch(&server.url("/"));
    assert_eq!(failed(&reply), "failed to fetch: stopped after 5 redirects");
    assert_eq!(server.visits(), 6, "the first, and five more");
    assert_eq!(fixture.records().len(), 12, "each with its own pair of records");
}

#[test]
fn an_answer_that_only_looks_like_a_redirect_is_a_page() {
    let server =
        Server::saying("HTTP/1.1 302 Found\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi");
    let page = done(&Fixture::new(HERE).fetch(&server.url("/")));
    assert_eq!((page["status"].as_u64(), page["text"].as_str()), (Some(302), Some("hi")));
}
