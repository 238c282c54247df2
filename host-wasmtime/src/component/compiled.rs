//! Compiled components, kept from one start to the next.
//!
//! A compiled component is machine code that runs without further checks, so only files that this
//! program wrote itself are ever loaded: from a folder that belongs to the user and that nobody
//! else can write to, under a name that is made of the component's bytes and the engine's settings.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

use super::{ComponentError, invalid};

/// The component in `bytes`: from the cache, else compiled and put there.
pub(super) fn load(engine: &Engine, name: &str, bytes: &[u8]) -> Result<Component, ComponentError> {
    let file = cache_folder().map(|folder| folder.join(file_name(engine, bytes)));
    if let Some(component) = file.as_deref().and_then(|file| read(engine, file)) {
        return Ok(component);
    }
    tracing::info!("compiling {name}");
    let component = Component::new(engine, bytes).map_err(|error| invalid(name, &error))?;
    if let Some(file) = file
        && let Err(error) = write(&component, &file)
    {
        tracing::warn!("the compiled component is not kept in {}: {error:#}", file.display());
    }
    Ok(component)
}

fn cache_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("LOOKASIDE_CACHE_DIR") {
        return Some(PathBuf::from(folder)).filter(|folder| !folder.as_os_str().is_empty());
    }
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("lookaside"))
}

fn file_name(engine: &Engine, bytes: &[u8]) -> String {
    let mut settings = StableHasher(Sha256::new());
    std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut settings);
    settings.0.update(bytes);
    let digest = settings.0.finalize();
    let mut name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    name.push_str(".cwasm");
    name
}

fn read(engine: &Engine, file: &Path) -> Option<Component> {
    if !is_private(file.parent()?) || !file.is_file() {
        return None;
    }
    // SAFETY: the file is one that `write` made: it is in a folder that belongs to this user alone.
    match unsafe { Component::deserialize_file(engine, file) } {
        Ok(component) => Some(component),
        Err(error) => {
            tracing::warn!("the compiled component {} is not used: {error:#}", file.display());
            None
        }
    }
}

/// Writes aside and renames, so that nobody ever reads a part.
fn write(component: &Component, file: &Path) -> wasmtime::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    create_private(folder)?;
    if !is_private(folder) {
        wasmtime::bail!("others can write to the folder {}", folder.display());
    }
    let mut aside = tempfile::NamedTempFile::new_in(folder)?;
    aside.write_all(&component.serialize()?)?;
    aside.persist(file)?;
    Ok(())
}

#[cfg(unix)]
fn create_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)
}

/// Whether the folder belongs to this user and nobody else can write to it.
#[cfg(unix)]
fn is_private(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // The user's own id, as the owner of a file that the user has just made.
    let owner = tempfile::tempfile().and_then(|file| file.metadata()).map(|metadata| metadata.uid());
    let Ok(metadata) = fs::symlink_metadata(folder) else { return false };
    metadata.is_dir() && metadata.mode() & 0o022 == 0 && owner.is_ok_and(|owner| owner == metadata.uid())
}

/// On other systems the user's cache folder is private by its place.
#[cfg(not(unix))]
fn is_private(folder: &Path) -> bool {
    folder.is_dir()
}

/// Feeds what is hashed into a digest that is the same in every process.
struct StableHasher(Sha256);

impl std::hash::Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
