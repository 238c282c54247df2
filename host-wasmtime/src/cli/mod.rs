//! The command line `lookaside`.

mod arguments;
mod duration;
mod enrich;
mod exit;
mod lookup_address;
mod lookups;
mod progress;
mod reading;
mod stalls;
mod summary;
mod writing;

use std::{io::IsTerminal, process::ExitCode};

use clap::Parser;

use arguments::{Arguments, Command};
use exit::CliError;
pub use exit::ExitStatus;

/// Runs the command line and says how it ended; see [`ExitStatus`] for the codes.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    start_log(arguments.verbose, arguments.quiet);
    let ended = match arguments.command {
        Command::Enrich(enrich) => enrich::run(&enrich, arguments.quiet),
        Command::Lookups(arguments) => lookups::run(&arguments),
    };
    match ended {
        Ok(status) => status.into(),
        Err(error) => report(error),
    }
}

/// Tells an error, with what to do about it.
fn report(error: CliError) -> ExitCode {
    let status = error.status();
    let is_terminal = std::io::stderr().is_terminal();
    let handler = miette::MietteHandlerOpts::new()
        .terminal_links(false)
        .unicode(is_terminal)
        .color(is_terminal)
        .wrap_lines(is_terminal)
        .break_words(false);
    // Where one was set before, it stays.
    let _ = miette::set_hook(Box::new(move |_| Box::new(handler.clone().build())));
    eprintln!("{:?}", miette::Report::new(error));
    status.into()
}

fn start_log(verbose: u8, quiet: bool) {
    let level = match verbose {
        0 if quiet => tracing::Level::ERROR,
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_max_level(level)
        .with_target(false)
        .without_time()
        .init();
}
