//! Content codings: what sites may send, and undoing it while it streams.

use async_compression::tokio::bufread::{
    BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use bytes::{Buf, Bytes};
use hyper::body::{Body, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue, IF_RANGE, RANGE};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

/// Codings on top of each other; a reply with more is refused.
const MAX_CODINGS: usize = 3;

/// The largest window that browsers accept: 8 MiB.
pub(super) const MAX_ZSTD_WINDOW_LOG: u32 = 23;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentCoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl ContentCoding {
    fn parse(name: &str) -> Option<ContentCoding> {
        match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(ContentCoding::Gzip),
            "deflate" => Some(ContentCoding::Deflate),
            "br" => Some(ContentCoding::Brotli),
            "zstd" => Some(ContentCoding::Zstd),
            _ => None,
        }
    }
}

/// Whether a reply is coded more often than is undone. A browser would undo it.
pub(super) fn has_too_many_codings(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    values.map(|value| 1 + value.iter().filter(|byte| **byte == b',').count()).sum::<usize>() > MAX_CODINGS
}

/// Codings of a reply in the order they were applied; `None` if one of them cannot be undone.
pub(super) fn content_codings(headers: &HeaderMap) -> Option<Vec<ContentCoding>> {
    let mut codings = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.to_str().ok()?.split(',').map(str::trim) {
            if !name.is_empty() && !name.eq_ignore_ascii_case("identity") {
                codings.push(ContentCoding::parse(name)?);
            }
        }
    }
    Some(codings)
}

/// Lets a site choose only among codings that can be undone. Asks for a whole body: parts of one would each hold a part
/// of a secret, which is not swapped. Media are asked for in parts, and no page reads them.
pub(super) fn limit_accepted(headers: &mut HeaderMap) {
    let identity = HeaderValue::from_static("identity");
    let is_media =
        headers.get("sec-fetch-dest").is_some_and(|dest| matches!(dest.as_bytes(), b"audio" | b"video"));
    if !is_media {
        headers.remove(RANGE);
        headers.remove(IF_RANGE);
    }
    if headers.contains_key(RANGE) {
        headers.insert(ACCEPT_ENCODING, identity);
        return;
    }
    if !headers.contains_key(ACCEPT_ENCODING) {
        return;
    }
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let is_known = |choice: &&str| {
        let name = choice.split(';').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("identity") || ContentCoding::parse(name).is_some()
    };
    let known: Vec<&str> =
        values.flat_map(|value| value.split(',')).map(str::trim).filter(is_known).collect();
    let limited = HeaderValue::from_str(&known.join(", ")).ok().filter(|value| !value.is_empty());
    headers.insert(ACCEPT_ENCODING, limited.unwrap_or(identity));
}

pub(super) type Decoded = Box<dyn AsyncRead + Send + Unpin>;

/// Undoes codings, the last one first.
pub(super) fn decode(body: BodyReader, codings: &[ContentCoding]) -> Decoded {
    let mut reader: Box<dyn AsyncBufRead + Send + Unpin> = Box::new(body);
    let mut last: Option<Decoded> = None;
    for coding in codings.iter().rev() {
        if let Some(decoded) = last.take() {
            reader = Box::new(BufReader::new(decoded));
        }
        let input = std::mem::replace(&mut reader, Box::new(tokio::io::empty()));
        last = Some(Box::new(Decoder::Unbegun { input: Some(input), coding: *coding }));
    }
    last.unwrap_or_else(|| Box::new(reader))
}

/// The first byte of `deflate` tells: no compressor begins a raw stream with method 8 and a window of at most 32 KiB, as
/// every zlib stream does.
pub(super) fn is_zlib(first: Option<u8>) -> bool {
    first.is_none_or(|first| first & 0x0f == 8 && first >> 4 <= 7)
}

type Input = Box<dyn AsyncBufRead + Send + Unpin>;

/// Made when the first byte is there: a body of no bytes is empty in every coding, as browsers have it.
enum Decoder {
    Unbegun { input: Option<Input>, coding: ContentCoding },
    Begun(Decoded),
}

/// `deflate` means zlib, but some servers leave its header out, and browsers accept both.
fn decoder(coding: ContentCoding, first: u8, input: Input) -> Decoded {
    match coding {
        ContentCoding::Gzip => Box::new(GzipDecoder::new(input)),
        ContentCoding::Brotli => Box::new(BrotliDecoder::new(input)),
        ContentCoding::Zstd => {
            let window = [DParameter::window_log_max(MAX_ZSTD_WINDOW_LOG)];
            let mut decoder = ZstdDecoder::with_params(input, &window);
            // Browsers read all frames.
            decoder.multiple_members(true);
            Box::new(decoder)
        }
        ContentCoding::Deflate if is_zlib(Some(first)) => Box::new(ZlibDecoder::new(input)),
        ContentCoding::Deflate => Box::new(DeflateDecoder::new(input)),
    }
}

