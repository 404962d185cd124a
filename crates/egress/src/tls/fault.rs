//! What is wrong with a site's certificate, in words for a person.

use serde::Serialize;
use tokio_rustls::rustls::{CertificateError, Error};

/// Why a site's certificate was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateFault {
    UnknownIssuer,
    Expired,
    NotValidYet,
    WrongHost,
    Revoked,
    /// The signature, the purpose or the form of the certificate.
    Invalid,
}

impl CertificateFault {
    /// The fault of a failed handshake; `None` if the certificate was not the reason.
    pub(crate) fn of(error: &Error) -> Option<CertificateFault> {
        match error {
            Error::InvalidCertificate(error) => Some(match error {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    CertificateFault::Expired
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    CertificateFault::NotValidYet
                }
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    CertificateFault::WrongHost
                }
                CertificateError::UnknownIssuer => CertificateFault::UnknownIssuer,
                CertificateError::Revoked => CertificateFault::Revoked,
                _ => CertificateFault::Invalid,
            }),
            Error::NoCertificatesPresented | Error::UnsupportedNameType => Some(CertificateFault::Invalid),
            _ => None,
        }
    }

    /// To stand after "its certificate".
    pub fn label(self) -> &'static str {
        match self {
            CertificateFault::UnknownIssuer => "is signed by an authority that this machine does not trust",
            CertificateFault::Expired => "has expired",
            CertificateFault::NotValidYet => "is not valid yet",
            CertificateFault::WrongHost => "is for another host",
            CertificateFault::Revoked => "was revoked",
            CertificateFault::Invalid => "is not valid",
        }
    }
}
