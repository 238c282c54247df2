//! The bytes of a file or of standard input, unpacked.

use std::{
    fs::File,
    io::{BufRead, Read, Result},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::text::{Packing, Unpacked};

/// Called before each read that may block: a good moment to pass on what was read so far.
pub type BeforeRead = Box<dyn FnMut() + Send>;

/// Opens a file, or standard input for `-`; what is packed with gzip or zstd is unpacked, by how it begins.
///
/// `is_reading` is true while a read that may block is under way.
///
/// # Errors
///
/// Where the file cannot be opened.
pub fn open(path: &Path, before_read: BeforeRead, is_reading: Arc<AtomicBool>) -> Result<Box<dyn BufRead + Send>> {
    let raw: Box<dyn Read + Send> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(File::open(path)?),
    };
    let announced = Announced { raw, before_read, is_reading };
    Ok(Box::new(Unpacked::new(Box::new(announced), Packing::of_path(path))))
}

struct Announced {
    raw: Box<dyn Read + Send>,
    before_read: BeforeRead,
    is_reading: Arc<AtomicBool>,
}

impl Read for Announced {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (self.before_read)();
        self.is_reading.store(true, Ordering::SeqCst);
        let read = self.raw.read(buffer);
        self.is_reading.store(false, Ordering::SeqCst);
        read
    }
}
