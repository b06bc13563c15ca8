//! Many clients, and bad ones among them.

use super::client::{DIRECT, Gateway, request};
use crate::house::House;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

#[test]
fn bad_clients_do_not_stop_the_good_ones() {
    let house = House::with_config(DIRECT);
    let gateway = Gateway::new(&house);
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
