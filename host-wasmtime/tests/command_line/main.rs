//! Drives the command line itself: every flag and every exit code.

mod bad_input;
mod exit_codes;
mod flights;
mod formats;
mod keys;
mod lookups;
mod operator;
mod run;
mod safety;
mod services;
mod shapes;
mod silent;
mod streaming;
mod untouched;
