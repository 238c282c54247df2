//! The component and its sandbox: what it imports, what it refuses, what stops a hostile one.

mod contract;
mod failures;
mod fuel;
mod hostile_component;
mod hostile_host;
mod reentrance;
