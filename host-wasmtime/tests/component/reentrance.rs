//! An import that calls an export of the same instance: an error, never a corrupted operator.

use std::sync::{Arc, Mutex};

use lookaside::OperatorComponent;
use wasmtime::{
    Config, Engine, Store,
    component::{Component, Instance, Linker, Val},
};

use crate::hostile_host::{byte_strings, record};

const OPERATOR: &str = "lookaside:async-lookup/operator@0.1.0";

fn call(
    store: &mut impl wasmtime::AsContextMut,
    instance: Instance,
    function: &str,
    arguments: &[Val],
) -> wasmtime::Result<Val> {
    let interface = instance.get_export_index(&mut *store, None, OPERATOR).unwrap();
    let function = instance.get_export_index(&mut *store, Some(&interface), function).unwrap();
    let function = instance.get_func(&mut *store, function).unwrap();
    let mut results = [Val::Bool(false)];
    function.call(&mut *store, arguments, &mut results)?;
    Ok(results[0].clone())
}

/// Pushes a record whose lookup calls back; gives what the call back came to.
fn call_back(concurrency: bool) -> (Result<Val, String>, Result<Val, String>) {
    let engine = Engine::new(Config::new().concurrency_support(concurrency)).unwrap();
    let component = Component::new(&engine, OperatorComponent::bundled_bytes()).unwrap();
    let mut linker = Linker::<Option<Instance>>::new(&engine);
    let came: Arc<Mutex<Option<Result<Val, String>>>> = Arc::default();
    let noted = Arc::clone(&came);
    let mut lookup = linker.instance("lookaside:async-lookup/lookup@0.1.0").unwrap();
    lookup
        .func_new("async-lookup", move |mut store, _, _, _| {
            let instance = store.data().expect("the instance is there");
            let back = call(&mut store, instance, "poll-output", &[Val::U64(0), Val::U32(1)]);
            *noted.lock().unwrap() = Some(back.map_err(|error| error.root_cause().to_string()));
            Ok(())
        })
        .unwrap();
    lookup
        .func_new("take-completions", |_, _, _, results| {
            let list = || Val::List(Vec::new());
            results[0] = record(vec![
                ("ids", list()),
                ("attempts", list()),
                ("statuses", list()),
                ("arrivals", list()),
                ("row-counts", list()),
                ("rows", byte_strings(&[], b"")),
                ("retry-after", list()),
            ]);
            Ok(())
        })
        .unwrap();
    let mut store = Store::new(&engine, None);
    let instance = linker.instantiate(&mut store, &component).unwrap();
    *store.data_mut() = Some(instance);
    call(&mut store, instance, "open", &[Val::U64(0), Val::List(Vec::new())]).unwrap();
    let element = record(vec![
        ("event-time", Val::S64(1)),
        ("key", Val::Option(Some(Box::new(Val::List(vec![Val::U8(1)]))))),
        ("order-key", Val::Option(None)),
        ("payload", Val::List(Vec::new())),
    ]);
    let pushed = call(&mut store, instance, "push-record", &[Val::U64(0), element]);
    let after = call(&mut store, instance, "poll-output", &[Val::U64(0), Val::U32(1)]);
    assert_eq!(pushed.is_ok(), after.is_ok(), "the instance goes on, or it is lost as a whole");
    let back = came.lock().unwrap().take().expect("the import was called");
    (back, after.map_err(|error| error.to_string()))
}

#[test]
fn without_concurrency_support_the_component_itself_refuses() {
    let (back, after) = call_back(false);
    let back = format!("{:?}", back.expect("no trap"));
    assert!(back.contains("reentrant"), "{back}");
    let after = format!("{:?}", after.expect("no trap"));
    assert!(after.contains("Ok(") && after.contains("waiting"), "the operator goes on as if nothing had been: {after}");
}

#[test]
fn with_concurrency_support_wasmtime_or_the_component_refuses() {
    let (back, _) = call_back(true);
    match back {
        Ok(value) => assert!(format!("{value:?}").contains("reentrant"), "{value:?}"),
        Err(trap) => assert!(trap.contains("cannot enter component instance"), "{trap}"),
    }
}
