//! Both ends of an intercepted TLS connection: certificates of the jail's own authority towards the browser, and a
//! verified connection towards the site.

mod authority;
mod fault;
mod upstream;

pub use authority::{AuthorityError, JailAuthority};
pub use fault::CertificateFault;
pub(crate) use upstream::UpstreamError;
pub use upstream::{UpstreamTls, UpstreamTlsError};

/// A protocol that both ends of an intercepted connection speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Alpn {
    Http1,
    Http2,
}

impl Alpn {
    pub(crate) fn parse(protocol: &[u8]) -> Option<Alpn> {
        match protocol {
            b"h2" => Some(Alpn::Http2),
            b"http/1.1" => Some(Alpn::Http1),
            _ => None,
        }
    }

    pub(crate) fn as_bytes(self) -> &'static [u8] {
        match self {
            Alpn::Http1 => b"http/1.1",
            Alpn::Http2 => b"h2",
        }
    }
}
