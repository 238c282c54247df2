//! The command line `lookaside`: enriches streams with asynchronous lookups.

use std::process::ExitCode;

fn main() -> ExitCode {
    lookaside::cli::main()
}
