//! What a record costs by size of batch, payload and capacity, drawn as plots.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use plotters::prelude::*;

use crate::{limits, peer};

/// Where the plots go, and how much is measured.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder that the plots are written to.
    #[arg(long, default_value = "docs")]
    out: PathBuf,
    /// Multiplies the numbers of records.
    #[arg(long, default_value = "1")]
    scale: f64,
}

/// One plot: a setting and its values.
struct Sweep {
    file: &'static str,
    title: &'static str,
    axis: &'static str,
    flag: &'static str,
    values: &'static [u32],
    /// The other settings.
    rest: &'static [&'static str],
    limit: Limit,
}

/// What is drawn beside it.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// An empty call for each batch.
    Call,
    /// The copies of the bytes that a payload, its key and its row need on their way through a component.
    Copies,
}

/// The copies of a byte on its way through a component; see `docs/performance.md`.
const COPIES: f64 = 4.0;
/// Key and row of a record.
const KEY_AND_ROW: u32 = 12 + 100;

const SWEEPS: [Sweep; 3] = [
    Sweep {
        file: "cost-by-batch.svg",
        title: "CPU a record, by records in a batch",
        axis: "records in a batch",
        flag: "--batch",
        values: &[1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000],
        rest: &["--capacity", "10000"],
        limit: Limit::Call,
    },
    Sweep {
        file: "cost-by-payload.svg",
        title: "CPU a record, by bytes that it carries",
        axis: "bytes of payload",
        flag: "--payload-bytes",
        values: &[16, 64, 256, 1_024, 4_096, 16_384, 65_536],
        rest: &["--capacity", "100"],
        limit: Limit::Copies,
    },
    Sweep {
        file: "cost-by-capacity.svg",
        title: "CPU a record, by capacity",
        axis: "capacity",
        flag: "--capacity",
        values: &[10, 100, 1_000, 10_000, 100_000, 1_000_000],
        rest: &[],
        limit: Limit::Call,
    },
];

/// The one that is measured, its name in the plot, and its colour.
const PEERS: [(&str, &str, RGBColor); 2] = [
    ("project", "component in wasmtime", RGBColor(47, 106, 163)),
    ("project-native", "core alone", RGBColor(47, 125, 79)),
];

/// One that was measured, for the plot.
struct Line {
    name: &'static str,
    colour: RGBColor,
    points: Vec<(u32, f64)>,
}

/// Runs of which the median counts.
const RUNS: usize = 3;

/// Reads the flags of one measurement.
#[derive(Parser)]
struct One {
    #[command(flatten)]
    arguments: peer::Arguments,
}

/// Measures, prints each figure, and writes the plots.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let out = &arguments.out;
    std::fs::create_dir_all(out).with_context(|| format!("--out {}: the folder cannot be made", out.display()))?;
    println!("| setting | value | what | CPU us a record |");
    println!("|---|---|---|---|");
    for sweep in &SWEEPS {
        let mut lines = Vec::new();
        for (peer, name, colour) in PEERS {
            let points = (sweep.values.iter()).map(|&value| Ok((value, sweep.cost(peer, value, arguments.scale)?)));
            lines.push(Line { name, colour, points: points.collect::<anyhow::Result<_>>()? });
        }
        lines.push(sweep.limit()?);
        for Line { name, points, .. } in &lines {
            for (value, cost) in points {
                println!("| {} | {value} | {name} | {cost:.4} |", sweep.axis);
            }
        }
        sweep.draw(&out.join(sweep.file), &lines)?;
    }
    Ok(())
}

impl Sweep {
    fn cost(&self, peer: &str, value: u32, scale: f64) -> anyhow::Result<f64> {
        // As long a run for large records as for small ones.
        let bytes = if self.flag == "--payload-bytes" { value } else { 100 };
        let records = (4e8 / f64::from(bytes + 300) * scale).max(2_000.0).to_string();
        let records = records.split('.').next().unwrap_or("2000");
        let value = value.to_string();
        let mut flags =
            vec!["bench", "--peer", peer, "--watermark-every", "0", "--records", records, self.flag, &value];
        flags.extend(self.rest);
        let one = One::try_parse_from(flags)?.arguments;
        let mut costs = (0..RUNS).map(|_| peer::cpu_us(&one)).collect::<anyhow::Result<Vec<f64>>>()?;
        costs.sort_by(f64::total_cmp);
        Ok(costs[RUNS / 2])
    }

    /// What nothing goes below.
    fn limit(&self) -> anyhow::Result<Line> {
        let call = limits::call_us()?;
        let limit = |value: u32| match self.limit {
            Limit::Call => call / f64::from(value),
            Limit::Copies => COPIES * limits::copy_us((value + KEY_AND_ROW) as usize),
        };
        let name = match self.limit {
            Limit::Call => "an empty call",
            Limit::Copies => "four copies",
        };
        let points = self.values.iter().map(|&value| (value, limit(value))).collect();
        Ok(Line { name, colour: RGBColor(150, 150, 150), points })
    }

    fn draw(&self, file: &Path, lines: &[Line]) -> anyhow::Result<()> {
        let points = || lines.iter().flat_map(|line| &line.points);
        let most = points().map(|&(_, cost)| cost).fold(f64::MIN, f64::max);
        let least = points().map(|&(_, cost)| cost).fold(f64::MAX, f64::min);
        let (Some(first), Some(last)) = (self.values.first(), self.values.last()) else { return Ok(()) };
        let root = SVGBackend::new(file, (760, 420)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 20))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d((*first..*last).log_scale(), (least / 1.5..most * 1.5).log_scale())?;
        let rounded = |cost: &f64| format!("{cost:.4}").trim_end_matches('0').trim_end_matches('.').to_owned();
        chart
            .configure_mesh()
            .x_desc(self.axis)
            .y_desc("microseconds")
            .y_labels(5)
            .y_label_formatter(&rounded)
            .light_line_style(BLACK.mix(0.06))
            .draw()?;
        for Line { name, colour, points } in lines {
            let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(4);
            let colour = *colour;
            let key = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2));
            chart.draw_series(line)?.label(*name).legend(key);
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperMiddle)
            .background_style(WHITE)
            .border_style(BLACK.mix(0.3))
            .draw()?;
        root.present()?;
        Ok(())
    }
}
