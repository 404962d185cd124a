//! The operator's proxy between this machine and the internet. It is asked for the address that was checked, never for a
//! name, so that it cannot resolve to another.

use crate::Reason;
use base64::Engine;
use redact::Secret;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

/// The longest head of a proxy's answer to `CONNECT`.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// SOCKS 5 has one byte for the length of a user name and of a password.
const MAX_LOGIN_BYTES: usize = 255;

/// A proxy that connections go through.
pub struct UpstreamProxy {
    protocol: ProxyProtocol,
    host: String,
    port: u16,
    login: Option<ProxyLogin>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyProtocol {
    /// `CONNECT`, for plain requests too: the proxy is given an address, and could not pass on the right `Host`.
    Http,
    Socks5,
}

/// A user name and password for the proxy.
pub struct ProxyLogin {
    username: String,
    password: Secret,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UpstreamProxyError {
    #[error("a proxy is written as http://host:port or socks5://host:port, without a user name or a path")]
    Address,
    #[error("a proxy's login is one line, user:password, of at most {MAX_LOGIN_BYTES} bytes each")]
    Login,
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = self.login.as_ref().map(|_| "(set)");
        f.debug_struct("UpstreamProxy")
            .field("protocol", &self.protocol)
            .field("host", &self.host)
            .field("port", &self.port)
            .field("login", &login)
            .finish()
    }
}

impl ProxyLogin {
    pub fn new(username: &str, password: Secret) -> Result<ProxyLogin, UpstreamProxyError> {
        let fits = |text: &str| !text.is_empty() && text.len() <= MAX_LOGIN_BYTES;
        let is_plain = |text: &str| !text.chars().any(char::is_control);
        let good = fits(username) && !username.contains(':') && is_plain(username);
        if !good || !fits(password.expose_secret()) || !is_plain(password.expose_secret()) {
            return Err(UpstreamProxyError::Login);
        }
        Ok(ProxyLogin { username: username.to_owned(), password })
    }

    /// Reads `user:password`, with or without a line end.
    pub fn parse(text: &Secret) -> Result<ProxyLogin, UpstreamProxyError> {
        let line = text.expose_secret().trim_end_matches(['\r', '\n']);
        let (username, password) = line.split_once(':').ok_or(UpstreamProxyError::Login)?;
        ProxyLogin::new(username, Secret::new(password.to_owned()))
    }

    fn basic(&self) -> Secret {
        let pair = Secret::concat(&[&self.username, ":", self.password.expose_secret()]);
        Secret::new(base64::engine::general_purpose::STANDARD.encode(pair.expose_secret()))
    }
}

impl UpstreamProxy {
    pub fn parse(text: &str) -> Result<UpstreamProxy, UpstreamProxyError> {
        let url = Url::parse(text).map_err(|_| UpstreamProxyError::Address)?;
        let protocol = match url.scheme() {
            "http" => ProxyProtocol::Http,
            "socks5" => ProxyProtocol::Socks5,
            _ => return Err(UpstreamProxyError::Address),
        };
        let is_bare = url.username().is_empty()
            && url.password().is_none()
            && matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none();
        let host = match url.host() {
            Some(Host::Ipv6(v6)) => v6.to_string(),
            Some(host) => host.to_string(),
            None => return Err(UpstreamProxyError::Address),
        };
        // `http:` implies port 80, where no proxy listens: a proxy without a port is a mistake.
        let port = port_of(text).filter(|_| is_bare).ok_or(UpstreamProxyError::Address)?;
        Ok(UpstreamProxy { protocol, host, port, login: None })
    }

    pub fn with_login(self, login: ProxyLogin) -> UpstreamProxy {
        UpstreamProxy { login: Some(login), ..self }
    }

    /// A connection through the proxy to this address.
    pub(crate) async fn dial(&self, target: SocketAddr) -> Result<TcpStream, Reason> {
        let dialled = async {
            let mut stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            stream.set_nodelay(true)?;
            let answer = match self.protocol {
                ProxyProtocol::Http => self.http_connect(&mut stream, target).await?,
                ProxyProtocol::Socks5 => self.socks_connect(&mut stream, target).await?,
            };
            Ok::<_, io::Error>(answer.map(|()| stream))
        };
        dialled.await.unwrap_or_else(|error| {
            tracing::warn!(%error, proxy = ?self, "the upstream proxy failed");
            Err(Reason::UpstreamProxy)
        })
    }

