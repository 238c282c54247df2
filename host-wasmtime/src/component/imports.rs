//! Which imports a component may have: its lookups, and the types that they use.

use wasmtime::{Engine, component::Component, component::types::ComponentItem};

use super::ComponentError;

const LOOKUP: &str = "lookaside:async-lookup/lookup@0.1.0";
const TYPES: &str = "lookaside:async-lookup/types@0.1.0";

/// Refuses a component that wants more than its lookups.
pub(super) fn check(name: &str, engine: &Engine, component: &Component) -> Result<(), ComponentError> {
    for (import, item) in component.component_type().imports(engine) {
        let allowed = match import {
            LOOKUP => true,
            // Types alone give a component nothing to call.
            TYPES => is_types_only(engine, &item.ty),
            _ => false,
        };
        if !allowed {
            return Err(ComponentError::ForeignImport { name: name.into(), import: import.into() });
        }
    }
    Ok(())
}

fn is_types_only(engine: &Engine, item: &ComponentItem) -> bool {
    match item {
        ComponentItem::ComponentInstance(instance) => {
            instance.exports(engine).all(|(_, export)| matches!(export.ty, ComponentItem::Type(_)))
        }
        _ => false,
    }
}
