//! The one operator of this instance, and the guard in front of it.

use core::cell::RefCell;

use alloc::string::String;

use lookaside_core::Operator;

use crate::{
    bindings::exports::lookaside::async_lookup::operator::{ErrorCode, OperatorError},
    errors::error,
    provider,
};

/// What an instance holds between calls.
struct Instance {
    operator: Option<Operator>,
    /// Why the provider cannot be used any more.
    broken: Option<String>,
}

struct Guarded(RefCell<Instance>);

// SAFETY: a component instance runs on one thread at a time, so the cell is never reached from two.
unsafe impl Sync for Guarded {}

static INSTANCE: Guarded = Guarded(RefCell::new(Instance { operator: None, broken: None }));

/// Opens the instance with what `make` makes, and starts the lookups that it asks for.
pub(crate) fn open(now: u64, make: impl FnOnce() -> Result<Operator, OperatorError>) -> Result<(), OperatorError> {
    let mut instance = INSTANCE.0.try_borrow_mut().map_err(|_| reentrant())?;
    if instance.operator.is_some() {
        return Err(error(ErrorCode::AlreadyOpen, "this instance is open already"));
    }
    provider::start(instance.operator.insert(make()?), now);
    Ok(())
}

/// Runs `call` on the operator. The cell stays borrowed meanwhile, so that an import that calls
/// back finds the guard and not a half-changed operator.
pub(crate) fn with<T>(call: impl FnOnce(&mut Operator) -> Result<T, OperatorError>) -> Result<T, OperatorError> {
    let mut instance = INSTANCE.0.try_borrow_mut().map_err(|_| reentrant())?;
    let Instance { operator, broken } = &mut *instance;
    if let Some(why) = broken {
        return Err(error(ErrorCode::Spent, why.as_str()));
    }
    let result = call(operator.as_mut().ok_or_else(not_open)?);
    if let Err(OperatorError { code: ErrorCode::ProviderBroken, message, .. }) = &result {
        *broken = Some(message.clone());
    }
    result
}

fn reentrant() -> OperatorError {
    error(ErrorCode::Reentrant, "an import of this instance called one of its exports")
}

fn not_open() -> OperatorError {
    error(ErrorCode::NotOpen, "open or restore this instance first")
}
