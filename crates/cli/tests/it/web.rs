//! `web_fetch` and `check fetch` from the outside.

use crate::test_instance::TestInstance;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const OPEN: &str = r#"{"tools": {"web": {"private_host_whitelist": ["127.0.0.1/32"]}}}"#;

/// A server that says the same to everybody, and counts them.
fn server(answer: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&visits);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::AcqRel);
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                head.extend(byte);
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, visits)
}

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<p>hello</p>";

#[test]
fn proxies_of_the_environment_are_not_asked() {
    let (page, visits) = server(HELLO);
    let (trap, trapped) = server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let instance = TestInstance::with_config(OPEN);
    let proxy = format!("http://{trap}");
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let variables: Vec<_> = names.iter().map(|name| (*name, proxy.as_str())).collect();
    let json = format!(r#"{{"url": "http://{page}/"}}"#);
    let ran = instance.run_with(&["tool", "web_fetch", &json], &variables);
    let want = format!(
        r#"{{"url":"http://{page}/","status":200,"extractor":"text","truncated":false,"length":5,"text":"hello"}}"#
    );
    assert_eq!((ran.code, ran.stdout.trim_end()), (0, want.as_str()), "{ran:?}");
    assert_eq!((visits.load(Ordering::Acquire), trapped.load(Ordering::Acquire)), (1, 0));

    let through = format!(
        r#"{{"tools": {{"web": {{"private_host_whitelist": ["127.0.0.1/32"], "proxy": "{proxy}"}}}}}}"#
    );
    instance.configure(&through);
    instance.tool("web_fetch", &json);
    assert_eq!(trapped.load(Ordering::Acquire), 1, "the trap would have been asked");
}

#[test]
fn a_secret_in_an_address_is_in_no_answer_and_no_record() {
    let (page, _) = server("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n");
    let instance = TestInstance::with_config(
        r#"{"tools": {"web": {"private_host_whitelist": ["127.0.0.1"]}},
            "model_list": [{"model_name": "m", "model": "openai/m", "api_key": "sk-web-secret-0001"}]}"#,
    );
    let ran = instance.tool("web_fetch", &format!(r#"{{"url": "http://{page}/?key=sk-web-secret-0001"}}"#));
    assert_eq!(ran.code, 0, "{ran:?}");
    let everything = format!("{ran:?} {:?}", instance.records());
    assert!(everything.contains("[FILTERED]") && !everything.contains("sk-web-secret"), "{everything}");
}

#[test]
fn a_check_of_an_address_says_why_and_connects_to_nothing() {
    let (page, visits) = server(HELLO);
    let instance = TestInstance::with_config("{}");
    let url = format!("http://{page}/");
    let no = instance.run(&["check", "fetch", &url]);
    assert_eq!(no.code, 1, "{no:?}");
    assert_eq!(
        no.stdout,
        "deny\naccess denied: host is not on the public internet\nrule: public hosts\nlayer: policy\ncode: host_not_allowed\n\
         hint: `127.0.0.1` is this machine; `tools.web.private_host_whitelist`: [\"127.0.0.1\"] in the configuration would allow exactly this\n"
    );
    instance.configure(OPEN);
    let yes = instance.run(&["check", "fetch", "--json", &url]);
    assert_eq!(yes.code, 0, "{yes:?}");
    assert!(yes.stdout.contains("tools.web.private_host_whitelist:127.0.0.1/32"), "{yes:?}");
    assert_eq!(visits.load(Ordering::Acquire), 0);
    assert!(instance.records().is_empty(), "nothing is recorded");
}

#[test]
fn a_tool_that_is_switched_off_is_refused_with_its_setting() {
    let instance = TestInstance::with_config(r#"{"tools": {"web_fetch": {"enabled": false}}}"#);
    let ran = instance.tool("web_fetch", r#"{"url": "http://nobody.example/"}"#);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stdout,
        "tool \"web_fetch\" is disabled\nhint: `tools.web_fetch.enabled` switches it off\n"
    );
}
