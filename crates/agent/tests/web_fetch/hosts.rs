//! Which hosts are reached, however they are spelled and whatever their names stand for.

use crate::support::{Fickle, Fixture, HERE, Server, done, plain, refused, say};
use picoclaw_sandbox::outbound::Resolver;

const EVERYTHING: &[&str] = &["0.0.0.0/0", "::/0"];

#[test]
fn a_server_on_loopback_is_reached_by_its_whitelist_alone() {
    let server = Server::new(|_, stream| say(stream, &plain("hello")));
    let (open, closed) = (Fixture::new(HERE), Fixture::new(&[]));
    let page = done(&open.fetch(&server.url("/a")));
    assert_eq!((page["status"].as_u64(), page["text"].as_str()), (Some(200), Some("hello")));
    assert_eq!(server.visits(), 1, "the control run reaches it");

    let no = closed.fetch(&server.url("/a"));
    assert_eq!(refused(&no), "host_not_allowed");
    assert_eq!(server.visits(), 1, "nothing was dialled");
    let records = closed.records();
    assert_eq!(records.len(), 2, "decided and finished");
    assert_eq!(records[0].layer.as_deref(), Some("policy"));
    assert_eq!(records[0].intent, Some(format!("connect {} [127.0.0.1]", server.url("/a"))));
}

#[test]
fn every_spelling_of_this_machine_is_refused_and_would_have_reached_it() {
    let server = Server::new(|_, stream| say(stream, &plain("inside")));
    let port = server.address.port();
    let (open, closed) = (Fixture::new(EVERYTHING), Fixture::new(&[]));
    for (why, host) in [
        ("plain", "127.0.0.1"),
        ("short", "127.1"),
        ("hexadecimal", "0x7f.1"),
        ("one number", "2130706433"),
        ("one number in hexadecimal", "0x7f000001"),
        ("octal", "0177.0.0.1"),
        ("a trailing dot", "127.0.0.1."),
        ("ideographic full stops", "127。0。0。1"),
        ("percent signs", "%31%32%37.0.0.1"),
        ("this network, which Linux takes for this machine", "0.0.0.0"),
        ("the same, short", "0"),
        ("mapped", "[::ffff:127.0.0.1]"),
        ("mapped, in hexadecimal", "[::ffff:7f00:1]"),
        ("a name", "localhost"),
        ("a name in capitals", "LOCALHOST"),
    ] {
        let url = format!("http://{host}:{port}/");
        let before = server.visits();
        assert_eq!(refused(&closed.fetch(&url)), "host_not_allowed", "{why}: {url}");
        assert_eq!(server.visits(), before, "{why}: something was dialled for {url}");
        assert_eq!(done(&open.fetch(&url))["text"], "inside", "{why}: the control run of {url}");
        assert!(server.visits() > before, "{why}");
    }
}

#[test]
fn what_is_not_of_the_web_is_refused_before_anybody_looks() {
    let resolver = Fickle::new(&[&["127.0.0.1"]]);
    let fixture = Fixture::new(HERE);
    let tool = fixture.tool().resolving(resolver.clone());
    for (why, url) in [
        ("a file", "file:///etc/passwd"),
        ("another scheme", "gopher://a.example/_x"),
        ("a password", "http://me:pw@a.example/"),
        ("a host that is a user", "http://a.example@127.0.0.1/"),
        ("a port of others", "http://a.example:25/"),
        ("no address", "a.example"),
        ("nothing", ""),
        ("a smuggled header", "http://a.example/\r\nHost: b"),
    ] {
        assert_eq!(refused(&fixture.fetch_with(&tool, url)), "url_not_allowed", "{why}");
    }
    assert_eq!(resolver.times(), 0, "no name left this machine");
    assert!(fixture.records().iter().all(|record| !format!("{record:?}").contains("pw")));
}

#[test]
fn a_name_is_looked_up_once_and_the_answer_is_what_is_dialled() {
    let first = Server::new(|_, stream| say(stream, &plain("first")));
    let second = Server::at(format!("127.0.0.2:{}", first.address.port()).parse().unwrap(), |_, stream| {
        say(stream, &plain("second"));
    });
    let control = Fickle::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    assert_ne!(control.resolve("a").unwrap(), control.resolve("a").unwrap(), "the name does change");
    let everywhere = Fixture::new(EVERYTHING);
    assert_eq!(done(&everywhere.fetch(&second.url("/")))["text"], "second", "and what it changes to answers");

    let fixture = Fixture::new(HERE);
    let resolver = Fickle::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let tool = fixture.tool().resolving(resolver.clone());
    let url = format!("http://rebind.example:{}/", first.address.port());
    assert_eq!(done(&fixture.fetch_with(&tool, &url))["text"], "first");
    assert_eq!(resolver.times(), 1, "one look for one connection");
    assert_eq!(second.visits(), 1, "the control run alone");
    assert!(first.asked()[0].contains("\r\nHost: rebind.example:"), "the server is asked by its name");
    assert_eq!(refused(&fixture.fetch_with(&tool, &url)), "host_not_allowed", "the next call is judged anew");
}

#[test]
fn one_private_address_among_several_refuses_them_all() {
    let server = Server::new(|_, stream| say(stream, &plain("x")));
    let fixture = Fixture::new(HERE);
    let url = format!("http://many.example:{}/", server.address.port());
    for answer in [&["127.0.0.1", "127.0.0.2"][..], &["10.0.0.1", "127.0.0.1"], &["127.0.0.1", "::1"]] {
        let tool = fixture.tool().resolving(Fickle::new(&[answer]));
        assert_eq!(refused(&fixture.fetch_with(&tool, &url)), "host_not_allowed", "{answer:?}");
    }
    assert_eq!(server.visits(), 0);
    let unknown = fixture.tool().resolving(Fickle::new(&[]));
    assert_eq!(refused(&fixture.fetch_with(&unknown, &url)), "host_unknown");
    let nothing = fixture.tool().resolving(Fickle::new(&[&[]]));
    assert_eq!(refused(&fixture.fetch_with(&nothing, &url)), "host_unknown");
}

#[test]
fn the_next_address_is_tried_where_the_first_does_not_answer() {
    let server = Server::new(|_, stream| say(stream, &plain("second")));
    let fixture = Fixture::new(&["127.0.0.0/8"]);
    let tool = fixture.tool().resolving(Fickle::new(&[&["127.0.0.3", "127.0.0.1"]]));
    let url = format!("http://two.example:{}/", server.address.port());
    assert_eq!(done(&fixture.fetch_with(&tool, &url))["text"], "second");
}

#[test]
fn a_tool_that_is_switched_off_asks_nobody() {
    let fixture = Fixture::with(HERE, &["web_fetch"]);
    let resolver = Fickle::new(&[&["127.0.0.1"]]);
    let tool = fixture.tool().resolving(resolver.clone());
    assert_eq!(refused(&fixture.fetch_with(&tool, "http://secret.attacker.example/")), "tool_disabled");
    assert_eq!(resolver.times(), 0, "not even a look-up, which would tell the name to others");
}
