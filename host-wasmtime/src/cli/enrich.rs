//! `lookaside enrich`: one step from a source to a sink.

use std::{
    fs::File,
    io::{IsTerminal, Write},
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::Instant,
};

use super::{
    arguments::{EnrichArguments, StatsFormat},
    exit::{CliError, ExitStatus},
    lookup_address,
    progress::Progress,
    reading::{self, Outbox, ReadCounts, Reading, Watermarks},
    stalls,
    summary::Summary,
    writing::{self, WriteCounts, Written},
};
use crate::{
    Driver, DriverError, LookupProvider, OperatorComponent, OperatorError, Stats,
    join::{RecordReader, RowsShape, Shape, Target},
    sink::SinkError,
    source::{self, Format, SourceError},
};

/// Runs it and says how it ended.
pub(super) fn run(arguments: &EnrichArguments, quiet: bool) -> Result<ExitStatus, CliError> {
    let in_format = input_format(arguments)?;
    let out_format = output_format(arguments);
    check(arguments)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
            CliError::environment(format!("cannot start threads: {error}"), "raise the limit on threads")
        })?;
    let _context = runtime.enter();
    let provider = runtime.block_on(lookup_address::open(&arguments.lookup, in_format.is_untyped()))?;
    let shape = shape(arguments, provider.as_ref());
    let component = component(arguments)?;

    let (outbox, input) = Outbox::new();
    let flush = outbox.clone();
    let bytes = source::open(&arguments.input, Box::new(move || flush.flush_before_read()))
        .map_err(|error| unreadable(&arguments.input, &error))?;
    let sink = out_format.sink(output(&arguments.writing.output)?);

    let options = arguments.operator.options();
    let driver = Driver::with_component(&component, &options, provider).map_err(driver_error)?;
    let no_thread =
        |error| CliError::environment(format!("cannot start a thread: {error}"), "raise the limit on threads");
    let start = Instant::now();
    let counts = Arc::new(ReadCounts::default());
    let reading = reading(arguments, in_format, &shape);
    let reader = reading::start(reading, bytes, outbox, Arc::clone(&counts)).map_err(no_thread)?;
    let joined = driver.enrich_chunks(input);
    let handle = joined.handle();
    let writer = writing::start(shape, sink, joined, runtime.handle().clone()).map_err(no_thread)?;

    let explained =
        runtime.spawn(stalls::explain(handle.clone(), Arc::clone(&counts), arguments.operator.explain_stalls));
    let data_on_stdout = is_stdout(&arguments.writing.output);
    let progress = (!quiet).then(|| Progress::start(Arc::clone(&counts), handle.clone(), data_on_stdout)).flatten();
    let Written { counts: written, run } = join(writer);
    explained.abort();
    drop(progress);

    let written = match written {
        Err(error) if error.is_closed_pipe() => return Ok(ExitStatus::Done),
        written => written.map_err(|error| unwritable(&arguments.writing.output, &error))?,
    };
    let summary = summary(&counts, written, handle.stats(), start);
    let for_people = (!quiet && std::io::stderr().is_terminal()).then_some(StatsFormat::Text);
    if let Some(format) = arguments.writing.stats.or(for_people) {
        summary.tell(format);
    }
    run.map_err(driver_error)?;
    join(reader).map_err(|error| bad_input(&arguments.input, &error))?;
    Ok(if summary.is_incomplete() { ExitStatus::Incomplete } else { ExitStatus::Done })
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn input_format(arguments: &EnrichArguments) -> Result<Format, CliError> {
    if let Some(format) = arguments.reading.in_format {
        return Ok(format);
    }
    if arguments.input == Path::new("-") {
        return Ok(Format::Ndjson);
    }
    Format::of_path(&arguments.input).ok_or_else(|| {
        CliError::usage(
            format!("the name {} does not say how the file is written", arguments.input.display()),
            "say it: --in-format ndjson, json, csv or tsv",
        )
    })
}

fn output_format(arguments: &EnrichArguments) -> Format {
    let by_name = Format::of_path(&arguments.writing.output);
    arguments.writing.out_format.or(by_name).unwrap_or(Format::Ndjson)
}

