//! Packed bytes, known by how they begin, unpacked as they are read.

use std::{
    io::{BufRead, BufReader, Error, ErrorKind, Read, Result},
    path::Path,
};

const BUFFER: usize = 128 << 10;
/// How packed bytes begin.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// So many first bytes tell.
const TELLING: usize = 4;

/// How bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Not at all.
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    fn of_bytes(bytes: &[u8]) -> Self {
        match () {
            () if bytes.starts_with(GZIP) => Self::Gzip,
            () if bytes.starts_with(ZSTD) => Self::Zstd,
            () => Self::Plain,
        }
    }

    /// Whether more bytes may show that what begins so is packed.
    fn may_begin(first: &[u8]) -> bool {
        first.len() < TELLING && (GZIP.starts_with(first) || ZSTD.starts_with(first))
    }

    /// As a file's name says.
    pub(crate) fn of_path(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "gz" => Self::Gzip,
            "zst" | "zstd" => Self::Zstd,
            _ => Self::Plain,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "text",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// A text, unpacked. Nothing is read before somebody reads it.
pub(crate) struct Unpacked {
    /// None before the first read.
    unpacked: Option<(Packing, Box<dyn BufRead + Send>)>,
    /// Until then.
    raw: Option<Box<dyn Read + Send>>,
    /// As the name says, which the bytes must hold.
    named: Packing,
}

impl Unpacked {
    /// The text that `raw` packs; one whose name says that it is packed has to be.
    pub(crate) fn new(raw: Box<dyn Read + Send>, named: Packing) -> Self {
        Self { unpacked: None, raw: Some(raw), named }
    }

    fn begin(&mut self) -> Result<()> {
        let Some(mut raw) = self.raw.take() else { return Ok(()) };
        let mut first = vec![0; BUFFER];
        let mut length = 0;
        // A pipe may give less than tells, and more only once this was answered.
        while Packing::may_begin(&first[..length]) {
            match raw.read(&mut first[length..])? {
                0 => break,
                read => length += read,
            }
        }
        first.truncate(length);
        let packing = match Packing::of_bytes(&first) {
            // A name can lie; an empty file is packed in no way.
            Packing::Plain if self.named != Packing::Plain && !first.is_empty() => {
                let message =
                    format!("its name says {name}, and it does not begin as {name} does", name = self.named.name());
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
            packing => packing,
        };
        let bytes = BufReader::with_capacity(BUFFER, std::io::Cursor::new(first).chain(raw));
        self.unpacked = Some((packing, unpack(packing, bytes)?));
        if let Some((_, text)) = &mut self.unpacked {
            super::check_first_bytes(text.fill_buf().map_err(|error| damaged(packing, error))?)?;
        }
        Ok(())
    }
}

#[cfg(feature = "packed")]
fn unpack(packing: Packing, bytes: impl BufRead + Send + 'static) -> Result<Box<dyn BufRead + Send>> {
    Ok(match packing {
        Packing::Plain => Box::new(bytes),
        Packing::Gzip => Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(bytes))),
        Packing::Zstd => Box::new(BufReader::with_capacity(BUFFER, zstd::Decoder::with_buffer(bytes)?)),
    })
}

#[cfg(not(feature = "packed"))]
fn unpack(packing: Packing, bytes: impl BufRead + Send + 'static) -> Result<Box<dyn BufRead + Send>> {
    match packing {
        Packing::Plain => Ok(Box::new(bytes)),
        packed => Err(Error::new(
            ErrorKind::Unsupported,
            format!("it is packed as {}, which this program was built without", packed.name()),
        )),
    }
}

/// Says that it is the packed bytes that are wrong, and how.
fn damaged(packing: Packing, error: Error) -> Error {
    if packing == Packing::Plain {
        return error;
    }
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::new(
            ErrorKind::InvalidData,
            format!("the {} data ends early: a part of it is missing", packing.name()),
        ),
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
            Error::new(ErrorKind::InvalidData, format!("the {} data is damaged: {error}", packing.name()))
        }
        _ => error,
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.begin()?;
        match &mut self.unpacked {
            Some((packing, text)) => text.read(buffer).map_err(|error| damaged(*packing, error)),
            None => Ok(0),
        }
    }
}

impl BufRead for Unpacked {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        self.begin()?;
        match &mut self.unpacked {
            Some((packing, text)) => text.fill_buf().map_err(|error| damaged(*packing, error)),
            None => Ok(&[]),
        }
    }

    fn consume(&mut self, amount: usize) {
        if let Some((_, text)) = &mut self.unpacked {
            text.consume(amount);
        }
    }
}
