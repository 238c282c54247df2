//! The one operator of this instance, and the guard in front of it.

use alloc::string::String;
use core::{
    cell::{RefCell, RefMut},
    mem::ManuallyDrop,
};

use lookaside_core::Operator;

use crate::{
    bindings::exports::lookaside::async_lookup::operator::{ErrorCode, OperatorError},
    errors::error,
    provider,
};

/// What an instance holds between calls.
struct Instance {
    /// Never dropped: it lives as long as the memory that it is in.
    operator: Option<ManuallyDrop<Operator>>,
    /// Why the provider cannot be used any more.
    broken: Option<String>,
}

struct Guarded(RefCell<Instance>);

// SAFETY: a component instance runs on one thread at a time, so the cell is never reached from two.
unsafe impl Sync for Guarded {}

static INSTANCE: Guarded = Guarded(RefCell::new(Instance { operator: None, broken: None }));

/// Opens the instance with what `make` makes, and starts the lookups that it asks for.
pub(crate) fn open(now: u64, make: impl FnOnce() -> Result<Operator, OperatorError>) -> Result<(), OperatorError> {
    let mut instance = borrow()?;
    if instance.operator.is_some() {
        return Err(error(ErrorCode::AlreadyOpen, "this instance is open already"));
    }
    provider::start(instance.operator.insert(ManuallyDrop::new(make()?)), now);
    Ok(())
}

/// Runs `call` on the operator. The cell stays borrowed meanwhile, so that an import that calls
/// back finds the guard and not a half-changed operator.
pub(crate) fn with<T>(call: impl FnOnce(&mut Operator) -> Result<T, OperatorError>) -> Result<T, OperatorError> {
    let mut operator = operator()?;
    call(&mut operator)
}

/// Looks at the operator, spent or not.
pub(crate) fn look<T>(look: impl FnOnce(&Operator) -> T) -> Result<T, OperatorError> {
    let instance = borrow()?;
    instance.operator.as_deref().map(look).ok_or_else(not_open)
}

/// Notes that the provider cannot be used any more, once the call has returned.
pub(crate) fn end(call: OperatorError) -> OperatorError {
    if let (ErrorCode::ProviderBroken, Ok(mut instance)) = (call.code, borrow()) {
        instance.broken = Some(call.message.clone());
    }
    call
}

/// The instance, unless a call into it is under way.
fn borrow() -> Result<RefMut<'static, Instance>, OperatorError> {
    INSTANCE.0.try_borrow_mut().map_err(|_| reentrant())
}

/// The operator, if there is one that can be used.
fn operator() -> Result<RefMut<'static, Operator>, OperatorError> {
    let instance = borrow()?;
    if let Some(why) = &instance.broken {
        return Err(error(ErrorCode::Spent, why.as_str()));
    }
    RefMut::filter_map(instance, |instance| instance.operator.as_deref_mut()).map_err(|_| not_open())
}

fn reentrant() -> OperatorError {
    error(ErrorCode::Reentrant, "an import of this instance called one of its exports")
}

fn not_open() -> OperatorError {
    error(ErrorCode::NotOpen, "open or restore this instance first")
}
