//! What can be said on the command line.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::{
    color::Color,
    dialect::{InputDialect, TableDialect},
    duration::OptionalDuration,
    max_errors::MaxErrors,
};
use crate::{
    CacheOptions, Multiplier, Options, Order, Policy, Retry, RetryOn,
    join::{EventTimeFormat, FieldPath, FieldPaths, Names, RowsShape},
    lookup::Latency,
    source::Format,
    units::{parse_bytes, parse_duration},
};

/// Enriches streams: joins each record with what an asynchronous lookup finds for it.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,

    /// Say more on stderr; twice for still more.
    #[arg(short, long, action = ArgAction::Count, global = true, conflicts_with = "quiet")]
    pub(super) verbose: u8,

    /// Say nothing on stderr but errors.
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,

    /// Whether messages are coloured.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(super) color: Color,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Joins the records of a file or a pipe with what a table, a database or a service knows.
    #[command(after_long_help = EXAMPLES)]
    Enrich(Box<EnrichArguments>),
    /// Lists what can be looked up in, with the settings that an address may have.
    #[command(after_long_help = LOOKUPS_EXAMPLES)]
    Lookups(LookupsArguments),
}

#[derive(Debug, Args)]
pub(super) struct LookupsArguments {
    /// Only this kind, such as redis or https.
    pub(super) scheme: Option<String>,
}

const LOOKUPS_EXAMPLES: &str = "\
Examples:
  All of them:
    lookaside lookups

  What may be set for Redis:
    lookaside lookups redis";

const EXAMPLES: &str = "\
Examples:
  Flights with the airports that they leave from:
    lookaside enrich flights.json --key origin --lookup csv:airports.csv --lookup-key iata \\
      --as origin_airport -o joined.ndjson

  A log as it grows, in order, with users from a database; a miss is an empty list:
    tail -f events.ndjson | lookaside enrich - --key user.id --lookup sqlite:users.db \\
      --query 'select name, plan from users where id = ?' --as users --rows all

  From a service, with retries while it is busy, and what was found kept for a minute:
    lookaside enrich events.ndjson --key user_id --order unordered --capacity 1000 \\
      --lookup 'https://api.example.com/users/{key}#header=Authorization: Bearer ${env:TOKEN}' \\
      --retry-on failure --cache-max-bytes 64M --cache-expire-after-write 1m

  From Redis, PostgreSQL and HBase (`lookaside lookups` lists their settings):
    lookaside enrich events.ndjson --key user_id --lookup 'redis://127.0.0.1?key=user:{key}&type=hash'
    lookaside enrich events.ndjson --key user_id --lookup 'postgres://me:${env:PGPASSWORD}@127.0.0.1/app' \\
      --table users --lookup-key id
    lookaside enrich events.ndjson --key user_id --lookup 'hbase://127.0.0.1:16020/users?columns=cf:name,cf:age'

  CSV to CSV, the row's columns beside the record's, records without a row left out:
    lookaside enrich orders.csv --key sku --lookup csv:products.csv --merge product_ \\
      --on-missing drop -o orders-with-products.csv

  A field whose name has a comma or a dot in it stands in double quotes; items[0].sku is an element of an array:
    lookaside enrich people.csv --key '\"last, first\"' --lookup csv:staff.csv --lookup-key name

Exit codes:
  0  done
  1  done, but lookups failed or timed out, or records were skipped; --allow-errors and --max-errors
     make it 0
  2  the command line makes no sense
  3  a file, a backend or the output cannot be used, or the input is broken
  4  the operator failed: a lookup failed or timed out, and the policy is to fail
  130, 143  ended by SIGINT or SIGTERM, after what was read was joined and written";

#[derive(Debug, Args)]
pub(super) struct EnrichArguments {
    /// The file to read; - is standard input. What is packed with gzip or zstd is unpacked.
    #[arg(default_value = "-")]
    pub(super) input: PathBuf,

