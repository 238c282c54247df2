//! The operator composed with other components: the contract's reason to pull answers.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::StreamExt;
use lookaside::{
    Driver, Element, OperatorComponent, Options, Order, Outcome, Policy, Record, Retry, RetryOn, component::Limits,
    lookup,
};
use lookaside_tests::{
    composition::{build, with_provider, with_recorder},
    host::HostKind,
    run, scenario,
};
use wasmtime::{
    Config, Engine, Store,
    component::{Component, Instance as ComponentInstance, Linker, Val},
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

/// The outcomes of records with these keys, through the operator composed with a table; within how long the last one left.
fn through_a_table(options: Options, keys: &[&'static str]) -> (Vec<Outcome>, Duration) {
    let composed = with_provider(OperatorComponent::bundled_bytes(), &build("fixed-table")).expect("they fit");
    let component = OperatorComponent::from_bytes("composed", &composed, Limits::default()).expect("it runs here");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let unused = Arc::new(lookup::from_fn(async |_| panic!("the host is not asked")));
        let driver = Driver::with_component(&component, &options, unused).unwrap();
        let records: Vec<Record> = keys.iter().map(|&key| Record::new(key, key)).collect();
        // The input goes on, so that nothing but the answers moves what is in flight.
        let mut elements =
            driver.enrich(futures::stream::iter(records).chain(futures::stream::pending())).into_stream();
        let begin = Instant::now();
        let mut outcomes = Vec::new();
        while outcomes.len() < keys.len() {
            let next = tokio::time::timeout(Duration::from_secs(10), elements.next()).await.expect("it leaves");
            if let Some(Ok(Element::Joined(joined))) = next {
                outcomes.push(joined.outcome);
            }
        }
        (outcomes, begin.elapsed())
    })
}

#[test]
fn lookups_that_a_poll_starts_are_answered_by_a_component_too() {
    let timeout = Some(Duration::from_secs(5));
    let options = |order, timeout| Options { order, timeout, on_timeout: Policy::Emit, ..Options::default() };
    for timeout in [timeout, None] {
        // Of equal keys each one is looked up once the one before is done.
        let (outcomes, took) = through_a_table(options(Order::KeyOrdered, timeout), &["LAX"; 50]);
        assert_eq!(outcomes, [Outcome::Found; 50]);
        assert!(took < Duration::from_secs(2), "{took:?}");
        let retry = Retry { on: RetryOn::Missing, attempts: 3, delay: Duration::from_millis(10), ..Retry::default() };
        let retried = Options { retry, ..options(Order::Ordered, timeout) };
        let (outcomes, took) = through_a_table(retried, &["XXX", "LAX"]);
        assert_eq!(outcomes, [Outcome::Missing, Outcome::Found]);
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
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
    instance: ComponentInstance,
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
