//! What a page is turned into.

use crate::support::{Fixture, HERE, Server, done, say};
use picoclaw_agent::call::Reply;
use picoclaw_sandbox::launch::CancelToken;
use serde_json::json;

const PAGE: &str = "<!doctype html><html><head><title>A &amp; B</title><script>steal()</script></head>\
    <body><h1>Hello</h1><p>See <a href='/more'>more</a>.</p><!-- hidden --></body></html>";

fn serving(kind: &'static str, body: &'static [u8]) -> Server {
    Server::new(move |_, stream| {
        say(stream, &format!("HTTP/1.1 200 OK\r\n{kind}Content-Length: {}\r\n\r\n", body.len()));
        let _ = std::io::Write::write_all(stream, body);
    })
}

#[test]
fn the_answer_is_one_line_of_json_in_the_documented_order() {
    let server = serving("Content-Type: text/html; charset=utf-8\r\n", PAGE.as_bytes());
    let Reply::Done(text) = Fixture::new(HERE).fetch(&server.url("/x")) else { panic!("failed") };
    let want = format!(
        r#"{{"url":"{}","status":200,"extractor":"text","truncated":false,"length":{},"text":"A & B\n\nHello\n\nSee more."}}"#,
        server.url("/x"),
        "A & B\n\nHello\n\nSee more.".chars().count()
    );
    assert_eq!(text, want);
}

#[test]
fn a_page_is_extracted_by_its_kind() {
    let markdown = "A & B\n\n# Hello\n\nSee [more](http://{}/more).";
    for (why, header, body, format, extractor, text) in [
        ("markdown", "Content-Type: text/html\r\n", PAGE.as_bytes(), "markdown", "markdown", markdown),
        (
            "json stays as it is",
            "Content-Type: application/json\r\n",
            b"{\"a\": 1}",
            "plaintext",
            "json",
            "{\"a\": 1}",
        ),
        ("text too", "Content-Type: text/plain\r\n", b"<b>x</b>", "plaintext", "raw", "<b>x</b>"),
        ("nobody said, and it is a page", "", b"<html><p>x", "plaintext", "text", "x"),
        ("nobody said, and it is not", "", b"x <p>", "plaintext", "raw", "x <p>"),
        (
            "an older encoding",
            "Content-Type: text/plain; charset=latin1\r\n",
            b"n\xe9",
            "plaintext",
            "raw",
            "né",
        ),
    ] {
        let server = serving(header, body);
        let mut fixture = Fixture::new(HERE);
        fixture.web.format = format.to_owned();
        let page = done(&fixture.fetch(&server.url("/")));
        assert_eq!(page["extractor"], extractor, "{why}");
        assert_eq!(page["text"], text.replace("{}", &server.address.to_string()), "{why}");
    }
}

#[test]
fn an_answer_is_as_long_as_was_asked_for() {
    let server = serving("Content-Type: text/plain\r\n", "é".repeat(60_000).leak().as_bytes());
    let fixture = Fixture::new(HERE);
    for (why, most, length, truncated) in [
        ("nobody said", None, 50_000, true),
        ("fewer", Some(3), 3, true),
        ("exactly", Some(60_000), 60_000, false),
        ("more than there is", Some(u64::MAX), 60_000, false),
        ("nothing is the default", Some(0), 50_000, true),
    ] {
        let mut arguments = json!({"url": server.url("/")});
        if let Some(most) = most {
            arguments["maxChars"] = json!(most);
        }
        let page = done(&fixture.run(&fixture.tool(), &arguments, &CancelToken::new()));
        assert_eq!(
            (page["length"].as_u64(), page["truncated"].as_bool()),
            (Some(length), Some(truncated)),
            "{why}"
        );
        assert_eq!(page["text"].as_str().unwrap().chars().count() as u64, length, "{why}");
    }
}

#[test]
fn a_page_that_is_not_there_is_told_with_its_status() {
    let server =
        Server::saying("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ngone");
    let page = done(&Fixture::new(HERE).fetch(&server.url("/")));
    assert_eq!((page["status"].as_u64(), page["text"].as_str()), (Some(404), Some("gone")));
}

#[test]
fn nothing_is_sent_but_the_request() {
    let server = Server::saying(
        "HTTP/1.1 200 OK\r\nSet-Cookie: session=1\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n",
    );
    let fixture = Fixture::new(HERE);
    fixture.fetch(&server.url("/a?b"));
    fixture.fetch(&server.url("/a?b"));
    for head in server.asked() {
        let names: Vec<_> =
            head.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(n, _)| n).collect();
        assert_eq!(names, ["Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"]);
    }
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn escape_sequences_of_a_page_do_not_reach_a_terminal() {
    let server = serving("Content-Type: text/plain\r\n", "\u{1b}[31m\u{202e}x\u{9b}".as_bytes());
    let Reply::Done(text) = Fixture::new(HERE).fetch(&server.url("/")) else { panic!("failed") };
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{text:?}");
}
