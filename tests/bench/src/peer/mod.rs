//! The program as one of several that are measured side by side: the same records, lookups and checks in each, and one
//! line of JSON a repetition.

mod component;
mod driven;
mod line;
mod native;
mod sink;
mod source;

use anyhow::bail;
use lookaside::{Options, Order};

use line::print_line;
use sink::Arrived;

/// Which operator is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Peer {
    /// The component in wasmtime.
    Project,
    /// The core as it is.
    ProjectNative,
}

/// What its lookups do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Workload {
    /// They end at once, on the calling thread: what the operator itself costs.
    W1,
    /// They end after 2 ms.
    W2,
    /// They end after 1 ms, and one in a hundred after 50 ms.
    W3,
    /// They ask Redis, over one connection.
    W4,
}

/// Whether records are copied, or refer to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Payload {
    /// Each key, payload and row is a fresh copy.
    Own,
    /// As `own`: columns hold copies in any case.
    Ref,
}

/// One measurement.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, value_enum, default_value = "project")]
    pub(crate) peer: Peer,
    #[arg(long, value_enum, default_value = "w1")]
    pub(crate) workload: Workload,
    /// `ordered` or `unordered`.
    #[arg(long, default_value = "ordered")]
    pub(crate) mode: String,
    /// Elements in flight, watermarks counted.
    #[arg(long, default_value_t = 100)]
    pub(crate) capacity: u32,
    /// Records of each repetition.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) records: u64,
    /// Records of the run before the first repetition.
    #[arg(long, default_value_t = 200_000)]
    pub(crate) warmup: u64,
    #[arg(long, default_value_t = 3)]
    pub(crate) reps: u32,
    /// A watermark follows every so many records; 0 for none.
    #[arg(long, default_value_t = 100)]
    pub(crate) watermark_every: u64,
    /// The operator's timeout in milliseconds; 0 for none.
    #[arg(long, default_value_t = 0)]
    pub(crate) timeout_ms: u64,
    #[arg(long, value_enum, default_value = "own")]
    pub(crate) payload: Payload,
    #[arg(long, default_value_t = 6399)]
    pub(crate) redis_port: u16,
    /// Bytes that each record carries, at least 8.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(8..))]
    pub(crate) payload_bytes: u32,
    /// In w1, pushes so many records, answers and polls, before it pushes again; as many as there is room for where
    /// nothing is said.
    #[arg(long, default_value_t = u32::MAX, hide_default_value = true)]
    pub(crate) batch: u32,
    /// Has Redis asked by a command for each key, and not by one for each batch.
    #[arg(long)]
    pub(crate) one_by_one: bool,
    /// Has w1, too, go through the driver and a provider.
    #[arg(long)]
    pub(crate) driven: bool,
}

impl Arguments {
    fn options(&self) -> anyhow::Result<Options> {
        let order = match self.mode.as_str() {
            "ordered" => Order::Ordered,
            "unordered" => Order::Unordered,
            "key-ordered" => Order::KeyOrdered,
            other => bail!("--mode {other}: write ordered, unordered or key-ordered"),
        };
        Ok(Options {
            order,
            capacity: self.capacity.try_into()?,
            timeout: (self.timeout_ms > 0).then(|| std::time::Duration::from_millis(self.timeout_ms)),
            ..Options::default()
        })
    }
}

/// Measures, and prints a line for each repetition that passed its checks.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    once(arguments, arguments.warmup)?;
    for repetition in 1..=arguments.reps {
        print_line(arguments, repetition, once(arguments, arguments.records)?)?;
    }
    Ok(())
}

/// CPU microseconds a record of one run.
pub(crate) fn cpu_us(arguments: &Arguments) -> anyhow::Result<f64> {
    Ok(once(arguments, arguments.records)?.cost.cpu_us())
}

fn once(arguments: &Arguments, records: u64) -> anyhow::Result<Arrived> {
    let options = arguments.options()?;
    match arguments.peer {
        Peer::ProjectNative if arguments.workload == Workload::W4 => bail!("the core alone asks no store: w1 to w3"),
        Peer::ProjectNative => native::run(arguments, &options, records),
        Peer::Project if arguments.workload == Workload::W1 && !arguments.driven => {
            component::immediate(arguments, &options, records)
        }
        Peer::Project => driven::delayed(arguments, &options, records),
    }
}
