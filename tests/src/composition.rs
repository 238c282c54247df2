//! Components put together: the operator with a provider, and with a recorder in between.

use std::{path::Path, process::Command};

use wac_graph::{CompositionGraph, EncodeOptions, NodeId, types::Package};

const LOOKUP: &str = "lookaside:async-lookup/lookup@0.1.0";
const CALLS: &str = "lookaside:recorder/calls@0.1.0";
const OPERATOR: [&str; 3] = [
    "lookaside:async-lookup/operator@0.1.0",
    "lookaside:async-lookup/operator-batch@0.1.0",
    "lookaside:async-lookup/operator-inspect@0.1.0",
];

/// Builds one of the components in `tests/components/`, and gives its bytes.
///
/// # Panics
///
/// Where it does not build.
#[must_use]
pub fn build(package: &str) -> Vec<u8> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = project.join("target").join("guest");
    let status = Command::new(env!("CARGO"))
        .current_dir(&project)
        .args(["build", "--quiet", "--profile", "guest", "--target", "wasm32-wasip2", "--package", package])
        .arg("--target-dir")
        .arg(&target)
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{package} does not build; run `rustup target add wasm32-wasip2`"
    );
    let file = target.join("wasm32-wasip2").join("guest").join(format!("{}.wasm", package.replace('-', "_")));
    std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The operator with its lookups answered by `provider`, a component.
///
/// # Errors
///
/// Why they do not go together.
pub fn with_provider(operator: &[u8], provider: &[u8]) -> Result<Vec<u8>, String> {
    let mut graph = CompositionGraph::new();
    let provider = instance(&mut graph, "provider", provider)?;
    let lookup = export_of(&mut graph, provider, LOOKUP)?;
    operator_with(&mut graph, operator, lookup)?;
    encode(&graph)
}

/// The operator with the recorder between it and whoever answers its lookups; what was recorded is
/// exported too.
///
/// # Errors
///
/// Why they do not go together.
pub fn with_recorder(operator: &[u8], recorder: &[u8]) -> Result<Vec<u8>, String> {
    let mut graph = CompositionGraph::new();
    let recorder = instance(&mut graph, "recorder", recorder)?;
    let lookup = export_of(&mut graph, recorder, LOOKUP)?;
    operator_with(&mut graph, operator, lookup)?;
    let calls = export_of(&mut graph, recorder, CALLS)?;
    graph.export(calls, CALLS).map_err(|error| error.to_string())?;
    encode(&graph)
}

fn instance(graph: &mut CompositionGraph, name: &str, bytes: &[u8]) -> Result<NodeId, String> {
    let package =
        Package::from_bytes(name, None, bytes.to_vec(), graph.types_mut()).map_err(|error| error.to_string())?;
    let package = graph.register_package(package).map_err(|error| error.to_string())?;
    Ok(graph.instantiate(package))
}

fn export_of(graph: &mut CompositionGraph, instance: NodeId, name: &str) -> Result<NodeId, String> {
    graph.alias_instance_export(instance, name).map_err(|error| error.to_string())
}

fn operator_with(graph: &mut CompositionGraph, operator: &[u8], lookup: NodeId) -> Result<(), String> {
    let operator = instance(graph, "operator", operator)?;
    graph.set_instantiation_argument(operator, LOOKUP, lookup).map_err(|error| error.to_string())?;
    for name in OPERATOR {
        let export = export_of(graph, operator, name)?;
        graph.export(export, name).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn encode(graph: &CompositionGraph) -> Result<Vec<u8>, String> {
    graph.encode(EncodeOptions::default()).map_err(|error| error.to_string())
}
