//! Components that want more than they may, never end, swell, or are none.

use std::time::{Duration, Instant as WallClock};

use lookaside::{
    Instant, OperatorComponent, OperatorError, Options,
    component::{ComponentError, Limits},
};

fn limits() -> Limits {
    Limits { memory: 4 << 20, call: Duration::from_millis(100), ..Limits::default() }
}

/// A component that exports the operator's interfaces, its core module written by `body`, which
/// defines what each call does.
fn component(body: &str) -> Vec<u8> {
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit")).unwrap();
    let world = resolve.select_world(&[package], Some("async-lookup-operator")).unwrap();
    let module = wit_component::dummy_module(
        &resolve,
        world,
        wit_parser::ManglingAndAbi::Legacy(wit_parser::LiftLowerAbi::Sync),
    );
    // The dummy module has every export with a body of `unreachable`; here each does what `body` says.
    let text = wasmprinter::print_bytes(&module).unwrap().replace("unreachable", body);
    let mut module = wat::parse_str(&text).unwrap();
    wit_component::embed_component_metadata(&mut module, &resolve, world, wit_component::StringEncoding::UTF8).unwrap();
    wit_component::ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

fn open(component: &[u8]) -> OperatorError {
    let component = OperatorComponent::from_bytes("hostile", component, limits()).expect("it has the right shape");
    component.open(&Options::default(), Instant(0)).expect_err("it does not open")
}

#[test]
fn one_that_traps_is_an_error() {
    let error = open(&component("unreachable"));
    assert!(matches!(error, OperatorError::Trapped(_)) && error.is_fatal(), "{error}");
    assert!(error.to_string().starts_with("the component was stopped: wasm trap: wasm `unreachable`"), "{error}");
}

#[test]
fn one_that_never_ends_is_stopped() {
    let start = WallClock::now();
    let error = open(&component("(loop $for_ever (br $for_ever)) unreachable"));
    assert!(matches!(error, OperatorError::Trapped(_)), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn one_that_swells_gets_no_more_memory() {
    // It grows until it cannot, and traps then; with no bound it would take 4 GiB first.
    let error =
        open(&component("(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable"));
    assert!(error.to_string().contains("unreachable"), "{error}");
}

#[test]
fn one_that_wants_more_than_its_lookups_is_refused_before_it_runs() {
    let wants = r#"(component (import "wasi:cli/environment@0.2.0" (instance (export "get-arguments" (func (result (list string)))))))"#;
    let error = OperatorComponent::from_bytes("greedy.wasm", &wat::parse_str(wants).unwrap(), limits())
        .expect_err("it is refused");
    assert!(matches!(error, ComponentError::ForeignImport { .. }), "{error}");
    assert!(
        error.to_string().starts_with("greedy.wasm imports wasi:cli/environment@0.2.0; an operator imports"),
        "{error}"
    );
    let disguised = r#"(component (import "lookaside:async-lookup/types@0.1.0" (instance (export "read-file" (func (result string))))))"#;
    let error = OperatorComponent::from_bytes("sly.wasm", &wat::parse_str(disguised).unwrap(), limits())
        .expect_err("it is refused");
    assert!(matches!(error, ComponentError::ForeignImport { .. }), "{error}");
}

#[test]
fn one_without_the_operator_is_refused() {
    let error = OperatorComponent::from_bytes("empty.wasm", &wat::parse_str("(component)").unwrap(), limits())
        .expect_err("it is refused");
    assert!(matches!(error, ComponentError::NotAnOperator { .. }), "{error}");
}

#[test]
fn what_is_no_component_is_refused() {
    for bytes in [&b""[..], b"\0asm", b"no wasm at all", b"\0asm\x01\0\0\0"] {
        let error = OperatorComponent::from_bytes("odd.wasm", bytes, limits()).expect_err("it is refused");
        assert!(matches!(error, ComponentError::Invalid { .. }), "{error}");
    }
}

#[test]
fn a_cached_component_is_used_again_and_a_broken_one_is_not() {
    // In a process of its own, since the folder is named by the environment.
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    std::fs::write(folder.path().join("t.csv"), "id\n1\n").unwrap();
    let run = || {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_lookaside"))
            .args(["enrich", "--in-format", "csv", "--key", "id", "--lookup", "csv:t.csv", "-v", "t.csv"])
            .current_dir(folder.path())
            .env("LOOKASIDE_CACHE_DIR", &cache)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run().contains("compiling the bundled component"));
    assert!(!run().contains("compiling"), "the second start finds it");
    let kept = std::fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&kept, b"not machine code").unwrap();
    assert!(run().contains("compiling"), "what is broken is made anew");
    assert!(!run().contains("compiling"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(run().contains("compiling"), "a folder that others can write to is not trusted");
    }
}
