//! The driver and its providers, as a program that embeds them sees them.

mod driver;
mod lifetimes;
mod providers;
mod snapshots;
