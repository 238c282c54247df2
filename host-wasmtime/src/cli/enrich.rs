//! `lookaside enrich`: one step from a source to a sink.

use std::{
    io::IsTerminal,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    arguments::{EnrichArguments, StatsFormat},
    exit::{CliError, ExitStatus},
    failures::{bad_input, driver_error, unreadable, unwritable},
    files::{self, is_stream},
    lines::Lines,
    lookup_address,
    max_errors::MaxErrors,
    progress::Progress,
    reading::{self, Outbox, ReadCounts, Reading, Watermarks},
    stalls,
    stopping::{Stop, Why},
    summary::Summary,
    writing::{self, Written},
};
use crate::{
    Driver, LookupProvider, OperatorComponent, Policy, Stats,
    driver::DriverHandle,
    join::{RecordReader, RowsShape, Shape, ShapeSettings, Target},
    sink::Output,
    source::{self, Format},
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
    let capacity = arguments.operator.capacity();
    let provider = runtime.block_on(lookup_address::open(&arguments.lookup, capacity))?;
    let shape = shape(arguments, provider.as_ref())?;
    let component = component(arguments)?;

    let stop = Stop::new();
    let (outbox, input) = Outbox::new(stop.closed());
    let flush = outbox.clone();
    let bytes = source::open(&arguments.input, Box::new(move || flush.flush_before_read()), stop.is_reading())
        .map_err(|error| unreadable(&arguments.input, &error))?;
    let growth = files::growth(&arguments.input);
    let sink = out_format.sink(Output::new(&arguments.writing.output, growth));

    let options = arguments.operator.options();
    let fails = [options.on_missing, options.on_failure, options.on_timeout].contains(&Policy::Fail);
    let driver = Driver::with_component(&component, &options, Arc::clone(&provider))
        .map_err(|error| driver_error(error, None))?;
    let no_thread =
        |error| CliError::environment(format!("cannot start a thread: {error}"), "raise the limit on threads");
    let start = Instant::now();
    let counts = Arc::new(ReadCounts::new(Lines::new(capacity, fails)));
    let reading = reading(arguments, in_format, &shape, provider);
    let reader = reading::start(reading, bytes, outbox, Arc::clone(&counts), stop.clone()).map_err(no_thread)?;
    let joined = driver.enrich_chunks(input);
    let handle = joined.handle();
    let writer =
        writing::start(shape, sink, joined, Arc::clone(&counts), runtime.handle().clone()).map_err(no_thread)?;

    let explained =
        runtime.spawn(stalls::explain(handle.clone(), Arc::clone(&counts), arguments.operator.explain_stalls));
    let signals = runtime.spawn(stop.clone().at_signals());
    if let Some(most) = arguments.writing.max_errors {
        runtime.spawn(end_at_errors(most, handle.clone(), Arc::clone(&counts), stop.clone()));
    }
    let data_on_stdout = is_stream(&arguments.writing.output);
    let progress = (!quiet).then(|| Progress::start(Arc::clone(&counts), handle.clone(), data_on_stdout)).flatten();
    let Written { records, run } = join(writer);
    explained.abort();
    signals.abort();
    drop(progress);

    let written = match records {
        Err(error) if error.is_closed_pipe() => return Ok(ExitStatus::Done),
        records => records.map_err(|error| unwritable(&arguments.writing.output, growth, &error))?,
    };
    let summary = summary(&counts, written, handle.stats(), start);
    let for_people = (!quiet && std::io::stderr().is_terminal()).then_some(StatsFormat::Text);
    if let Some(format) = arguments.writing.stats.or(for_people) {
        summary.tell(format);
    }
    run.map_err(|error| driver_error(error, Some((arguments, &counts, &summary.stats))))?;
    // A reader that was left alone may wait for bytes for ever.
    if stop.why().is_none() {
        join(reader).map_err(|error| bad_input(&arguments.input, &error))?;
    }
    warn_of_a_key_that_nothing_has(arguments, &summary);
    ended(arguments, &summary, &stop)
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What the exit code says of a run that came to an end.
fn ended(arguments: &EnrichArguments, summary: &Summary, stop: &Stop) -> Result<ExitStatus, CliError> {
    let errors = summary.errors();
    if let Some(most) = arguments.writing.max_errors
        && most.is_passed(errors, summary.read)
    {
        let early = if stop.why() == Some(Why::Errors) { "; the run has ended early" } else { "" };
        tracing::error!("{errors} of {} records failed or were skipped, over --max-errors {most}{early}", summary.read);
        return Ok(ExitStatus::Incomplete);
    }
    Ok(match stop.why() {
        Some(Why::Signal(status)) => status,
        _ if errors > 0 && !arguments.writing.allow_errors && arguments.writing.max_errors.is_none() => {
            ExitStatus::Incomplete
        }
        _ => ExitStatus::Done,
    })
}

/// Ends the run once more records have failed than may.
async fn end_at_errors(most: MaxErrors, handle: DriverHandle, counts: Arc<ReadCounts>, stop: Stop) {
    let MaxErrors::Count(_) = most else { return };
    loop {
        let stats = handle.stats();
        let errors = stats.failed + stats.timed_out + counts.skipped.load(Ordering::Relaxed);
        if most.is_passed(errors, 0) {
            return stop.end(Why::Errors).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A misspelt key looks like misses alone.
fn warn_of_a_key_that_nothing_has(arguments: &EnrichArguments, summary: &Summary) {
    if summary.read > summary.skipped && summary.without_key == summary.read - summary.skipped {
        let key = arguments.lookup.key().iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        tracing::warn!(
            "none of the {} records has the field of --key {key}, so that nothing was looked up",
            summary.read
        );
    }
}

/// How the input is written; none where its first bytes are to tell.
fn input_format(arguments: &EnrichArguments) -> Result<Option<Format>, CliError> {
    let input = &arguments.input;
    let named = arguments.reading.in_format.or_else(|| Format::of_path(input));
    if named.is_some() || is_stream(input) || input.extension().is_none() {
        return Ok(named);
    }
    Err(CliError::usage(
        format!("the name {} does not say how the file is written", input.display()),
        "say it: --in-format ndjson, json, csv or tsv",
    ))
}

fn output_format(arguments: &EnrichArguments) -> Format {
    let by_name = Format::of_path(&arguments.writing.output);
    arguments.writing.out_format.or(by_name).unwrap_or(Format::Ndjson)
}

fn check(arguments: &EnrichArguments) -> Result<(), CliError> {
    let shape = &arguments.shape;
    if shape.merge.is_some() && shape.rows == RowsShape::All {
        return Err(CliError::usage(
            "--merge puts one row's fields beside the record's, and --rows all asks for many rows",
            "write a record for each row with --rows each, or nest the rows with --as FIELD",
        ));
    }
    if shape.field.names().is_none() {
        return Err(CliError::usage(
            format!("--as {} leads into an array, and what was found goes into a field", shape.field),
            "name a field, such as lookup or user.info",
        ));
    }
    arguments.operator.check().map_err(|(message, help)| CliError::usage(message, help))?;
    files::check(arguments)
}

fn shape(arguments: &EnrichArguments, provider: &dyn LookupProvider) -> Result<Shape, CliError> {
    let fields = arguments.shape.fields();
    let columns = provider.columns().map(<[String]>::to_vec);
    if let (Some(fields), Some(columns)) = (&fields, &columns)
        && let Some(unknown) = fields.iter().find(|field| !columns.contains(field))
    {
        let there = crate::lookup::table::columns_there(unknown, columns);
        return Err(CliError::usage(
            format!("rows have no field {unknown}; {there}"),
            "name the rows' own fields in --fields",
        ));
    }
    let shape = Shape::new(ShapeSettings {
        target: match &arguments.shape.merge {
            Some(prefix) => Target::Merge(prefix.clone()),
            None => Target::Field(arguments.shape.field.clone()),
        },
        rows: arguments.shape.rows,
        selects: fields.is_some(),
        columns: fields.or(columns),
        overwrites: arguments.shape.overwrite,
        tells_errors: arguments.operator.emits_errors(),
    });
    match shape.twice() {
        Some(field) => Err(CliError::usage(
            format!(
                "the field `{field}` would be set twice: by a column, and by another or by what says why a lookup failed"
            ),
            "choose another --merge PREFIX, or take some of the columns with --fields",
        )),
        None => Ok(shape),
    }
}

fn component(arguments: &EnrichArguments) -> Result<OperatorComponent, CliError> {
    let component = match &arguments.operator.component {
        Some(file) => OperatorComponent::from_file(file),
        None => OperatorComponent::bundled(),
    };
    component.map_err(|error| driver_error(error.into(), None))
}

fn reading(
    arguments: &EnrichArguments,
    format: Option<Format>,
    shape: &Shape,
    provider: Arc<dyn LookupProvider>,
) -> Reading {
    let event_time = &arguments.reading.event_time;
    Reading {
        format,
        else_format: is_stream(&arguments.input).then_some(Format::Ndjson),
        dialect: (&arguments.reading.dialect).into(),
        reader: RecordReader {
            key: arguments.lookup.key(),
            order_key: arguments.operator.order_key(),
            event_time: event_time.clone().map(|path| (path, arguments.reading.event_time_format.clone())),
            set: shape.fields(),
            overwrites: arguments.shape.overwrite,
            empty_is_null: false,
        },
        watermarks: event_time.is_some().then(|| Watermarks {
            delay: i64::try_from(arguments.reading.watermark_delay.as_millis()).unwrap_or(i64::MAX),
            every: arguments.reading.watermark_every.get(),
        }),
        on_bad_record: arguments.reading.on_bad_record,
        limit: arguments.reading.limit,
        provider,
    }
}

fn summary(counts: &ReadCounts, written: u64, stats: Stats, start: Instant) -> Summary {
    Summary {
        read: counts.records.load(Ordering::Relaxed),
        skipped: counts.skipped.load(Ordering::Relaxed),
        without_key: counts.without_key.load(Ordering::Relaxed),
        written,
        stats,
        elapsed: start.elapsed(),
    }
}
