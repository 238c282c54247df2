//! Which files a run reads, so that none of them is written to.

use std::{
    fs::Metadata,
    path::{Path, PathBuf},
};

use super::{arguments::EnrichArguments, exit::CliError};
use crate::{lookup, sink::Growth};

/// What tells a file from any other, however it is named: device and inode.
#[cfg(unix)]
type Identity = (u64, u64);
/// What tells a file from any other: its path, links resolved.
#[cfg(not(unix))]
type Identity = std::path::PathBuf;

/// Refuses an output that is one of the files that the run reads.
pub(super) fn check(arguments: &EnrichArguments) -> Result<(), CliError> {
    let output = &arguments.writing.output;
    check_place(output)?;
    let Some(written) = identity(output, Stream::Output) else { return Ok(()) };
    let input_name = if is_stream(&arguments.input) { "standard input".into() } else { shown(&arguments.input) };
    let mut read: Vec<(PathBuf, String)> = vec![(arguments.input.clone(), input_name)];
    read.extend(lookup::files(&arguments.lookup.lookup).into_iter().map(|path| {
        let name = format!("{}, which is looked up in,", shown(&path));
        (path, name)
    }));
    read.extend(arguments.operator.component.iter().map(|path| (path.clone(), shown(path))));
    for (path, name) in read {
        if identity(&path, Stream::Input).is_some_and(|identity| identity == written) {
            let output = if is_stream(output) { "standard output".into() } else { shown(output) };
            let message = match name == output {
                true => format!("{name} is both input and output"),
                false => format!("{name} and the output {output} are one file"),
            };
            return Err(CliError::usage(
                message,
                "write to another file: this one would be overwritten while it is read",
            ));
        }
    }
    Ok(())
}

/// How the output comes to be: beside itself where the input has an end that can be seen.
pub(super) fn growth(input: &Path) -> Growth {
    let is_file = metadata(input, Stream::Input).is_some_and(|metadata| metadata.is_file());
    if is_file { Growth::Beside } else { Growth::InPlace }
}

/// Whether a path stands for standard input or output.
pub(super) fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

/// What can be seen of an output before anything is written.
fn check_place(output: &Path) -> Result<(), CliError> {
    if is_stream(output) {
        return Ok(());
    }
    let cannot = |reason: &str, help: &str| {
        Err(CliError::environment(format!("cannot write {}: {reason}", output.display()), help))
    };
    if output.is_dir() {
        return cannot("it is a folder", "name a file in it");
    }
    match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.exists() => {
            cannot("No such file or directory", &format!("make the folder first: mkdir -p {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Input,
    Output,
}

/// A regular file's identity: only that can be overwritten.
fn identity(path: &Path, stream: Stream) -> Option<Identity> {
    let metadata = metadata(path, stream).filter(Metadata::is_file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        drop(metadata);
        path.canonicalize().ok()
    }
}

fn metadata(path: &Path, stream: Stream) -> Option<Metadata> {
    if !is_stream(path) {
        return path.metadata().ok();
    }
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let (input, output) = (std::io::stdin(), std::io::stdout());
        let descriptor = match stream {
            Stream::Input => input.as_fd(),
            Stream::Output => output.as_fd(),
        };
        std::fs::File::from(descriptor.try_clone_to_owned().ok()?).metadata().ok()
    }
    #[cfg(not(unix))]
    {
        let _ = stream;
        None
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