    #[command(flatten)]
    pub(super) reading: ReadingArguments,
    #[command(flatten)]
    pub(super) lookup: LookupArguments,
    #[command(flatten)]
    pub(super) shape: ShapeArguments,
    #[command(flatten)]
    pub(super) operator: OperatorArguments,
    #[command(flatten)]
    pub(super) writing: WritingArguments,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(super) struct ReadingArguments {
    /// How the input is written; where it is not given by the file's name, and for standard input or a
    /// name without an ending by how it begins.
    #[arg(long, value_enum)]
    pub(super) in_format: Option<Format>,

    #[command(flatten)]
    pub(super) dialect: InputDialect,

    /// The field with the event time.
    #[arg(long, value_name = "FIELD")]
    pub(super) event_time: Option<FieldPath>,

    /// How event times are written: auto (milliseconds or RFC 3339), seconds, or a pattern such as
    /// '%Y/%m/%d %H:%M', in UTC where it has no zone.
    #[arg(long, value_name = "FORMAT", default_value = "auto", requires = "event_time")]
    pub(super) event_time_format: EventTimeFormat,

    /// How much earlier than those before it an event time may be: watermarks stay this far behind.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration, requires = "event_time")]
    pub(super) watermark_delay: Duration,

    /// A watermark follows every so many records. Unordered, no record passes one.
    #[arg(long, value_name = "RECORDS", default_value = "100", requires = "event_time")]
    pub(super) watermark_every: std::num::NonZeroU64,

    /// What becomes of a record that cannot be read.
    #[arg(long, value_enum, default_value = "fail")]
    pub(super) on_bad_record: OnBadRecord,

    /// Read so many records and no more.
    #[arg(long, value_name = "RECORDS")]
    pub(super) limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnBadRecord {
    /// End the run after the records before it.
    Fail,
    /// Pass it over and count it.
    Skip,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Lookup")]
pub(super) struct LookupArguments {
    /// The field to look up: a name, or a path such as user.id or items[0].id; several, parted by
    /// commas, make one key. A record where one is null or absent is a miss.
    #[arg(long, value_name = "FIELD", required = true)]
    key: Vec<FieldPaths>,

    /// Where to look it up: csv:FILE, tsv:FILE, json:FILE (an array of objects, or one a line),
    /// sqlite:FILE, or a URL that begins with http, https, redis, mysql, postgres or hbase;
    /// `lookaside lookups` lists them with their settings.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) lookup: String,

    /// The columns that the key's values are compared with; the names in --key where not given.
    #[arg(long, value_name = "COLUMN", conflicts_with = "query")]
    lookup_key: Vec<Names>,

    /// The table to look in, for databases: NAME, or SCHEMA.NAME.
    #[arg(long, conflicts_with = "query")]
    pub(super) table: Option<String>,

    /// The query to run for each key, for databases: one ? for each value of the key, or $1, $2 and
    /// so on in PostgreSQL.
    #[arg(long, value_name = "SQL")]
    pub(super) query: Option<String>,

    #[command(flatten)]
    pub(super) dialect: TableDialect,

    /// What becomes of a table's row that cannot be read.
    #[arg(long, value_enum, default_value = "fail", value_name = "POLICY")]
    pub(super) table_on_bad_record: OnBadRecord,

    /// Have each lookup take so much longer, for trying things out: 5ms, or 5ms..20ms.
    #[arg(long, value_name = "DURATION")]
    pub(super) lookup_latency: Option<Latency>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What is joined")]
pub(super) struct ShapeArguments {
    /// The field to put what was found into: a name, or a path such as user.info.
    #[arg(long = "as", value_name = "FIELD", default_value = "lookup", conflicts_with = "merge")]
    pub(super) field: FieldPath,

    /// Put the row's fields beside the record's instead, each name behind this prefix.
    #[arg(long, value_name = "PREFIX")]
    pub(super) merge: Option<String>,

    /// Take only these fields of a row.
    #[arg(long, value_name = "NAME")]
    fields: Vec<Names>,

    /// Let what was found take the place of a field that the record has. Where nothing was found,
    /// the record's own stays.
    #[arg(long)]
    pub(super) overwrite: bool,

    /// The first row as an object (null on a miss), all rows as an array, or a record for each row.
    #[arg(long, value_enum, default_value = "first")]
    pub(super) rows: RowsShape,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Operator")]
pub(super) struct OperatorArguments {
    /// In which order records leave.
    #[arg(long, value_enum, default_value = "ordered")]
    order: OrderArgument,

    /// The field whose order is kept with --order key-ordered; the key where not given.
    #[arg(long, value_name = "FIELD")]
    order_key: Vec<FieldPaths>,

    /// Records in flight at most, those that wait for a retry included; watermarks count too.
    #[arg(long, value_name = "RECORDS", default_value = "100", value_parser = clap::value_parser!(u32).range(1..16_777_216))]
    capacity: u32,

    /// Bytes in flight at which no further record is taken, such as 64M.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    max_bytes: Option<u64>,

    /// How long a record may take, all attempts included; none for no bound.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    timeout: OptionalDuration,

    /// What becomes of a record that nothing was found for.
    #[arg(long, value_enum, default_value = "emit", value_name = "POLICY")]
    on_missing: PolicyArgument,

    /// What becomes of a record whose lookup failed.
    #[arg(long, value_enum, default_value = "fail", value_name = "POLICY")]
    on_failure: PolicyArgument,

    /// What becomes of a record whose lookup timed out.
    #[arg(long, value_enum, default_value = "fail", value_name = "POLICY")]
    on_timeout: PolicyArgument,

    /// Which ends of a lookup lead to another attempt; none, or failure where another setting of
    /// retries is given.
    #[arg(long, value_enum)]
    retry_on: Option<RetryOnArgument>,

    /// Attempts after the first [default: 3].
    #[arg(long, value_name = "COUNT")]
    retry_attempts: Option<u32>,

    /// The delay before the second attempt [default: 100ms].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry_delay: Option<Duration>,

    /// Each delay is the last one times this [default: 1].
    #[arg(long, value_name = "FACTOR", value_parser = multiplier)]
    retry_multiplier: Option<Multiplier>,

    /// No delay is longer.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry_max_delay: Option<Duration>,

    /// Draw each delay between 0 and itself, from this seed.
    #[arg(long, value_name = "NUMBER")]
    retry_jitter_seed: Option<u64>,

    /// Use what was found again, within so many bytes such as 64M; equal keys in flight then share
    /// one lookup.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    cache_max_bytes: Option<u64>,

    /// Look up again what was found so long ago.
    #[arg(long, value_name = "DURATION", requires = "cache_max_bytes")]
    cache_expire_after_write: Option<OptionalDuration>,

    /// Look up again what was not used for so long.
    #[arg(long, value_name = "DURATION", requires = "cache_max_bytes")]
    cache_expire_after_access: Option<OptionalDuration>,

    /// Look up again what was missing so long ago; none looks up misses every time.
    #[arg(long, value_name = "DURATION", default_value = "10s", requires = "cache_max_bytes")]
    cache_missing_expire_after_write: OptionalDuration,

    /// Run another implementation of the operator: a component that exports it.
    #[arg(long, value_name = "FILE")]
    pub(super) component: Option<PathBuf>,

    /// Tell on stderr what the oldest records wait for, when nothing has moved for so long.
    #[arg(long, value_name = "DURATION", value_parser = parse_stall)]
    pub(super) explain_stalls: Option<Duration>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct WritingArguments {
    /// The file to write; standard output where not given. What ends in .gz or .zst is packed. Where the
    /// input is a file, the output takes its name once it is whole; where it is a pipe, it grows in place.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(super) output: PathBuf,

    /// How the output is written; by the file's name where it is not given, else ndjson.
    #[arg(long, value_enum)]
    pub(super) out_format: Option<Format>,

    /// End with 0 though lookups failed or timed out, or records were skipped.
    #[arg(long)]
    pub(super) allow_errors: bool,

    /// End with 0 while no more than so many do, and end the run early once more have: 10, or 1% of the
    /// records read, which is counted at the end.
    #[arg(long, value_name = "COUNT|PERCENT", conflicts_with = "allow_errors")]
    pub(super) max_errors: Option<MaxErrors>,

    /// Tell the final counters on stderr.
    #[arg(long, value_enum)]
    pub(super) stats: Option<StatsFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum StatsFormat {
    /// One object on one line.
    Json,
    /// A line for people.
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OrderArgument {
    /// In the order of arrival.
    Ordered,
    /// As their lookups end, but never across a watermark.
    Unordered,
    /// In the order of arrival within a key, one lookup a key at a time.
    KeyOrdered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PolicyArgument {
    /// Let it go on without rows; what failed says so in a field of its own.
    Emit,
    /// Leave it out, and count it.
    Drop,
    /// End the run.
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RetryOnArgument {
    None,
    Failure,
    Missing,
    Both,
}

impl LookupArguments {
    /// The fields that make the key.
    pub(super) fn key(&self) -> Vec<FieldPath> {
        self.key.iter().flat_map(|paths| paths.0.iter().cloned()).collect()
    }

    /// The columns that the key is compared with, as far as they were named.
    pub(super) fn lookup_key(&self) -> Vec<String> {
        self.lookup_key.iter().flat_map(|names| names.0.iter().cloned()).collect()
    }
}

impl ShapeArguments {
    /// The fields that are taken of a row; none where all are.
    pub(super) fn fields(&self) -> Option<Vec<String>> {
        let fields: Vec<String> = self.fields.iter().flat_map(|names| names.0.iter().cloned()).collect();
        (!fields.is_empty()).then_some(fields)
    }
}

impl OperatorArguments {
    /// The fields that make the order key; none where the key does.
    pub(super) fn order_key(&self) -> Vec<FieldPath> {
        self.order_key.iter().flat_map(|paths| paths.0.iter().cloned()).collect()
    }

    /// Whether records go on whose lookup failed or timed out.
    pub(super) fn emits_errors(&self) -> bool {
        [self.on_failure, self.on_timeout].contains(&PolicyArgument::Emit)
    }

    /// Elements in flight at most.
    pub(super) fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Settings that would do nothing, and what they need.
    pub(super) fn check(&self) -> Result<(), (String, &'static str)> {
        if !self.order_key.is_empty() && self.order != OrderArgument::KeyOrdered {
            return Err(("--order-key keeps no order by itself".into(), "add --order key-ordered, or leave it out"));
        }
        let given = self.retry_setting();
        if let (Some(RetryOnArgument::None), Some(setting)) = (self.retry_on, given) {
            return Err((
                format!("{setting} is for retries, and --retry-on none makes none"),
                "say --retry-on failure, missing or both, or leave one of them out",
            ));
        }
        Ok(())
    }

    /// A setting of retries that was given.
    fn retry_setting(&self) -> Option<&'static str> {
        [
            (self.retry_attempts.is_some(), "--retry-attempts"),
            (self.retry_delay.is_some(), "--retry-delay"),
            (self.retry_multiplier.is_some(), "--retry-multiplier"),
            (self.retry_max_delay.is_some(), "--retry-max-delay"),
            (self.retry_jitter_seed.is_some(), "--retry-jitter-seed"),
        ]
        .into_iter()
        .find_map(|(is_given, name)| is_given.then_some(name))
    }

    /// The operator's options.
    pub(super) fn options(&self) -> Options {
        let policy = |policy| match policy {
            PolicyArgument::Emit => Policy::Emit,
            PolicyArgument::Drop => Policy::Drop,
            PolicyArgument::Fail => Policy::Fail,
        };
        let defaults = Options::default();
        Options {
            order: match self.order {
                OrderArgument::Ordered => Order::Ordered,
                OrderArgument::Unordered => Order::Unordered,
                OrderArgument::KeyOrdered => Order::KeyOrdered,
            },
            capacity: self.capacity.try_into().unwrap_or(defaults.capacity),
            max_bytes: self.max_bytes,
            timeout: self.timeout.0,
            on_missing: policy(self.on_missing),
            on_failure: policy(self.on_failure),
            on_timeout: policy(self.on_timeout),
            retry: Retry {
                on: match self.retry_on {
                    None if self.retry_setting().is_some() => RetryOn::Failure,
                    None | Some(RetryOnArgument::None) => RetryOn::None,
                    Some(RetryOnArgument::Failure) => RetryOn::Failure,
                    Some(RetryOnArgument::Missing) => RetryOn::Missing,
                    Some(RetryOnArgument::Both) => RetryOn::Both,
                },
                attempts: self.retry_attempts.unwrap_or(3),
                delay: self.retry_delay.unwrap_or(Duration::from_millis(100)),
                multiplier: self.retry_multiplier.unwrap_or(defaults.retry.multiplier),
                max_delay: self.retry_max_delay,
                jitter_seed: self.retry_jitter_seed,
            },
            cache: self.cache_max_bytes.map(|max_bytes| CacheOptions {
                max_bytes,
                expire_after_write: self.cache_expire_after_write.and_then(|expiry| expiry.0),
                expire_after_access: self.cache_expire_after_access.and_then(|expiry| expiry.0),
                missing_expire_after_write: self.cache_missing_expire_after_write.0,
            }),
            request_payload: false,
        }
    }
}

/// A duration after which a stall is worth telling.
fn parse_stall(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if duration < Duration::from_millis(100) {
        return Err("less than 100ms would tell of every pause; write 10s".into());
    }
    Ok(duration)
}

fn multiplier(text: &str) -> Result<Multiplier, String> {
    text.parse().map_err(|()| "it is no number of 1 or more with at most three decimals".into())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn the_arguments_fit_together() {
        Arguments::command().debug_assert();
    }
}
