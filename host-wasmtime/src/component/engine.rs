//! The engine, and what bounds a component that runs in it.

use std::{
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::Duration,
};

use wasmtime::{Config, Engine};

/// How long one tick of a call's time takes.
const TICK: Duration = Duration::from_millis(10);

/// What an operator may use; a component that goes past it is stopped with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory.
    pub memory: usize,
    /// Bytes of stack.
    pub stack: usize,
    /// Bytes that one call may have the host allocate; for a snapshot as many as `memory`.
    pub hostcall: usize,
    /// How long one call may take, to 10 ms.
    pub call: Duration,
    /// How much fuel one call may use, about one an instruction of WebAssembly; none counts nothing, and is quicker.
    /// The same calls of the same component use the same fuel on any machine.
    pub call_fuel: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 1 << 30, stack: 1 << 20, hostcall: 256 << 20, call: Duration::from_secs(5), call_fuel: None }
    }
}

impl Limits {
    /// The ticks that one call may take.
    pub(crate) fn call_ticks(&self) -> u64 {
        (self.call.as_millis() / TICK.as_millis()).max(1) as u64
    }
}

/// An engine for components that need no trust.
pub(super) fn new(limits: &Limits) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(limits.stack)
        .consume_fuel(limits.call_fuel.is_some())
        .cranelift_nan_canonicalization(true);
    Engine::new(&config)
}

/// Counts the engine's time, so that a call that does not end is stopped.
pub(super) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(super) fn start(engine: &Engine) -> Self {
        let (stop, stopped) = channel();
        let engine = engine.clone();
        let thread = std::thread::Builder::new()
            .name("lookaside-ticker".into())
            .spawn(move || {
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    engine.increment_epoch();
                }
            })
            .ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say and waits 10 ms at most.
            let _ = thread.join();
        }
    }
}
