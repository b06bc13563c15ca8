//! Many clients, and bad ones among them. `PICOCLAW_SOAK=1` counts higher; the full rate is measured by `make bench`.

use super::client::{DIRECT, Gateway, SCRIPTED, request};
use crate::test_instance::TestInstance;
use picoclaw_testing::{PATIENCE, wait_for};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Opens connections that say nothing, or half of something, and keeps them.
fn strangers(gateway: &Gateway, count: usize) -> Vec<TcpStream> {
    let mut kept = Vec::new();
    for at in 0..count {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", gateway.port)) else { continue };
        if at % 2 == 0 {
            let _ = stream.write_all(b"GET /v1/models HTTP/1.1\r\nHost: loc");
        }
        kept.push(stream);
    }
    kept
}

/// Work that needs descriptors: a command, a session, and the ledger.
fn work(gateway: &Gateway, why: &str) {
    let bearer = gateway.bearer();
    let headers = [("Host", "localhost"), ("Authorization", bearer.as_str()), ("X-Picoclaw-Session", "work")];
    let asked = json!({"model": "main", "messages": [{"role": "user", "content": "ls | cat"}]}).to_string();
    for _ in 0..5 {
        let answer = gateway.send("POST /v1/chat/completions", &headers, &asked);
        assert_eq!(answer.status, 200, "{why}: {answer:?}");
    }
}

#[test]
fn bad_clients_do_not_stop_the_good_ones() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let bearer = gateway.bearer();
    let headers = [("Host", "localhost"), ("Authorization", bearer.as_str())];
    let mut watching = gateway.connect();
    watching.write_all(request("GET /api/events", &headers, "").as_bytes()).unwrap();
    let mut watching = BufReader::new(watching).lines().map_while(Result::ok);
    assert!(watching.by_ref().any(|line| line.contains("picoclaw")));
    // Half requests, garbage, and wrong tokens that keep their connections.
    let mut bad = Vec::new();
    for at in 0..300 {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", gateway.port)) else { continue };
        let text: &[u8] = match at % 4 {
            0 => b"GET /health HTTP/1.1\r\nHost: loc",
            1 => b"\x16\x03\x01\x02\x00\x01\x00",
            2 => b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n",
            _ => b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n",
        };
        let _ = stream.write_all(text);
        bad.push(stream);
    }
    for _ in 0..20 {
        let asked = json!({"model": "main", "messages": [{"role": "user", "content": "true"}]});
        assert_eq!(gateway.post("/v1/chat/completions", &asked).status, 200);
    }
    assert!(watching.any(|line| line.starts_with("event: record")), "who watched still does");
    drop(bad);
}

#[test]
fn more_connections_than_places_do_not_stop_whoever_has_the_token() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _as_it_is = setrlimit(Resource::Nofile, limit);
    if getrlimit(Resource::Nofile).current.is_some_and(|most| most < 4096) {
        picoclaw_testing::skip!("this user may not have as many descriptors as it takes");
        return;
    }
    let mut watching = gateway.open("GET /api/events", "");
    assert!(watching.by_ref().any(|line| line.contains("picoclaw")));
    let kept = strangers(&gateway, 2300);
    assert!(kept.len() > 2048, "{} connections", kept.len());
    work(&gateway, "thousands of strangers");
    assert!(watching.any(|line| line.starts_with("event: record")), "who watched still does");
    let numbers = gateway.get("/metrics").body;
    let taken = numbers.lines().find_map(|line| line.strip_prefix("picoclaw_connections ")).unwrap();
    assert!(taken.parse::<u32>().unwrap() <= 2048, "{taken} places are taken");
}

