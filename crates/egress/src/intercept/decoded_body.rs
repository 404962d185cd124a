//! A whole request body with its content coding undone, for the gate.

use super::coding::{ContentCoding, content_codings};
use async_compression::tokio::bufread::{
    BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::CONTENT_ENCODING;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecodeError {
    /// A coding that is not known here, a body that is not what its coding says, or one with something behind its end
    /// that a site may read and we would not.
    Unreadable,
    TooLarge,
}

/// Names that stand where codings do and leave a body readable.
const FRAMINGS: [&[u8]; 2] = [b"amz-1.0", b"aws-chunked"];

/// Undoes the codings that the headers name, up to `most` bytes.
pub(super) async fn decode_whole(
    body: &Bytes,
    headers: &HeaderMap,
    most: usize,
) -> Result<Bytes, DecodeError> {
    let mut named = headers.get_all(CONTENT_ENCODING).iter();
    if named.all(|value| FRAMINGS.iter().any(|framing| value.as_bytes().eq_ignore_ascii_case(framing))) {
        return Ok(body.clone());
    }
    let codings = content_codings(headers).ok_or(DecodeError::Unreadable)?;
    let mut decoded = body.clone();
    for coding in codings.iter().rev().filter(|_| !body.is_empty()) {
        decoded = undo(*coding, &decoded, most).await?;
    }
    Ok(decoded)
}

async fn undo(coding: ContentCoding, body: &[u8], most: usize) -> Result<Bytes, DecodeError> {
    match coding {
        ContentCoding::Gzip => {
            let mut decoder = GzipDecoder::new(body);
            // Servers read all members.
            decoder.multiple_members(true);
            let decoded = read(&mut decoder, most).await;
            finish(decoded, decoder.into_inner())
        }
        ContentCoding::Brotli => {
            let mut decoder = BrotliDecoder::new(body);
            let decoded = read(&mut decoder, most).await;
            finish(decoded, decoder.into_inner())
        }
        ContentCoding::Zstd => {
            let window = [DParameter::window_log_max(super::coding::MAX_ZSTD_WINDOW_LOG)];
            let mut decoder = ZstdDecoder::with_params(body, &window);
            decoder.multiple_members(true);
            let decoded = read(&mut decoder, most).await;
            finish(decoded, decoder.into_inner())
        }
        ContentCoding::Deflate if super::coding::is_zlib(body.first().copied()) => {
            let mut decoder = ZlibDecoder::new(body);
            let decoded = read(&mut decoder, most).await;
            finish(decoded, decoder.into_inner())
        }
        ContentCoding::Deflate => {
            let mut decoder = DeflateDecoder::new(body);
            let decoded = read(&mut decoder, most).await;
            finish(decoded, decoder.into_inner())
        }
    }
}

/// Reads one byte more than there may be, to tell a body that is too large.
async fn read(decoder: &mut (impl AsyncRead + Unpin), most: usize) -> io::Result<(Vec<u8>, usize)> {
    let mut decoded = Vec::new();
    decoder.take(most as u64 + 1).read_to_end(&mut decoded).await?;
    Ok((decoded, most))
}

fn finish(decoded: io::Result<(Vec<u8>, usize)>, rest: &[u8]) -> Result<Bytes, DecodeError> {
    let (decoded, most) = decoded.map_err(|_| DecodeError::Unreadable)?;
    if decoded.len() > most {
        return Err(DecodeError::TooLarge);
    }
    if !rest.is_empty() {
        return Err(DecodeError::Unreadable);
    }
    Ok(decoded.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_compression::tokio::write::{
        BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder,
    };
    use hyper::header::HeaderValue;
    use tokio::io::AsyncWriteExt as _;

    macro_rules! coded {
        ($encoder:ident, $body:expr) => {{
            let mut encoder = $encoder::new(Vec::new());
            encoder.write_all($body).await.unwrap();
            encoder.shutdown().await.unwrap();
            encoder.into_inner()
        }};
    }

    async fn decode(coding: &'static str, body: Vec<u8>, most: usize) -> Result<Bytes, DecodeError> {
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(coding))]);
        decode_whole(&body.into(), &headers, most).await
    }

    #[tokio::test]
    async fn a_body_is_decoded_whole_or_not_at_all() {
        let body: &[u8] = b"action=delete&id=5";
        let gzip = coded!(GzipEncoder, body);
        for (coding, coded) in [
            ("gzip", gzip.clone()),
            ("deflate", coded!(ZlibEncoder, body)),
            ("deflate", coded!(DeflateEncoder, body)),
            ("br", coded!(BrotliEncoder, body)),
            ("zstd", coded!(ZstdEncoder, body)),
            ("gzip, br", coded!(BrotliEncoder, &gzip)),
            ("identity", body.to_vec()),
        ] {
            assert_eq!(decode(coding, coded.clone(), 1000).await.unwrap(), body, "{coding}");
            if coding == "identity" {
                continue;
            }
            assert_eq!(decode(coding, coded.clone(), 5).await, Err(DecodeError::TooLarge), "{coding}");
            let cut = coded[..coded.len() - 3].to_vec();
            assert_eq!(decode(coding, cut, 1000).await, Err(DecodeError::Unreadable), "{coding}");
            let longer = [&coded[..], b"&action=other"].concat();
            assert_eq!(decode(coding, longer, 1000).await, Err(DecodeError::Unreadable), "{coding}");
        }
        let twice = [&gzip[..], &gzip].concat();
        assert_eq!(decode("gzip", twice, 1000).await.unwrap(), [body, body].concat());
        assert_eq!(decode("aws-chunked", body.to_vec(), 1000).await.unwrap(), body);
        assert_eq!(decode("compress", body.to_vec(), 1000).await, Err(DecodeError::Unreadable));
        assert_eq!(decode("gzip", Vec::new(), 1000).await.unwrap(), Bytes::new());
    }
}
