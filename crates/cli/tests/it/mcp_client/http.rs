//! Servers at an address: our own, others', and some that mean harm.

use crate::mcp::http::{Listening, TOKEN};
use crate::test_instance::{Ran, TestInstance};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A listener that answers every request in the same way, and keeps what it was sent.
struct Trap {
    port: u16,
    heard: Arc<Mutex<String>>,
}

impl Trap {
    fn new(answer: impl Fn(&str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(String::new()));
        let keep = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut buffer = vec![0; 64 << 10];
                let count = stream.read(&mut buffer).unwrap_or(0);
                let said = String::from_utf8_lossy(&buffer[..count]).into_owned();
                keep.lock().unwrap().push_str(&said);
                let _ = stream.write_all(answer(&said).as_bytes());
            }
        });
        Self { port, heard }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn heard(&self) -> String {
        self.heard.lock().unwrap().clone()
    }
}

fn added(options: &[&str], url: &str) -> TestInstance {
    let instance = TestInstance::with_config("{}");
    let ran = instance.run(&[&["mcp", "add"], options, &["web", url]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    instance
}

fn tested(instance: &TestInstance) -> Ran {
    instance.run(&["mcp", "test", "--timeout", "10s", "web"])
}

#[test]
fn our_own_server_is_a_server_like_any_other() {
    let other = TestInstance::with_config("{}");
    let listening = Listening::new(&other, &[]);
    let header = format!("Authorization: Bearer {TOKEN}");
    for spelling in ["http", "streamable-http", "sse"] {
        let instance = added(&["-t", spelling, "-H", &header], &listening.url());
        // Proxies of the environment are not tested here.
        let proxies = [
            ("HTTP_PROXY", "http://127.0.0.1:9"),
            ("ALL_PROXY", "http://127.0.0.1:9"),
            ("http_proxy", "http://127.0.0.1:9"),
        ];
        let ran = instance.run_with(&["mcp", "test", "web"], &proxies);
        assert!(ran.code == 0 && ran.stdout.contains("reachable ("), "{spelling}: {ran:?}");
        let ran = instance.tool("mcp_web_write_file", r#"{"path": "a.txt", "content": "from afar"}"#);
        assert_eq!(ran.code, 0, "{spelling}: {ran:?}");
        assert_eq!(std::fs::read_to_string(other.workspace().join("a.txt")).unwrap(), "from afar");
        std::fs::remove_file(other.workspace().join("a.txt")).unwrap();
        let refused = instance.tool("mcp_web_read_file", r#"{"path": "/etc/shadow"}"#);
        assert!(refused.code == 1 && refused.stdout.contains("MCP tool returned error: "), "{refused:?}");
        assert!(instance.run(&["mcp", "show", "web"]).stdout.contains("protocol: 2026-07-28"));
    }
    let instance = added(&["-H", "Authorization: Bearer wrong-token-000"], &listening.url());
    let ran = tested(&instance);
    assert!(
        ran.code == 1 && ran.stderr.contains("HTTP 401 Unauthorized") && !ran.stderr.contains("wrong-token"),
        "{ran:?}"
    );
}

#[test]
fn the_secrets_file_can_hold_a_header() {
    let other = TestInstance::with_config("{}");
    let listening = Listening::new(&other, &[]);
    let instance = added(&[], &listening.url());
    assert_eq!(tested(&instance).code, 1, "the control: without it nobody gets in");
    let secrets = format!(
        "tools:\n  mcp:\n    servers:\n      web:\n        headers:\n          Authorization: \"Bearer {TOKEN}\"\n"
    );
    let path = instance.home().join(".security.yml");
    std::fs::write(&path, secrets).unwrap();
    let ran = tested(&instance);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_redirect_is_not_followed_and_carries_no_secret() {
    let elsewhere =
        Trap::new(|_| "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned());
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let target = elsewhere.url();
        let trap = Trap::new(move |_| {
            format!(
                "HTTP/1.1 {status}\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
        });
        let instance = added(&["-H", "Authorization: Bearer sk-travels-not"], &trap.url());
        let ran = tested(&instance);
        assert_eq!(ran.code, 1, "{status}: {ran:?}");
        assert!(trap.heard().to_lowercase().contains("bearer sk-travels-not"), "the control: it was asked");
        assert_eq!(elsewhere.heard(), "", "{status}");
    }
}

#[test]
fn a_server_that_echoes_a_secret_does_not_get_it_shown() {
    let trap = Trap::new(|said| {
        let body = format!("you said \u{1b}[31m {said}");
        format!(
            "HTTP/1.1 500 Oops\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    });
    let instance = added(&["-H", "Authorization: Bearer sk-echoed-back-1"], &trap.url());
    for line in [&["mcp", "test", "web"][..], &["mcp", "list", "--status"], &["tool", "mcp_web_x", "{}"]] {
        let ran = instance.run(line);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains("sk-echoed-back-1") && !said.contains('\u{1b}'), "{line:?}: {said}");
    }
    assert!(trap.heard().contains("sk-echoed-back-1"), "the control: it was sent");
}

#[test]
fn nobody_at_the_address_is_told_in_one_line() {
    let instance = added(&[], "http://127.0.0.1:9/mcp");
    let ran = tested(&instance);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with("error: MCP server `web` cannot be reached: ")
            && ran.stderr.lines().count() == 1,
        "{ran:?}"
    );
}

/// Answers every request with a body that does not end; how much of it was taken.
fn flood(kind: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _asked = stream.read(&mut [0; 64 << 10]);
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\ndata: \"");
            let mut fine = stream.write_all(head.as_bytes()).is_ok();
            let piece = vec![b'x'; 1 << 20];
            let mut sent = 0;
            while fine && sent < ENOUGH {
                fine = stream.write_all(&piece).is_ok();
                sent += piece.len();
                count.fetch_max(sent, Ordering::Relaxed);
            }
        }
    });
    (url, taken)
}

/// More than a client should ever take.
const ENOUGH: usize = 400 << 20;

#[test]
fn an_answer_that_does_not_end_is_not_taken() {
    for kind in ["application/json", "text/event-stream", "text/plain"] {
        let (url, taken) = flood(kind);
        let ran = tested(&added(&[], &url));
        assert_eq!(ran.code, 1, "{kind}: {ran:?}");
        let most = taken.load(Ordering::Relaxed) >> 20;
        // The limit, and what the kernel keeps between two programs.
        assert!((1..64).contains(&most), "{kind}: {most} MiB were taken: {ran:?}");
    }
}
