//! Drives the command line itself: every flag and every exit code.

mod bad_input;
mod exit_codes;
mod flights;
mod formats;
mod keys;
mod lookups;
mod operator;
mod run;
mod shapes;
mod streaming;
mod untouched;
