//! Servers that do not end, do not begin, or do not keep to the rules.

use crate::support::{Fickle, Fixture, HERE, Server, done, failed, plain, refused, say};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::outbound::Resolver;
use serde_json::json;
use std::io::Write;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_millis(400);

#[test]
fn a_server_that_takes_its_time_is_not_waited_for() {
    let silent = Server::new(|_, stream| {
        // Ends when the other side does.
        let _ = std::io::copy(stream, &mut std::io::sink());
    });
    let dripping = Server::new(|_, stream| {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let slow_head = Server::new(|_, stream| {
        say(stream, "HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X: y\r\n").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for (why, server) in
        [("silent", silent), ("a byte at a time", dripping), ("headers at a time", slow_head)]
    {
        let fixture = Fixture::new(HERE);
        let began = Instant::now();
        let reply = fixture.fetch_with(&fixture.tool().within(SOON), &server.url("/"));
        assert!(failed(&reply).ends_with("timed out after 0 seconds"), "{why}: {reply:?}");
        assert!(began.elapsed() < SOON * 10, "{why}: {:?}", began.elapsed());
        let finished = fixture.records().pop().unwrap();
        assert_eq!(
            (finished.phase.as_str(), finished.outcome.as_deref()),
            ("finished", Some("timed out")),
            "{why}"
        );
    }
}

#[test]
fn a_body_without_end_is_cut_at_the_limit() {
    let endless = |head: &'static str, unit: &'static str| {
        Server::new(move |_, stream| {
            say(stream, head);
            let block = unit.repeat(1000);
            while stream.write_all(block.as_bytes()).is_ok() {}
        })
    };
    for (why, server) in [
        ("no length", endless("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", "x")),
        (
            "chunks",
            endless(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n",
                "2\r\nxx\r\n",
            ),
        ),
        (
            "a huge length",
            endless(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99999999999\r\n\r\n",
                "x",
            ),
        ),
    ] {
        let mut fixture = Fixture::new(HERE);
        fixture.web.fetch_limit_bytes = 100_000;
        let reply = fixture.fetch(&server.url("/"));
        assert!(
            failed(&reply).ends_with("failed to read response: size exceeded 100000 bytes limit"),
            "{why}: {reply:?}"
        );
    }
    let headers = endless("HTTP/1.1 200 OK\r\n", "X: y\r\n");
    let reply = Fixture::new(HERE).fetch(&headers.url("/"));
    assert!(failed(&reply).ends_with("the response is not HTTP: its head is too long"), "{reply:?}");
}

#[test]
fn what_is_not_a_whole_answer_is_named() {
    for (answer, want) in [
        ("", "the response was cut off"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhalf",
            "the response was cut off",
        ),
        ("SSH-2.0-OpenSSH_9.9\r\n\r\n", "the response is not HTTP: its head is malformed"),
        ("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x01", "the content is not text (`image/png`)"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\nx",
            "the response is compressed (`br`), which was not requested and is not supported",
        ),
    ] {
        let server = Server::saying(answer);
        let fixture = Fixture::new(HERE);
        let reply = fixture.fetch(&server.url("/"));
        assert_eq!(failed(&reply), format!("failed to fetch `{}`: {want}", server.url("/")));
        assert_eq!(fixture.records().pop().unwrap().outcome.as_deref(), Some(want), "on the record");
    }
}

#[test]
fn a_picture_that_says_it_is_text_is_found_out() {
    let server = Server::saying("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n\u{89}PNG\r\n\0");
    let fixture = Fixture::new(HERE);
    let reply = fixture.fetch(&server.url("/"));
    assert!(failed(&reply).ends_with("the content is not text (`binary`)"), "{reply:?}");
    let finished = fixture.records().pop().unwrap();
    assert_eq!(finished.outcome.as_deref(), Some("status 200, 8 bytes"), "the connection itself went well");
}

#[test]
fn nobody_home_is_a_failure_on_the_record() {
    let fixture = Fixture::new(HERE);
    // The port was free a moment ago; a refused connection is what is left of its server.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let reply = fixture.fetch(&format!("http://{closed}/"));
    assert!(failed(&reply).contains(&format!("could not connect to `{closed}`: ")), "{reply:?}");
    assert!(fixture.records().pop().unwrap().outcome.unwrap().starts_with("could not connect to "));
}

#[test]
fn a_halt_ends_a_fetch_at_once() {
    let (tell, hear) = mpsc::channel();
    let silent = Server::new(move |_, stream| {
        tell.send(()).unwrap();
        let _ = std::io::copy(stream, &mut std::io::sink());
    });
    let halt = CancelToken::new();
    let theirs = halt.clone();
    let stopper = std::thread::spawn(move || {
        hear.recv().unwrap();
        theirs.cancel();
    });
    let fixture = Fixture::new(HERE);
    let began = Instant::now();
    let reply = fixture.run(&fixture.tool(), &json!({"url": silent.url("/")}), &halt);
    stopper.join().unwrap();
    assert!(failed(&reply).ends_with(": stopped"), "{reply:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(fixture.records().pop().unwrap().outcome.as_deref(), Some("stopped"));
}

#[test]
fn a_resolver_that_never_answers_is_a_refusal_on_the_record() {
    struct Stuck(Mutex<mpsc::Receiver<()>>);
    impl Resolver for Stuck {
        fn resolve(&self, _host: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
            let _ = self.0.lock().unwrap().recv();
            Ok(vec!["127.0.0.1".parse().unwrap()])
        }
    }
    let (release, stuck) = mpsc::channel();
    let fixture = Fixture::new(HERE);
    let tool = fixture.tool().resolving(Arc::new(Stuck(Mutex::new(stuck)))).within(SOON);
    let began = Instant::now();
    assert_eq!(refused(&fixture.fetch_with(&tool, "http://slow.example/")), "host_unknown");
    assert!(began.elapsed() < SOON * 10, "{:?}", began.elapsed());
    assert_eq!(fixture.records().len(), 2, "a pair, as for every call");
    drop(release);
}

#[test]
fn the_time_is_for_everything_together() {
    let server = Server::new(|_, stream| {
        std::thread::sleep(Duration::from_millis(150));
        say(stream, "HTTP/1.1 302 Found\r\nLocation: /next\r\n\r\n");
    });
    let fixture = Fixture::new(HERE);
    let reply = fixture.fetch_with(&fixture.tool().within(SOON), &server.url("/"));
    assert!(failed(&reply).contains("timed out"), "redirects buy no time: {reply:?}");
}

#[test]
fn many_fetches_at_once_do_not_mix() {
    let server = Server::new(|head, stream| {
        let path = head.split(' ').nth(1).unwrap().to_owned();
        say(stream, &plain(&path));
    });
    let fixture = Fixture::new(HERE);
    let tool = Arc::new(fixture.tool().resolving(Fickle::new(&[&["127.0.0.1"]])));
    let port = server.address.port();
    std::thread::scope(|scope| {
        for n in 0..12 {
            let (fixture, tool) = (&fixture, &tool);
            scope.spawn(move || {
                let url = format!("http://host{n}.example:{port}/{n}");
                assert_eq!(done(&fixture.fetch_with(tool, &url))["text"], format!("/{n}"));
            });
        }
    });
}
