//! The command line `lookaside`.

mod arguments;
mod color;
mod dialect;
mod duration;
mod enrich;
mod exit;
mod failures;
mod files;
mod lines;
mod lookup_address;
mod lookups;
mod max_errors;
mod progress;
mod reading;
mod stalls;
mod stopping;
mod summary;
mod writing;

use std::{io::IsTerminal, process::ExitCode};

use clap::{CommandFactory, FromArgMatches};

use arguments::{Arguments, Command};
use color::Color;
use exit::CliError;
pub use exit::ExitStatus;

/// Runs the command line and says how it ended; see [`ExitStatus`] for the codes.
#[must_use]
pub fn main() -> ExitCode {
    let color = Color::of(std::env::args_os());
    let mut parser = Arguments::command().color(color.of_parser());
    let arguments = match Arguments::from_arg_matches(&parser.get_matches_mut()) {
        Ok(arguments) => arguments,
        Err(error) => error.format(&mut parser).exit(),
    };
    start_log(arguments.verbose, arguments.quiet, color);
    let ended = match arguments.command {
        Command::Enrich(enrich) => enrich::run(&enrich, arguments.quiet),
        Command::Lookups(arguments) => lookups::run(&arguments),
    };
    match ended {
        Ok(status) => status.into(),
        Err(error) => report(error, color),
    }
}

/// Tells an error, with what to do about it.
fn report(error: CliError, color: Color) -> ExitCode {
    let status = error.status();
    let is_terminal = std::io::stderr().is_terminal();
    let handler = miette::MietteHandlerOpts::new()
        .terminal_links(false)
        .unicode(is_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"))
        .color(color.on_stderr())
        .wrap_lines(is_terminal)
        .break_words(false);
    // Where one was set before, it stays.
    let _ = miette::set_hook(Box::new(move |_| Box::new(handler.clone().build())));
    eprintln!("{:?}", miette::Report::new(error));
    status.into()
}

fn start_log(verbose: u8, quiet: bool, color: Color) {
    let level = match verbose {
        0 if quiet => tracing::Level::ERROR,
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(color.on_stderr())
        .with_max_level(level)
        .with_target(false)
        .without_time()
        .init();
}