impl AsyncRead for Decoder {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match &mut *self {
                Decoder::Begun(decoder) => return Pin::new(decoder).poll_read(cx, buf),
                Decoder::Unbegun { input, coding } => {
                    let coding = *coding;
                    let Some(reader) = input else { return Poll::Ready(Ok(())) };
                    let first = ready!(Pin::new(reader).poll_fill_buf(cx))?.first().copied();
                    let Some((first, reader)) = first.zip(input.take()) else { return Poll::Ready(Ok(())) };
                    *self = Decoder::Begun(decoder(coding, first, reader));
                }
            }
        }
    }
}

/// A body as bytes to read; its trailers are kept aside.
pub(super) struct BodyReader {
    source: Arc<BodySource>,
    chunk: Bytes,
}

/// What is left of a body: a decoder may stop before the end of it.
pub(super) struct BodySource(Mutex<SourceState>);

struct SourceState {
    body: Incoming,
    trailers: Option<HeaderMap>,
    is_done: bool,
}

impl BodySource {
    pub(super) fn new(body: Incoming) -> Arc<BodySource> {
        Arc::new(BodySource(Mutex::new(SourceState { body, trailers: None, is_done: false })))
    }

    pub(super) fn reader(self: &Arc<Self>) -> BodyReader {
        BodyReader { source: Arc::clone(self), chunk: Bytes::new() }
    }

    pub(super) fn take_trailers(&self) -> Option<HeaderMap> {
        self.lock().trailers.take()
    }

    pub(super) fn poll_data(&self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut state = self.lock();
        while !state.is_done {
            match ready!(Pin::new(&mut state.body).poll_frame(cx)) {
                None => state.is_done = true,
                Some(Err(error)) => {
                    state.is_done = true;
                    return Poll::Ready(Some(Err(io::Error::other(error))));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => return Poll::Ready(Some(Ok(data))),
                    Err(frame) => state.trailers = frame.into_trailers().ok(),
                },
            }
        }
        Poll::Ready(None)
    }

    fn lock(&self) -> MutexGuard<'_, SourceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for BodyReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let available = ready!(self.as_mut().poll_fill_buf(cx))?;
        let taken = available.len().min(buf.remaining());
        buf.put_slice(&available[..taken]);
        self.consume(taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for BodyReader {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        if this.chunk.is_empty()
            && let Some(data) = ready!(this.source.poll_data(cx)).transpose()?
        {
            this.chunk = data;
        }
        Poll::Ready(Ok(&this.chunk))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.chunk.advance(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_offered_only_codings_that_can_be_undone() {
        for (offered, range, expected) in [
            (None, false, None),
            (Some("gzip, deflate, br, zstd"), false, Some("gzip, deflate, br, zstd")),
            (Some("gzip;q=0.5, dcb, dcz, compress, *;q=0.1"), false, Some("gzip;q=0.5")),
            (Some("identity;q=1, *;q=0"), false, Some("identity;q=1")),
            (Some("*"), false, Some("identity")),
            (Some(""), false, Some("identity")),
            (Some("gzip"), true, Some("identity")),
            (None, true, Some("identity")),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(offered) = offered {
                headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(offered));
            }
            if range {
                headers.insert(RANGE, HeaderValue::from_static("bytes=0-1"));
                headers.insert("sec-fetch-dest", HeaderValue::from_static("video"));
            }
            limit_accepted(&mut headers);
            assert_eq!(headers.contains_key(RANGE), range);
            let limited = headers.get(ACCEPT_ENCODING).map(|value| value.to_str().unwrap());
            assert_eq!(limited, expected, "{offered:?}");
        }
    }

    #[test]
    fn only_media_are_asked_for_in_parts() {
        for (dest, kept) in
            [("video", true), ("audio", true), ("empty", false), ("document", false), ("image", false)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(RANGE, HeaderValue::from_static("bytes=0-20"));
            headers.insert(IF_RANGE, HeaderValue::from_static("\"v1\""));
            headers.insert("sec-fetch-dest", HeaderValue::from_static(dest));
            limit_accepted(&mut headers);
            assert_eq!((headers.contains_key(RANGE), headers.contains_key(IF_RANGE)), (kept, kept), "{dest}");
        }
    }

    #[test]
    fn codings_beyond_the_bound_are_counted_over_all_lines() {
        for (lines, expected) in [
            (&["gzip, br, zstd"][..], false),
            (&["gzip, gzip, gzip, gzip"], true),
            (&["gzip, gzip", "gzip", "identity"], true),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(line));
            }
            assert_eq!(has_too_many_codings(&headers), expected, "{lines:?}");
        }
    }

    #[test]
    fn codings_are_read_in_order_and_unknown_ones_are_none() {
        use ContentCoding::{Brotli, Gzip};
        for (value, expected) in [
            ("", Some(vec![])),
            ("identity", Some(vec![])),
            ("gzip", Some(vec![Gzip])),
            ("X-GZIP, br", Some(vec![Gzip, Brotli])),
            ("compress", None),
            ("gzip, dcb", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(content_codings(&headers), expected, "{value}");
        }
    }
}
