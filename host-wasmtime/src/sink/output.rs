//! Where bytes go: a file or standard output, packed or not.
//!
//! Nothing is opened before there is something to write, or the end was reached.

use std::{
    fs::{self, File, Permissions},
    io::{self, Stdout, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::text::Packing;

/// Which way a file comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// It is written as it comes, so that whoever follows it sees each record.
    InPlace,
    /// It is written beside itself, and takes its name once it is whole; until then what was there before stays.
    Beside,
}

/// An output, which ends with [`finish`](Self::finish): dropped without it, a file that grows beside itself is gone.
pub struct Output {
    path: PathBuf,
    growth: Growth,
    packing: Packing,
    state: State,
}

enum State {
    Unopened,
    Open(Writer),
    Finished,
}

enum Writer {
    Plain(Place),
    Gzip(flate2::write::GzEncoder<Place>),
    Zstd(zstd::Encoder<'static, Place>),
}

enum Place {
    Stdout(Stdout),
    File(File),
    /// And the path that it takes.
    Part(NamedTempFile, PathBuf),
}

impl Output {
    /// The file at `path`, or standard output for `-`; what ends in `.gz` or `.zst` is packed.
    #[must_use]
    pub fn new(path: &Path, growth: Growth) -> Self {
        Self { path: path.to_owned(), growth, packing: Packing::of_path(path), state: State::Unopened }
    }

    /// Opens it, where it is not open.
    fn open(&mut self) -> io::Result<&mut Writer> {
        if let State::Unopened = self.state {
            let place = Place::open(&self.path, self.growth)?;
            self.state = State::Open(match self.packing {
                Packing::Plain => Writer::Plain(place),
                Packing::Gzip => Writer::Gzip(flate2::write::GzEncoder::new(place, flate2::Compression::default())),
                Packing::Zstd => Writer::Zstd(zstd::Encoder::new(place, 0)?),
            });
        }
        match &mut self.state {
            State::Open(writer) => Ok(writer),
            _ => Err(io::Error::other("the output has ended")),
        }
    }

    /// Ends it: a file has its name from here on.
    ///
    /// # Errors
    ///
    /// Where the last bytes cannot be written, or the file cannot take its name.
    pub fn finish(&mut self) -> io::Result<()> {
        self.open()?;
        let State::Open(writer) = std::mem::replace(&mut self.state, State::Finished) else { return Ok(()) };
        let place = match writer {
            Writer::Plain(place) => place,
            Writer::Gzip(encoder) => encoder.finish()?,
            Writer::Zstd(encoder) => encoder.finish()?,
        };
        place.finish()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.open()? {
            Writer::Plain(place) => place.write(bytes),
            Writer::Gzip(encoder) => encoder.write(bytes),
            Writer::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Open(Writer::Plain(place)) => place.flush(),
            State::Open(Writer::Gzip(encoder)) => encoder.flush(),
            State::Open(Writer::Zstd(encoder)) => encoder.flush(),
            State::Unopened | State::Finished => Ok(()),
        }
    }
}

impl Place {
    fn open(path: &Path, growth: Growth) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout(io::stdout()));
        }
        let there = fs::metadata(path).ok();
        // A descriptor that somebody opened for this run stays the file that it is.
        let is_descriptor = path.starts_with("/dev") || path.starts_with("/proc");
        let is_special = is_descriptor || there.as_ref().is_some_and(|there| !there.is_file());
        if growth == Growth::InPlace || is_special {
            return File::create(path).map(Self::File);
        }
        // A link goes on to lead where it leads.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match part(&target, there.as_ref()) {
            Ok(part) => Ok(Self::Part(part, target)),
            // A folder that takes no new files may still have one that can be written.
            Err(error) if there.is_some() && error.kind() == io::ErrorKind::PermissionDenied => {
                tracing::warn!("{} grows in place, since its folder takes no other file", path.display());
                File::create(path).map(Self::File)
            }
            Err(error) => Err(error),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush(),
            Self::File(mut file) => file.flush(),
            Self::Part(part, path) => {
                // A name must not be there before its bytes are.
                part.as_file().sync_all()?;
                part.persist(path).map(drop).map_err(|error| error.error)
            }
        }
    }
}

/// A file beside `target`, which whoever may read or write that may read or write.
fn part(target: &Path, there: Option<&fs::Metadata>) -> io::Result<NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut builder = tempfile::Builder::new();
    let prefix = format!(".{name}.");
    builder.prefix(&prefix).suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let part = builder.tempfile_in(folder)?;
    if let Some(there) = there {
        keep_owner_and_permissions(&part, there.permissions(), there);
    }
    Ok(part)
}

/// As far as it is ours to say.
#[cfg_attr(not(unix), expect(unused_variables, reason = "owners are Unix's"))]
fn keep_owner_and_permissions(part: &NamedTempFile, permissions: Permissions, there: &fs::Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(part.as_file(), Some(there.uid()), Some(there.gid()));
    }
    let _ = part.as_file().set_permissions(permissions);
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
            Self::Part(part, _) => part.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file) => file.flush(),
            Self::Part(part, _) => part.flush(),
        }
    }
}
