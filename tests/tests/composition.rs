//! The operator composed with other components: the contract's reason to pull answers.

use std::{path::Path, sync::Arc};

use lookaside::{Driver, Element, OperatorComponent, Options, Outcome, Record, component::Limits, lookup};
use lookaside_tests::{
    composition::{build, with_provider, with_recorder},
    host::HostKind,
    run, scenario,
};
use wasmtime::{
    Config, Engine, Store,
    component::{Component, Instance, Linker, Val},
};

#[test]
fn a_provider_may_be_a_component() {
    let composed = with_provider(OperatorComponent::bundled_bytes(), &build("fixed-table")).expect("they fit");
    let component = OperatorComponent::from_bytes("composed", &composed, Limits::default()).expect("it runs here");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let joined: Vec<(String, Outcome, String)> = runtime.block_on(async {
        // Never asked: the lookups are answered inside.
        let unused = Arc::new(lookup::from_fn(async |_| panic!("the host is not asked")));
        let driver = Driver::with_component(&component, &Options::default(), unused).unwrap();
        let records = ["LAX", "XXX", "SFO"].map(|key| Record::new(key, key));
        let mut enriched = driver.enrich(futures::stream::iter(records));
        let mut joined = Vec::new();
        while let Some(batch) = enriched.next_batch().await.unwrap() {
            for element in batch.iter() {
                let Element::Joined(element) = element else { continue };
                let row =
                    element.rows.as_slice().first().map_or(String::new(), |row| String::from_utf8_lossy(row).into());
                joined.push((String::from_utf8_lossy(&element.record.payload).into(), element.outcome, row));
            }
        }
        joined
    });
    let expected = [
        ("LAX", Outcome::Found, "Los Angeles"),
        ("XXX", Outcome::Missing, ""),
        ("SFO", Outcome::Found, "San Francisco"),
    ];
    assert_eq!(joined, expected.map(|(key, outcome, row)| (key.to_owned(), outcome, row.to_owned())));
}

#[test]
fn scenarios_pass_through_a_component_in_between() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut passed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        for scenario in scenario::read(&path).unwrap() {
            run::run(&scenario, HostKind::Recorded).unwrap_or_else(|mismatch| panic!("{}: {mismatch:?}", scenario.id));
            passed += 1;
        }
    }
    assert!(passed > 100, "{passed}");
}

#[test]
fn the_recorder_has_seen_every_call() {
    let recorder = build("recorder");
    let composed = with_recorder(OperatorComponent::bundled_bytes(), &recorder).expect("they fit");
    let mut raw = Raw::open(&composed);
    for key in ["LAX", "XXX", "SFO"] {
        raw.push(key);
    }
    raw.poll();
    assert_eq!(raw.counts(), (3, 2), "three lookups went through it, and the two answers that were given");
}

/// A composition whose two first lookups are answered by the host as misses.
struct Raw {
    store: Store<Vec<u64>>,
    instance: Instance,
}

impl Raw {
    fn open(component: &[u8]) -> Self {
        let engine = Engine::new(Config::new().concurrency_support(false)).unwrap();
        let component = Component::new(&engine, component).unwrap();
        let mut linker = Linker::<Vec<u64>>::new(&engine);
        let mut lookup = linker.instance("lookaside:async-lookup/lookup@0.1.0").unwrap();
        lookup
            .func_new("async-lookup", |mut store, _, arguments, _| {
                let Val::Record(batch) = &arguments[1] else { panic!("a batch") };
                let Val::List(ids) = &batch[0].1 else { panic!("ids") };
                store.data_mut().extend(ids.iter().map(|id| if let Val::U64(id) = id { *id } else { panic!("an id") }));
                Ok(())
            })
            .unwrap();
        lookup
            .func_new("take-completions", |mut store, _, _, results| {
                let ids: Vec<u64> = std::mem::take(store.data_mut()).into_iter().take(2).collect();
                let list = |value: fn(&u64) -> Val| Val::List(ids.iter().map(value).collect());
                let rows = record(vec![("ends", Val::List(Vec::new())), ("bytes", Val::List(Vec::new()))]);
                results[0] = record(vec![
                    ("ids", list(|id| Val::U64(*id))),
                    ("attempts", list(|_| Val::U32(1))),
                    ("statuses", list(|_| Val::U8(0))),
                    ("arrivals", list(|_| Val::U64(0))),
                    ("row-counts", list(|_| Val::U32(0))),
                    ("rows", rows),
                    ("retry-after", list(|_| Val::U64(0))),
                ]);
                Ok(())
            })
            .unwrap();
        let mut store = Store::new(&engine, Vec::new());
        let instance = linker.instantiate(&mut store, &component).unwrap();
        let mut raw = Self { store, instance };
        raw.call("lookaside:async-lookup/operator@0.1.0", "open", &[Val::U64(0), Val::List(Vec::new())]);
        raw
    }

    fn call(&mut self, interface: &str, function: &str, arguments: &[Val]) -> Val {
        let interface = self.instance.get_export_index(&mut self.store, None, interface).unwrap();
        let function = self.instance.get_export_index(&mut self.store, Some(&interface), function).unwrap();
        let function = self.instance.get_func(&mut self.store, function).unwrap();
        let mut results = [Val::Bool(false)];
        function.call(&mut self.store, arguments, &mut results).unwrap();
        results[0].clone()
    }

    fn push(&mut self, key: &str) {
        let key = Val::List(key.bytes().map(Val::U8).collect());
        let element = record(vec![
            ("event-time", Val::S64(1)),
            ("key", Val::Option(Some(Box::new(key)))),
            ("order-key", Val::Option(None)),
            ("payload", Val::List(Vec::new())),
        ]);
        self.call("lookaside:async-lookup/operator@0.1.0", "push-record", &[Val::U64(0), element]);
    }

    fn poll(&mut self) {
        self.call("lookaside:async-lookup/operator@0.1.0", "poll-output", &[Val::U64(1), Val::U32(10)]);
    }

    fn counts(&mut self) -> (u64, u64) {
        match self.call("lookaside:recorder/calls@0.1.0", "count", &[]) {
            Val::Tuple(counts) => match counts[..] {
                [Val::U64(asked), Val::U64(answered)] => (asked, answered),
                ref other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

fn record(fields: Vec<(&str, Val)>) -> Val {
    Val::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
