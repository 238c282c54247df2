//! The bytes of a file or of standard input, unpacked.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Result},
    path::Path,
};

const BUFFER: usize = 128 << 10;

/// Called before each read that may block: a good moment to pass on what was read so far.
pub type BeforeRead = Box<dyn FnMut() + Send>;

/// Opens a file, or standard input for `-`; what is packed with gzip or zstd is unpacked.
///
/// # Errors
///
/// Where the file cannot be opened.
pub fn open(path: &Path, before_read: BeforeRead) -> Result<Box<dyn BufRead + Send>> {
    let raw: Box<dyn Read + Send> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(File::open(path)?),
    };
    let announced = BufReader::with_capacity(BUFFER, Announced { raw, before_read });
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    Ok(match extension.to_ascii_lowercase().as_str() {
        "gz" => Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(announced))),
        "zst" | "zstd" => Box::new(BufReader::with_capacity(BUFFER, zstd::Decoder::with_buffer(announced)?)),
        _ => Box::new(announced),
    })
}

struct Announced {
    raw: Box<dyn Read + Send>,
    before_read: BeforeRead,
}

impl Read for Announced {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (self.before_read)();
        self.raw.read(buffer)
    }
}
