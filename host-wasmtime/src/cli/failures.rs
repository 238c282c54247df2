//! What went wrong in a run: where, and what to do.

use std::path::Path;

use super::{
    arguments::EnrichArguments,
    exit::CliError,
    files::is_stream,
    reading::{ReadCounts, ReadError},
};
use crate::{
    DriverError, LookupFailed, OperatorError, Order, Stats,
    sink::{Growth, SinkError},
    source::SourceError,
};

/// The input cannot be read.
pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    let help = match error.kind() {
        std::io::ErrorKind::InvalidData => "the records before it are written; give a file that is whole, and in UTF-8",
        _ => "check the path and your permissions",
    };
    CliError::environment(format!("cannot read {}: {error}", input_name(path)), help)
}

fn input_name(path: &Path) -> String {
    if is_stream(path) { "standard input".into() } else { path.display().to_string() }
}

/// The output cannot be written.
pub(super) fn unwritable(path: &Path, growth: Growth, error: &SinkError) -> CliError {
    use std::io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let name = if is_stream(path) { "standard output".into() } else { path.display().to_string() };
    let help = match error {
        SinkError::DoesNotFit { .. } => {
            "choose another format with --out-format, other names with --as or --merge, or some fields with --fields"
        }
        SinkError::Io(error) => match (error.kind(), growth) {
            (NotFound, _) => "check that the folder is there",
            (PermissionDenied | ReadOnlyFilesystem, _) => "check your permissions, or write to another folder",
            (StorageFull, Growth::Beside) => "make room and run again; a file that was there before is as it was",
            (_, Growth::Beside) => "run again once it can be written; a file that was there before is as it was",
            (StorageFull, Growth::InPlace) => "make room and run again; what was written so far may lack its end",
            (_, Growth::InPlace) => "what was written so far may lack its end",
        },
    };
    CliError::environment(format!("cannot write {name}: {error}"), help)
}

/// The input is not what it should be.
pub(super) fn bad_input(path: &Path, error: &ReadError) -> CliError {
    let name = input_name(path);
    match error {
        ReadError::Source(SourceError::Io(error)) => unreadable(path, error),
        ReadError::Source(SourceError::BadRecord { line, reason }) => CliError::environment(
            format!("{name}:{line}: {reason}"),
            "the records before it are written; correct this one, or pass over such records with --on-bad-record skip",
        ),
        ReadError::Source(SourceError::Broken { line, reason }) => CliError::environment(
            format!("{name}:{line}: {reason}"),
            "the records before it are written; check that --in-format says how the file is written",
        ),
        ReadError::UnknownFormat => CliError::usage(
            format!("nothing says how {name} is written, and it begins like no JSON, CSV or TSV"),
            "say it: --in-format ndjson, json, csv or tsv",
        ),
        ReadError::Fields(reason) => {
            CliError::usage(format!("{name}: {reason}"), "see `lookaside enrich --help` for how fields are named")
        }
        ReadError::Dialect(reason) => CliError::usage(
            format!("{name}: {reason}"),
            "say --in-format csv or tsv, or leave --delimiter, --quote, --comment and --no-header out",
        ),
    }
}

/// The run of the operator ended early; what is known of its input tells whose lookup it was.
pub(super) fn driver_error(error: DriverError, read: Option<(&EnrichArguments, &ReadCounts, &Stats)>) -> CliError {
    match &error {
        DriverError::Component(component) => CliError::environment(
            describe(component),
            "give a component that exports lookaside:async-lookup, or leave --component out",
        ),
        DriverError::Operator(OperatorError::LookupFailed(failed)) => {
            let place = read.map(|(arguments, counts, stats)| place(failed, arguments, counts, stats));
            let message = format!("{}{error}", place.unwrap_or_default());
            let help = "what was joined before is written; to go on past such records use --on-failure, --on-timeout or --on-missing with emit or drop";
            // One code for a backend that is not there, whenever that shows.
            if failed.message.starts_with("unavailable: ") {
                return CliError::environment(
                    message,
                    format!("check that the backend runs and can be reached; --retry-on failure tries again; {help}"),
                );
            }
            CliError::operator(message, help)
        }
        DriverError::Operator(OperatorError::RefusedOption(_)) => {
            CliError::usage(error.to_string(), "see `lookaside enrich --help` for what the options take")
        }
        DriverError::Operator(_) | DriverError::Stopped => CliError::operator(
            error.to_string(),
            "this should not happen with the bundled component: please report it with what -v tells; a larger record than memory holds may be the cause",
        ),
    }
}

/// Where the record stands whose lookup ended the run, as far as that is known: `flights.json:7: `.
fn place(failed: &LookupFailed, arguments: &EnrichArguments, counts: &ReadCounts, stats: &Stats) -> String {
    let lines = match arguments.operator.options().order {
        // All records before it have left, and none behind it.
        Order::Ordered => counts.lines.of_place(stats.emitted + stats.dropped).into_iter().collect(),
        _ => counts.lines.of_key(failed.key.as_deref()),
    };
    let name = input_name(&arguments.input);
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{name}:{line}: "),
        [first, .., last] => format!("{name}, a line from {first} to {last}: "),
    }
}

/// An error with its causes.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