#[test]
fn strangers_cannot_take_the_last_descriptor() {
    let instance = TestInstance::with_config(DIRECT);
    let few = ["sh", "-c", r#"ulimit -n 256 && exec "$0" "$@""#];
    let gateway = Gateway::wrapped(&instance, &few, &[], &[]);
    let kept = strangers(&gateway, 400);
    work(&gateway, "more strangers than descriptors");
    assert!(!gateway.said().contains("Could not accept"), "{}", gateway.said());
    drop(kept);
    wait_for("the places are not given back", || {
        let numbers = gateway.get("/metrics").body;
        let taken = numbers.lines().find_map(|line| line.strip_prefix("picoclaw_connections "))?;
        (taken == "1").then_some(())
    });
}

/// What the gateway says of its own memory.
fn resident(gateway: &Gateway) -> u64 {
    let page = gateway.get("/metrics").body;
    let line = page.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    line.unwrap_or_else(|| panic!("{page}")).parse().unwrap()
}

#[test]
fn everybody_who_watches_hears_of_every_turn_and_memory_stays_flat() {
    let soaks = std::env::var_os("PICOCLAW_SOAK").is_some();
    let (watchers, chats) = if soaks { (1_000, 1_000) } else { (40, 60) };
    let instance = TestInstance::with_config(SCRIPTED);
    let answers = format!("{}\n", json!({"content": "yes"})).repeat(2 * chats);
    std::fs::write(instance.dir().join("replies.jsonl"), answers).unwrap();
    let gateway = Gateway::limited(&instance, 256);
    let heard: Vec<AtomicUsize> = (0..watchers).map(|_| AtomicUsize::new(0)).collect();
    let talk = |count: usize| {
        let left = AtomicUsize::new(count);
        let asked = json!({"model": "main", "messages": [{"role": "user", "content": "?"}]});
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while left
                        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                        .is_ok()
                    {
                        let answer = gateway.post("/v1/chat/completions", &asked);
                        assert_eq!(answer.status, 200, "{answer:?}");
                    }
                });
            }
        });
    };
    let all_heard = |turns: usize| {
        wait_for("somebody did not hear of every turn", || {
            heard.iter().all(|heard| heard.load(Ordering::SeqCst) == 2 * turns).then_some(())
        });
    };
    std::thread::scope(|scope| {
        for heard in &heard {
            let lines = gateway.open("GET /api/events", "");
            let watch = move || {
                for line in lines {
                    assert_ne!(line, "event: behind");
                    heard.fetch_add(usize::from(line == "event: turn"), Ordering::SeqCst);
                }
            };
            std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, watch).unwrap();
        }
        wait_for("not everybody is let in", || {
            let page = gateway.get("/metrics").body;
            page.contains(&format!("picoclaw_event_listeners {watchers}\n")).then_some(())
        });
        talk(chats);
        all_heard(chats);
        let before = resident(&gateway);
        talk(chats);
        all_heard(2 * chats);
        let after = resident(&gateway);
        eprintln!("{watchers} watched {} turns: {before} and {after} bytes resident", 2 * chats);
        assert!(after < before + (4 << 20), "memory grows: {before} bytes, then {after}");
        // Its end ends the streams, and with them this scope.
        gateway.signal(rustix::process::Signal::TERM);
    });
}

#[test]
fn whoever_stands_still_is_cut_off() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::new(&instance);
    let bearer = gateway.bearer();
    let head = format!("Host: localhost\r\nAuthorization: {bearer}\r\n");
    // A body that does not go on, although its sender is authorized.
    let mut half = gateway.connect();
    half.set_read_timeout(Some(PATIENCE)).unwrap();
    half.write_all(
        format!("POST /v1/chat/completions HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n{{\"mo").as_bytes(),
    )
    .unwrap();
    // A client that asks on and on, and reads nothing of the answers.
    let mut deaf = gateway.connect();
    deaf.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let asking = format!("GET /openapi.json HTTP/1.1\r\n{head}\r\n").repeat(100);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) && deaf.write_all(asking.as_bytes()).is_ok() {}
    work(&gateway, "others are served meanwhile");
    let mut told = String::new();
    let _ = half.read_to_string(&mut told);
    let took = began.elapsed();
    assert!(told.starts_with("HTTP/1.1 408"), "{told}");
    assert!(took > Duration::from_secs(25) && took < PATIENCE, "{took:?}");
    wait_for("the deaf one keeps its place", || {
        let numbers = gateway.get("/metrics").body;
        let taken = numbers.lines().find_map(|line| line.strip_prefix("picoclaw_connections "))?;
        (taken == "1").then_some(())
    });
}

#[test]
fn children_may_have_as_many_descriptors_as_the_gateway_found() {
    let instance = TestInstance::with_config(DIRECT);
    let gateway = Gateway::limited(&instance, 300);
    // Itself it has more, or 300 watchers would be too many.
    let own: Vec<_> = (0..400).map(|_| gateway.connect()).collect();
    assert_eq!(gateway.get("/ready").status, 200);
    let asked = json!({"model": "main", "messages": [{"role": "user", "content": "ulimit -S -n"}]});
    let told = gateway.post("/v1/chat/completions", &asked).json();
    let want = std::fs::read_to_string("/proc/self/limits").unwrap();
    let hard: u64 = want
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert!(hard >= 1_000, "this host lets nobody have more than {hard} descriptors");
    assert_eq!(told["choices"][0]["message"]["content"], "300\n", "{told}");
    drop(own);
}
