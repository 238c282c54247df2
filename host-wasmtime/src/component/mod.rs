//! The component: compiled once, instantiated for each operator.

mod bindings;
mod compiled;
mod engine;
mod imports;

use std::{path::Path, sync::Arc};

use wasmtime::{
    Engine,
    component::{Component, HasSelf, Linker},
};

pub(crate) use bindings::{AsyncLookupOperator, AsyncLookupOperatorPre, exports, lookaside};
pub use engine::Limits;

use crate::{
    Instant, Operator, OperatorError, Options,
    operator::{HostState, Start},
};

/// The component that comes with this crate.
static BUNDLED: &[u8] = include_bytes!(env!("LOOKASIDE_COMPONENT"));

/// A component cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentError {
    /// The file cannot be read.
    #[error("cannot read the component {path}")]
    Unreadable {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The bytes are no component that wasmtime can run.
    #[error("{name} is not a WebAssembly component that can run here: {reason}")]
    Invalid {
        /// Which component.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It wants more than its lookups.
    #[error("{name} imports {import}; an operator imports lookaside:async-lookup/lookup and nothing else")]
    ForeignImport {
        /// Which component.
        name: String,
        /// The import that is refused.
        import: String,
    },
    /// It does not export the operator.
    #[error("{name} is not an operator of lookaside:async-lookup@0.1.0: {reason}")]
    NotAnOperator {
        /// Which component.
        name: String,
        /// What is missing.
        reason: String,
    },
}

/// A compiled component, from which any number of operators are opened. Cheap to clone.
#[derive(Clone)]
pub struct OperatorComponent {
    pre: AsyncLookupOperatorPre<HostState>,
    limits: Limits,
    _ticker: Arc<engine::Ticker>,
}

impl std::fmt::Debug for OperatorComponent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperatorComponent").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl OperatorComponent {
    /// The component that comes with this crate.
    ///
    /// Compiled at the first use and kept in the user's cache folder from then on, or in the one
    /// that `LOOKASIDE_CACHE_DIR` names; where none can be written it is compiled each time.
    ///
    /// # Errors
    ///
    /// [`ComponentError`] where this machine cannot run it.
    pub fn bundled() -> Result<Self, ComponentError> {
        Self::from_bytes("the bundled component", BUNDLED, Limits::default())
    }

    /// The component in a file: another implementation of the contract.
    ///
    /// # Errors
    ///
    /// [`ComponentError`] where it cannot be read, is no component, imports anything but its
    /// lookups, or does not export the operator.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ComponentError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| ComponentError::Unreadable { path: name.clone(), source })?;
        Self::from_bytes(&name, &bytes, Limits::default())
    }

    /// The component in `bytes`, called `name` in messages.
    ///
    /// # Errors
    ///
    /// As [`Self::from_file`].
    pub fn from_bytes(name: &str, bytes: &[u8], limits: Limits) -> Result<Self, ComponentError> {
        let engine = engine::new(&limits).map_err(|error| invalid(name, &error))?;
        let component = compiled::load(&engine, name, bytes)?;
        Self::new(name, &engine, &component, limits)
    }

    /// The bytes of the component that comes with this crate.
    #[must_use]
    pub fn bundled_bytes() -> &'static [u8] {
        BUNDLED
    }

    /// Opens an operator without elements.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where the options are refused or the component fails.
    pub fn open(&self, options: &Options, now: Instant) -> Result<Operator, OperatorError> {
        Operator::start(&self.pre, &self.limits, options, Start::Empty, now)
    }

    /// Opens an operator where `snapshot` left off.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where options or snapshot are refused or the component fails.
    pub fn restore(&self, options: &Options, snapshot: &[u8], now: Instant) -> Result<Operator, OperatorError> {
        Operator::start(&self.pre, &self.limits, options, Start::Snapshot(snapshot), now)
    }

    fn new(name: &str, engine: &Engine, component: &Component, limits: Limits) -> Result<Self, ComponentError> {
        imports::check(name, engine, component)?;
        let mut linker = Linker::new(engine);
        AsyncLookupOperator::add_to_linker::<_, HasSelf<HostState>>(&mut linker, |state| state)
            .map_err(|error| invalid(name, &error))?;
        let not_an_operator =
            |error: wasmtime::Error| ComponentError::NotAnOperator { name: name.into(), reason: format!("{error:#}") };
        let pre = linker.instantiate_pre(component).map_err(not_an_operator)?;
        let pre = AsyncLookupOperatorPre::new(pre).map_err(not_an_operator)?;
        Ok(Self { pre, limits, _ticker: Arc::new(engine::Ticker::start(engine)) })
    }
}

fn invalid(name: &str, error: &wasmtime::Error) -> ComponentError {
    ComponentError::Invalid { name: name.into(), reason: format!("{error:#}") }
}