fn check(arguments: &EnrichArguments) -> Result<(), CliError> {
    if arguments.shape.merge.is_some() && arguments.shape.rows == RowsShape::All {
        return Err(CliError::usage(
            "--merge puts one row's fields beside the record's, and --rows all asks for many rows",
            "leave --rows out, or nest the rows with --as FIELD",
        ));
    }
    let same = |path: &Path| path.canonicalize().ok().filter(|_| path != Path::new("-"));
    if same(&arguments.input).is_some_and(|input| same(&arguments.writing.output) == Some(input)) {
        return Err(CliError::usage(
            format!("{} is both input and output, and would be emptied before it is read", arguments.input.display()),
            "write to another file",
        ));
    }
    Ok(())
}

fn shape(arguments: &EnrichArguments, provider: &dyn LookupProvider) -> Shape {
    Shape {
        target: match &arguments.shape.merge {
            Some(prefix) => Target::Merge(prefix.clone()),
            None => Target::Field(arguments.shape.field.clone()),
        },
        rows: arguments.shape.rows,
        columns: provider.columns().map(<[String]>::to_vec).unwrap_or_default(),
    }
}

fn component(arguments: &EnrichArguments) -> Result<OperatorComponent, CliError> {
    let component = match &arguments.operator.component {
        Some(file) => OperatorComponent::from_file(file),
        None => OperatorComponent::bundled(),
    };
    component.map_err(|error| driver_error(error.into()))
}

fn reading(arguments: &EnrichArguments, format: Format, shape: &Shape) -> Reading {
    let event_time = &arguments.reading.event_time;
    Reading {
        format,
        reader: RecordReader {
            key: arguments.lookup.key.clone(),
            order_key: arguments.operator.order_key.clone(),
            event_time: event_time.clone().map(|path| (path, arguments.reading.event_time_format.clone())),
            replaced: shape.fields(),
            empty_is_null: format.is_untyped(),
        },
        watermarks: event_time.is_some().then(|| Watermarks {
            delay: i64::try_from(arguments.reading.watermark_delay.as_millis()).unwrap_or(i64::MAX),
            every: arguments.reading.watermark_every.get(),
        }),
        on_bad_record: arguments.reading.on_bad_record,
        limit: arguments.reading.limit,
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

fn output(path: &Path) -> Result<Box<dyn Write + Send>, CliError> {
    if is_stdout(path) {
        return Ok(Box::new(std::io::stdout()));
    }
    match File::create(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(unwritable(path, &SinkError::Io(error))),
    }
}

fn summary(counts: &ReadCounts, written: WriteCounts, stats: Stats, start: Instant) -> Summary {
    Summary {
        read: counts.records.load(Ordering::Relaxed),
        skipped: counts.skipped.load(Ordering::Relaxed),
        written,
        stats,
        elapsed: start.elapsed(),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::environment(format!("cannot read {}: {error}", path.display()), "check the path and your permissions")
}

fn unwritable(path: &Path, error: &SinkError) -> CliError {
    let path = if is_stdout(path) { "standard output".into() } else { path.display().to_string() };
    let help = match error {
        SinkError::DoesNotFit { .. } => "choose another format with --out-format, or other names with --as or --merge",
        SinkError::Io(_) => "what was written so far is whole records but may lack its end; make room and run again",
    };
    CliError::environment(format!("cannot write {path}: {error}"), help)
}

fn bad_input(path: &Path, error: &SourceError) -> CliError {
    let name = if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    match error {
        SourceError::Io(error) => unreadable(path, error),
        SourceError::BadRecord { line, reason } => CliError::environment(
            format!("{name}:{line}: {reason}"),
            "the records before it are written; mend this one, or pass over such records with --on-bad-record skip",
        ),
        SourceError::Broken { line, reason } => CliError::environment(
            format!("{name}:{line}: {reason}"),
            "the records before it are written; check that --in-format says how the file is written",
        ),
    }
}

fn driver_error(error: DriverError) -> CliError {
    match &error {
        DriverError::Component(component) => CliError::environment(
            describe(component),
            "give a component that exports lookaside:async-lookup, or leave --component out",
        ),
        DriverError::Operator(OperatorError::LookupFailed(_)) => CliError::operator(
            error.to_string(),
            "what was joined before is written; to go on past such records use --on-failure, --on-timeout or --on-missing with emit or drop",
        ),
        DriverError::Operator(OperatorError::RefusedOption(_)) => {
            CliError::usage(error.to_string(), "see `lookaside enrich --help` for what the options take")
        }
        DriverError::Operator(_) => CliError::operator(
            error.to_string(),
            "run with -v for more; this should not happen with the bundled component",
        ),
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
