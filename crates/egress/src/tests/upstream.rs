//! The operator's upstream proxy, played by small real ones on loopback.

use super::*;
use crate::{ProxyLogin, Reason, UpstreamProxy};
use redact::Secret;
use std::sync::Mutex;
use tokio::io::copy_bidirectional;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What an upstream proxy was asked for, in order: the target, and the login that came with it.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// A proxy that connects whatever it is asked for to one site, like a network in which that site has every address.
pub(super) async fn http_proxy(site: SocketAddr, wants: Option<&'static str>) -> (Site, Asked) {
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let proxy = Site::new(move |mut stream| {
        let seen = Arc::clone(&seen);
        async move {
            let head = head(&mut stream).await;
            let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let login = head.lines().find_map(|line| line.strip_prefix("Proxy-Authorization: Basic "));
            let login = login.unwrap_or_default().to_owned();
            seen.lock().unwrap().push((target, login.clone()));
            if wants.is_some_and(|wants| wants != login) {
                let _written = stream.write_all(b"HTTP/1.1 407 Who are you\r\n\r\n").await;
                return;
            }
            let mut site = TcpStream::connect(site).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 Connected\r\nVia: test\r\n\r\n").await.unwrap();
            let _relayed = copy_bidirectional(&mut stream, &mut site).await;
        }
    })
    .await;
    (proxy, asked)
}

async fn socks_proxy(site: SocketAddr, wants: Option<&'static str>) -> (Site, Asked) {
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let proxy = Site::new(move |mut stream| {
        let seen = Arc::clone(&seen);
        async move {
            let mut greeting = [0; 2];
            stream.read_exact(&mut greeting).await.unwrap();
            let mut methods = vec![0; greeting[1].into()];
            stream.read_exact(&mut methods).await.unwrap();
            let mut login = String::new();
            if wants.is_some() {
                stream.write_all(&[5, if methods.contains(&2) { 2 } else { 255 }]).await.unwrap();
                if !methods.contains(&2) {
                    return;
                }
                assert_eq!(stream.read_u8().await.unwrap(), 1);
                for part in 0..2 {
                    let mut text = vec![0; stream.read_u8().await.unwrap().into()];
                    stream.read_exact(&mut text).await.unwrap();
                    login.push_str(if part == 1 { ":" } else { "" });
                    login.push_str(&String::from_utf8(text).unwrap());
                }
                let right = wants == Some(login.as_str());
                stream.write_all(&[1, u8::from(!right)]).await.unwrap();
                if !right {
                    return;
                }
            } else {
                stream.write_all(&[5, 0]).await.unwrap();
            }
            let mut request = [0; 4];
            stream.read_exact(&mut request).await.unwrap();
            let ip = match request[3] {
                1 => std::net::IpAddr::from(stream.read_u32().await.unwrap().to_be_bytes()),
                4 => std::net::IpAddr::from(stream.read_u128().await.unwrap().to_be_bytes()),
                other => panic!("asked for a name: {other}"),
            };
            let target = SocketAddr::new(ip, stream.read_u16().await.unwrap());
            seen.lock().unwrap().push((target.to_string(), login));
            let mut site = TcpStream::connect(site).await.unwrap();
            stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
            let _relayed = copy_bidirectional(&mut stream, &mut site).await;
        }
    })
    .await;
    (proxy, asked)
}

/// A session whose way out is that proxy.
pub(super) fn behind(scheme: &str, upstream: SocketAddr, login: Option<&str>, shop: SocketAddr) -> Proxy {
    let mut proxy = UpstreamProxy::parse(&format!("{scheme}://{upstream}")).unwrap();
    if let Some(login) = login {
        proxy = proxy.with_login(ProxyLogin::parse(&Secret::new(login.to_owned())).unwrap());
    }
    let hosts = HostMap::parse([("shop.test", shop.to_string())]).unwrap();
    Proxy::ruled(Rules::new(hosts).through(proxy), table(), Options::default())
}

fn targets(asked: &Asked) -> Vec<String> {
    asked.lock().unwrap().iter().map(|(target, _)| target.clone()).collect()
}

async fn get(proxy: &Proxy, host: &str) -> String {
    proxy.say(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")).await
}

#[tokio::test]
async fn an_upstream_proxy_is_asked_for_the_checked_address_and_never_for_a_name() {
    for scheme in ["http", "socks5"] {
        let site = Site::answering(OK).await;
        let (upstream, asked) = match scheme {
            "http" => http_proxy(site.address, None).await,
            _ => socks_proxy(site.address, None).await,
        };
        let proxy = behind(scheme, upstream.address, None, site.address);
        assert!(get(&proxy, "public.test").await.ends_with("\r\n\r\nok"), "{scheme}");
        let connect = "CONNECT public.test:443 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n";
        assert!(proxy.say(connect).await.ends_with("\r\n\r\nok"), "{scheme}");
        assert_eq!(targets(&asked), ["93.184.216.34:80", "93.184.216.34:443"], "{scheme}");
        for host in ["private.test", "mapped.test", "10.0.0.1", "localhost", "[::1]"] {
            assert_eq!(get(&proxy, host).await, "", "{scheme} {host}");
        }
        assert_eq!(targets(&asked).len(), 2, "{scheme}: a refused address was asked for");
        assert!(get(&proxy, "shop.test").await.ends_with("ok"), "{scheme}");
        assert_eq!(targets(&asked).len(), 2, "{scheme}: a mapped host is inside");
        assert_eq!(proxy.entries()[0].address.unwrap().to_string(), "93.184.216.34:80");
    }
}

#[tokio::test]
async fn a_login_goes_to_the_upstream_proxy_and_a_refused_one_has_its_own_code() {
    for (scheme, wants) in [("http", "bWU6c2VjcmV0"), ("socks5", "me:secret")] {
        let site = Site::answering(OK).await;
        let (upstream, asked) = match scheme {
            "http" => http_proxy(site.address, Some(wants)).await,
            _ => socks_proxy(site.address, Some(wants)).await,
        };
        let proxy = behind(scheme, upstream.address, Some("me:secret"), site.address);
        assert!(get(&proxy, "public.test").await.ends_with("ok"), "{scheme}");
        assert_eq!(asked.lock().unwrap()[0].1, wants, "{scheme}");
        for login in [Some("me:wrong"), None] {
            let proxy = behind(scheme, upstream.address, login, site.address);
            assert_eq!(get(&proxy, "public.test").await, "", "{scheme} {login:?}");
            let problem = proxy.problem("public.test");
            assert_eq!(problem.reason, Reason::UpstreamProxy, "{scheme} {login:?}");
            assert_eq!(
                (problem.code().to_string().as_str(), problem.retryable()),
                ("egress_upstream_failed", true)
            );
        }
    }
}

#[tokio::test]
async fn an_upstream_proxy_that_is_gone_is_named_as_such() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = behind("http", closed, None, closed);
    assert_eq!(get(&proxy, "public.test").await, "");
    assert_eq!(proxy.problem("public.test").reason, Reason::UpstreamProxy);
}