    async fn http_connect(
        &self,
        stream: &mut TcpStream,
        target: SocketAddr,
    ) -> io::Result<Result<(), Reason>> {
        let begin = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        stream.write_all(begin.as_bytes()).await?;
        if let Some(login) = &self.login {
            let basic = login.basic();
            let header = Secret::concat(&["Proxy-Authorization: Basic ", basic.expose_secret(), "\r\n"]);
            stream.write_all(header.expose_secret().as_bytes()).await?;
        }
        stream.write_all(b"\r\n").await?;
        // Byte by byte: what follows the head belongs to the tunnel.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() >= MAX_HEAD_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head);
        let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse::<u16>().ok());
        Ok(match status {
            Some(200..=299) => Ok(()),
            Some(502..=504) => Err(Reason::Unreachable),
            _ => {
                tracing::warn!(?status, proxy = ?self, "the upstream proxy refused a connection");
                Err(Reason::UpstreamProxy)
            }
        })
    }

    async fn socks_connect(
        &self,
        stream: &mut TcpStream,
        target: SocketAddr,
    ) -> io::Result<Result<(), Reason>> {
        let methods: &[u8] = if self.login.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] };
        stream.write_all(methods).await?;
        let mut chosen = [0; 2];
        stream.read_exact(&mut chosen).await?;
        match (chosen, &self.login) {
            ([5, 0], _) => {}
            ([5, 2], Some(login)) => {
                if !socks_login(stream, login).await? {
                    tracing::warn!(proxy = ?self, "the upstream proxy refused the login");
                    return Ok(Err(Reason::UpstreamProxy));
                }
            }
            _ => return Ok(Err(Reason::UpstreamProxy)),
        }
        let mut request = vec![5, 1, 0];
        match target {
            SocketAddr::V4(v4) => {
                request.push(1);
                request.extend(v4.ip().octets());
            }
            SocketAddr::V6(v6) => {
                request.push(4);
                request.extend(v6.ip().octets());
            }
        }
        request.extend(target.port().to_be_bytes());
        stream.write_all(&request).await?;
        let mut reply = [0; 4];
        stream.read_exact(&mut reply).await?;
        let [5, code, _, kind] = reply else { return Err(io::ErrorKind::InvalidData.into()) };
        let address_bytes = match kind {
            1 => 4,
            3 => usize::from(stream.read_u8().await?),
            4 => 16,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        let mut bound = vec![0; address_bytes + 2];
        stream.read_exact(&mut bound).await?;
        Ok(match code {
            0 => Ok(()),
            3 | 4 => Err(Reason::Unreachable),
            5 => Err(Reason::ConnectionRefused),
            6 => Err(Reason::ConnectTimeout),
            _ => Err(Reason::UpstreamProxy),
        })
    }
}

/// Logs in by user name and password (RFC 1929).
async fn socks_login(stream: &mut TcpStream, login: &ProxyLogin) -> io::Result<bool> {
    let field = |text: &str| u8::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidData);
    let password = login.password.expose_secret();
    stream.write_all(&[1, field(&login.username)?]).await?;
    stream.write_all(login.username.as_bytes()).await?;
    stream.write_all(&[field(password)?]).await?;
    stream.write_all(password.as_bytes()).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    Ok(answer == [1, 0])
}

/// The port as it is written, because a URL parser drops one that the scheme implies.
fn port_of(text: &str) -> Option<u16> {
    let (_, authority) = text.split_once("://")?;
    let (_, port) = authority.trim_end_matches('/').rsplit_once(':')?;
    port.parse().ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_scheme_a_host_and_a_port() {
        for text in [
            "http://proxy.example:3128",
            "http://proxy.example:80/",
            "socks5://10.0.0.1:1080",
            "socks5://[::1]:1080",
        ] {
            assert!(UpstreamProxy::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "proxy.example:3128",
            "http://proxy.example",
            "http://proxy.example:0",
            "https://proxy.example:3128",
            "socks4://proxy.example:1080",
            "http://user:secret@proxy.example:3128",
            "http://proxy.example:3128/path",
            "http://proxy.example:3128?query",
        ] {
            assert_eq!(UpstreamProxy::parse(text).unwrap_err(), UpstreamProxyError::Address, "{text}");
        }
    }

    #[test]
    fn a_login_is_one_line_and_never_printed() {
        let login = |text: &str| ProxyLogin::parse(&Secret::new(text.to_owned()));
        let good = login("me:s3cret:with colon\n").unwrap();
        assert_eq!((good.username.as_str(), good.password.expose_secret()), ("me", "s3cret:with colon"));
        for bad in ["", "me", ":secret", "me:", "me:a\nb", "me\r:x", &format!("me:{}", "a".repeat(256))] {
            assert!(login(bad).is_err(), "{bad}");
        }
        let proxy = UpstreamProxy::parse("http://proxy.example:3128").unwrap().with_login(good);
        let printed = format!("{proxy:?}");
        assert!(!printed.contains("s3cret") && !printed.contains("\"me\""), "{printed}");
    }
}
