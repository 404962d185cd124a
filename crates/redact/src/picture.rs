//! Fills rectangles in an image, on the host, where no page can observe or undo it.

use std::fmt;

const MASK_COLOUR: [u8; 3] = [0x33; 3];

/// Bytes of a decoded image, more than any screenshot has. A compromised browser could send a decompression bomb.
const MAX_DECODED_BYTES: usize = 128 << 20;

/// Left, top, right and bottom, in pixels; clipped to the image.
pub type PixelRect = [f64; 4];

/// Formats without loss: what a mask covers cannot be guessed from what compression left around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    Png,
    WebP,
}

/// Why an image could not be masked.
#[derive(Debug)]
pub struct PictureError(String);

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PictureError {}

/// A PNG image with the rectangles filled, in the format asked for.
pub fn paint(image: &[u8], rects: &[PixelRect], format: PictureFormat) -> Result<Vec<u8>, PictureError> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(image));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(unreadable)?;
    let size = reader.output_buffer_size().filter(|size| *size <= MAX_DECODED_BYTES);
    let size = size.ok_or_else(|| PictureError("it is too large".into()))?;
    let mut pixels = vec![0; size];
    let info = reader.next_frame(&mut pixels).map_err(unreadable)?;
    let depth = info.color_type.samples();
    let (width, height) = (info.width as usize, info.height as usize);
    for rect in rects {
        fill(&mut pixels, (width, height, depth), rect);
    }
    let mut encoded = Vec::new();
    if format == PictureFormat::Png {
        let mut encoder = png::Encoder::new(&mut encoded, info.width, info.height);
        encoder.set_color(info.color_type);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(unwritable)?;
        writer.write_image_data(&pixels).map_err(unwritable)?;
        writer.finish().map_err(unwritable)?;
        return Ok(encoded);
    }
    let colours = match info.color_type {
        png::ColorType::Grayscale => image_webp::ColorType::L8,
        png::ColorType::GrayscaleAlpha => image_webp::ColorType::La8,
        png::ColorType::Rgba => image_webp::ColorType::Rgba8,
        png::ColorType::Rgb | png::ColorType::Indexed => image_webp::ColorType::Rgb8,
    };
    image_webp::WebPEncoder::new(&mut encoded)
        .encode(&pixels, info.width, info.height, colours)
        .map_err(unwritable)?;
    Ok(encoded)
}

fn fill(pixels: &mut [u8], (width, height, depth): (usize, usize, usize), rect: &PixelRect) {
    // A cast of a float saturates, and takes NaN to zero.
    let [left, top] = [rect[0].floor() as usize, rect[1].floor() as usize];
    let [right, bottom] = [(rect[2].ceil() as usize).min(width), (rect[3].ceil() as usize).min(height)];
    if left >= right {
        return;
    }
    for row in top..bottom {
        let from = (row * width + left) * depth;
        for pixel in pixels[from..from + (right - left) * depth].chunks_exact_mut(depth) {
            let colours = if depth < 3 { 1 } else { 3 };
            pixel[..colours].copy_from_slice(&MASK_COLOUR[..colours]);
            pixel[colours..].fill(0xff);
        }
    }
}

fn unreadable(error: png::DecodingError) -> PictureError {
    PictureError(error.to_string())
}

fn unwritable(error: impl fmt::Display) -> PictureError {
    PictureError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn white(colours: png::ColorType) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 10, 8);
        encoder.set_color(colours);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&vec![255; 80 * colours.samples()]).unwrap();
        writer.finish().unwrap();
        bytes
    }

    /// The first dark pixel, and the number of dark pixels.
    fn dark(bytes: &[u8]) -> (Option<(usize, usize)>, usize) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let depth = reader.next_frame(&mut pixels).unwrap().color_type.samples();
        let found: Vec<usize> =
            pixels.chunks(depth).enumerate().filter(|(_, p)| p[0] == 0x33).map(|(at, _)| at).collect();
        (found.first().map(|at| (at % 10, at / 10)), found.len())
    }

    #[test]
    fn rectangles_are_rounded_outwards_and_clipped_to_the_image() {
        let far = f64::MAX;
        for (area, first, count) in [
            ([2.0, 3.0, 4.0, 5.0], Some((2, 3)), 4),
            ([2.4, 3.6, 3.2, 4.1], Some((2, 3)), 4),
            ([-5.0, -5.0, 1.0, 1.0], Some((0, 0)), 1),
            ([-far, -far, far, far], Some((0, 0)), 80),
            ([9.0, 7.0, 50.0, 50.0], Some((9, 7)), 1),
            ([20.0, 0.0, 30.0, 8.0], None, 0),
            ([0.0, 20.0, 8.0, 30.0], None, 0),
            ([4.0, 4.0, 2.0, 2.0], None, 0),
            ([f64::NAN; 4], None, 0),
        ] {
            for colours in [png::ColorType::Rgb, png::ColorType::Rgba, png::ColorType::Grayscale] {
                let bytes = paint(&white(colours), &[area], PictureFormat::Png).unwrap();
                assert_eq!(dark(&bytes), (first, count), "{area:?}");
            }
        }
    }

    #[test]
    fn an_image_becomes_webp_and_an_invalid_one_is_an_error() {
        let whole = white(png::ColorType::Rgb);
        assert!(paint(&whole, &[], PictureFormat::WebP).unwrap().starts_with(b"RIFF"));
        // Its header says 65,535 by 65,535.
        let mut huge = Vec::new();
        let encoder = png::Encoder::new(&mut huge, 0xffff, 0xffff);
        drop(encoder.write_header().unwrap());
        for bytes in [&b""[..], b"\x89PNG", &whole[..40], b"<html>", &huge] {
            assert!(paint(bytes, &[], PictureFormat::Png).is_err());
        }
    }
}
