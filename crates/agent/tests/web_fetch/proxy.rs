//! Through the operator's proxy.

use crate::support::{Fickle, Fixture, HERE, Server, done, failed, head, plain, refused, say};
use picoclaw_policy::config::Secret;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

/// A proxy that looks names up by itself, as proxies do, and tunnels wherever it is told to.
fn proxy(name_leads_to: std::net::SocketAddr) -> Server {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&asked);
    Server::raw("127.0.0.1:0".parse().unwrap(), asked, move |mut client| {
        let request = head(&mut client);
        let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
        heard.lock().unwrap().push(request);
        let mut server = match target.parse() {
            Ok(number) => TcpStream::connect::<std::net::SocketAddr>(number).unwrap(),
            Err(_) => TcpStream::connect(name_leads_to).unwrap(),
        };
        say(&mut client, "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n");
        let (mut back, mut forth) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let copying = std::thread::spawn(move || std::io::copy(&mut client, &mut forth));
        let _ = std::io::copy(&mut server, &mut back);
        let _ = back.shutdown(std::net::Shutdown::Both);
        let _ = copying.join();
    })
}

#[test]
fn a_proxy_is_given_the_number_that_was_judged_and_never_a_name() {
    let public = Server::new(|_, stream| say(stream, &plain("as judged")));
    let inside = Server::at("127.0.0.2:0".parse().unwrap(), |_, stream| say(stream, &plain("inside")));
    let proxy = proxy(inside.address);
    let mut fixture = Fixture::new(HERE);
    fixture.web.proxy = Some(Secret::new(format!("http://me:p%40ss@{}", proxy.address)));
    let tool = fixture.tool().resolving(Fickle::new(&[&["127.0.0.1"]]));
    let url = format!("http://a.example:{}/x", public.address.port());
    assert_eq!(done(&fixture.fetch_with(&tool, &url))["text"], "as judged");
    let asked = &proxy.asked()[0];
    assert!(asked.starts_with(&format!("CONNECT {} HTTP/1.1\r\n", public.address)), "{asked}");
    assert!(
        asked.contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n") && !asked.contains("a.example"),
        "{asked}"
    );
    assert!(!public.asked()[0].contains("Proxy-Authorization"), "the password is the proxy's alone");
    assert_eq!(inside.visits(), 0);
    assert!(!format!("{:?}", fixture.records()).contains("p%40ss"));
}

#[test]
fn a_private_name_does_not_reach_the_proxy() {
    let inside = Server::new(|_, stream| say(stream, &plain("inside")));
    let proxy = proxy(inside.address);
    let mut fixture = Fixture::new(&[]);
    fixture.web.proxy = Some(Secret::new(format!("http://{}", proxy.address)));
    let tool = fixture.tool().resolving(Fickle::new(&[&["127.0.0.1"]]));
    for url in ["http://127.0.0.1.nip.example/", "http://127.0.0.1:8080/", "http://169.254.169.254/"] {
        assert_eq!(refused(&fixture.fetch_with(&tool, url)), "host_not_allowed", "{url}");
    }
    assert_eq!((proxy.visits(), inside.visits()), (0, 0));
}

#[test]
fn nothing_goes_around_a_proxy_that_does_not_work() {
    let server = Server::new(|_, stream| say(stream, &plain("direct")));
    let stubborn = Server::saying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let strange = Server::saying("220 mail.example\r\n\r\n");
    let mute = Server::saying("");
    for (why, proxy, want) in [
        ("refuses", format!("http://{}", stubborn.address), "`tools.web.proxy`: the proxy answered 403"),
        ("is none", format!("http://{}", strange.address), "`tools.web.proxy`: the response is not HTTP"),
        (
            "hangs up",
            format!("http://{}", mute.address),
            "`tools.web.proxy`: the proxy closed the connection",
        ),
        (
            "another kind",
            "socks5://me:secret@127.0.0.1:1".to_owned(),
            "`tools.web.proxy`: only `http://` proxies",
        ),
        ("nonsense", "nonsense".to_owned(), "`tools.web.proxy`: "),
    ] {
        let mut fixture = Fixture::new(HERE);
        fixture.web.proxy = Some(Secret::new(proxy));
        let reply = fixture.fetch(&server.url("/"));
        assert!(failed(&reply).contains(want) && !failed(&reply).contains("secret"), "{why}: {reply:?}");
    }
    assert_eq!(server.visits(), 0);
}
