//! What can be said on the command line.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::duration::OptionalDuration;
use crate::{
    CacheOptions, Multiplier, Options, Order, Policy, Retry, RetryOn,
    join::{EventTimeFormat, FieldPath, RowsShape},
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

Exit codes:
  0  done
  1  done, but records were dropped, skipped, or emitted as failed
  2  the command line makes no sense
  3  a file, a backend or the output cannot be used, or the input is broken
  4  the operator failed: a lookup failed or timed out, and the policy is to fail";

#[derive(Debug, Args)]
pub(super) struct EnrichArguments {
    /// The file to read; - is standard input. What ends in .gz or .zst is unpacked.
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
    /// How the input is written; by the file's name where it is not given, ndjson for a pipe.
    #[arg(long, value_enum)]
    pub(super) in_format: Option<Format>,

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
    /// The field to look up: a name, or a path such as user.id; several make one key. A record
    /// where one is null or absent is a miss.
    #[arg(long, value_name = "FIELD", required = true, value_delimiter = ',')]
    pub(super) key: Vec<FieldPath>,

    /// Where to look it up: csv:FILE, tsv:FILE, json:FILE (an array of objects, or one a line),
    /// sqlite:FILE, or a URL that begins with http, https, redis, mysql, postgres or hbase;
    /// `lookaside lookups` lists them with their settings.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) lookup: String,

    /// The columns that the key's values are compared with; the names in --key where not given.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', conflicts_with = "query")]
    pub(super) lookup_key: Vec<String>,

    /// The table to look in, for databases: NAME, or SCHEMA.NAME.
    #[arg(long, conflicts_with = "query")]
    pub(super) table: Option<String>,

    /// The query to run for each key, for databases: one ? for each value of the key, or $1, $2 and
    /// so on in PostgreSQL.
    #[arg(long, value_name = "SQL")]
    pub(super) query: Option<String>,

    /// Have each lookup take so much longer, for trying things out: 5ms, or 5ms..20ms.
    #[arg(long, value_name = "DURATION")]
    pub(super) lookup_latency: Option<Latency>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What is joined")]
pub(super) struct ShapeArguments {
    /// The field to put what was found into.
    #[arg(long = "as", value_name = "FIELD", default_value = "lookup", conflicts_with = "merge")]
    pub(super) field: String,

    /// Put the row's fields beside the record's instead, each name behind this prefix.
    #[arg(long, value_name = "PREFIX")]
    pub(super) merge: Option<String>,

    /// The first row as an object (null on a miss), or all rows as an array.
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
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(super) order_key: Vec<FieldPath>,

    /// Lookups in flight at most; watermarks count too.
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

    /// Which ends of a lookup lead to another attempt.
    #[arg(long, value_enum, default_value = "none")]
    retry_on: RetryOnArgument,

    /// Attempts after the first.
    #[arg(long, value_name = "COUNT", default_value = "3")]
    retry_attempts: u32,

    /// The delay before the second attempt.
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = parse_duration)]
    retry_delay: Duration,

    /// Each delay is the last one times this.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = multiplier)]
    retry_multiplier: Multiplier,

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
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(super) explain_stalls: Option<Duration>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct WritingArguments {
    /// The file to write; standard output where not given.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(super) output: PathBuf,

    /// How the output is written; by the file's name where it is not given, else ndjson.
    #[arg(long, value_enum)]
    pub(super) out_format: Option<Format>,

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
enum RetryOnArgument {
    None,
    Failure,
    Missing,
    Both,
}

impl OperatorArguments {
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
                    RetryOnArgument::None => RetryOn::None,
                    RetryOnArgument::Failure => RetryOn::Failure,
                    RetryOnArgument::Missing => RetryOn::Missing,
                    RetryOnArgument::Both => RetryOn::Both,
                },
                attempts: self.retry_attempts,
                delay: self.retry_delay,
                multiplier: self.retry_multiplier,
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
