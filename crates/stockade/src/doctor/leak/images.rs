//! Searches images. The site draws canaries, and nothing else, in magenta, so no pixel may be magenta.

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PNG_END: &[u8] = b"IEND\xaeB`\x82";
/// The largest decoded image. Images of the run have a few megapixels.
const MOST_BYTES: usize = 256 * 1024 * 1024;

pub fn is_image(bytes: &[u8]) -> bool {
    bytes.starts_with(PNG)
        || bytes.starts_with(b"\xff\xd8\xff")
        || (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"))
}

/// Counts pixels in the colour of the canaries; `None` if the image cannot be decoded.
pub fn count_canary_pixels(bytes: &[u8]) -> Option<usize> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size().filter(|&size| size <= MOST_BYTES)?];
    let frame = reader.next_frame(&mut pixels).ok()?;
    if frame.bit_depth != png::BitDepth::Eight || frame.color_type.samples() < 3 {
        return None;
    }
    let depth = frame.color_type.samples();
    let magenta = |pixel: &&[u8]| pixel[0] > 170 && pixel[1] < 90 && pixel[2] > 170;
    Some(pixels.chunks_exact(depth).filter(magenta).count())
}

/// Splits a file into the bytes between its PNG images, and the images.
pub fn split_images(bytes: &[u8]) -> (Vec<u8>, Vec<&[u8]>) {
    let (mut between, mut pictures) = (Vec::new(), Vec::new());
    let mut rest = bytes;
    while let Some(start) = position(rest, PNG) {
        let Some(end) = position(&rest[start..], PNG_END) else { break };
        let end = start + end + PNG_END.len();
        between.extend_from_slice(&rest[..start]);
        pictures.push(&rest[start..end]);
        rest = &rest[end..];
    }
    between.extend_from_slice(rest);
    (between, pictures)
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(pixels: &[[u8; 3]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, u32::try_from(pixels.len()).unwrap(), 1);
        encoder.set_color(png::ColorType::Rgb);
        encoder.write_header().unwrap().write_image_data(pixels.as_flattened()).unwrap();
        bytes
    }

    #[test]
    fn one_canary_pixel_is_counted_in_any_image() {
        let (clean, dirty) = (png(&[[255; 3], [51; 3]]), png(&[[255; 3], [255, 0, 255]]));
        assert_eq!((count_canary_pixels(&clean), count_canary_pixels(&dirty)), (Some(0), Some(1)));
        assert_eq!(count_canary_pixels(b"no picture"), None);
        let file = [b"tar".as_slice(), &clean, b"between", &dirty, b"end"].concat();
        let pictures = vec![clean.as_slice(), dirty.as_slice()];
        assert_eq!(split_images(&file), (b"tarbetweenend".to_vec(), pictures));
    }
}
