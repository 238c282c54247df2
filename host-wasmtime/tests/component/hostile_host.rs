//! A host that breaks the contract gets errors, never traps: columns that disagree, unknown ids,
//! answers twice.

use std::sync::{Arc, Mutex};

use lookaside::OperatorComponent;
use wasmtime::{
    Engine, Store,
    component::{Component, Linker, Val},
};

const OPERATOR: &str = "lookaside:async-lookup/operator@0.1.0";
const BATCH: &str = "lookaside:async-lookup/operator-batch@0.1.0";
const LOOKUP: &str = "lookaside:async-lookup/lookup@0.1.0";

/// The component with an import that gives whatever it is told to give.
pub(crate) struct Raw {
    store: Store<()>,
    instance: wasmtime::component::Instance,
    /// What the next `take-completions` give.
    completions: Arc<Mutex<Vec<Val>>>,
    /// The ids that were asked for.
    ids: Arc<Mutex<Vec<u64>>>,
}

pub(crate) fn record(fields: Vec<(&str, Val)>) -> Val {
    Val::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Val) -> Val {
    Val::List(items.iter().map(value).collect())
}

pub(crate) fn byte_strings(ends: &[u32], bytes: &[u8]) -> Val {
    record(vec![("ends", list(ends, |end| Val::U32(*end))), ("bytes", list(bytes, |byte| Val::U8(*byte)))])
}

/// A batch of completions with these columns.
fn completions(ids: &[u64], statuses: &[u8], row_counts: &[u32], rows: Val) -> Val {
    record(vec![
        ("ids", list(ids, |id| Val::U64(*id))),
        ("attempts", list(ids, |_| Val::U32(1))),
        ("statuses", list(statuses, |status| Val::U8(*status))),
        ("arrivals", list(ids, |_| Val::U64(0))),
        ("row-counts", list(row_counts, |count| Val::U32(*count))),
        ("rows", rows),
        ("retry-after", list(ids, |_| Val::U64(0))),
    ])
}

impl Raw {
    pub(crate) fn open() -> Self {
        let engine = Engine::new(wasmtime::Config::new().concurrency_support(false)).unwrap();
        let component = Component::new(&engine, OperatorComponent::bundled_bytes()).unwrap();
        let mut linker = Linker::<()>::new(&engine);
        let waiting: Arc<Mutex<Vec<Val>>> = Arc::default();
        let ids: Arc<Mutex<Vec<u64>>> = Arc::default();
        let (given, asked) = (Arc::clone(&waiting), Arc::clone(&ids));
        let mut lookup = linker.instance(LOOKUP).unwrap();
        lookup
            .func_new("async-lookup", move |_, _, arguments, _| {
                let Val::Record(batch) = &arguments[1] else { panic!("a batch") };
                let Val::List(new) = &batch[0].1 else { panic!("ids") };
                asked.lock().unwrap().extend(new.iter().map(|id| if let Val::U64(id) = id { *id } else { panic!() }));
                Ok(())
            })
            .unwrap();
        lookup
            .func_new("take-completions", move |_, _, _, results| {
                let mut given = given.lock().unwrap();
                let none = || completions(&[], &[], &[], byte_strings(&[], b""));
                results[0] = if given.is_empty() { none() } else { given.remove(0) };
                Ok(())
            })
            .unwrap();
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &component).unwrap();
        let mut raw = Self { store, instance, completions: waiting, ids };
        let emit = ["on-failure", "on-timeout"]
            .map(|name| Val::Tuple(vec![Val::String(name.into()), Val::String("emit".into())]));
        assert_eq!(raw.call(OPERATOR, "open", &[Val::U64(0), Val::List(emit.into())]), Ok(None));
        raw
    }

    /// Calls an export that gives a result; gives what is in it, or the error's code.
    pub(crate) fn call(&mut self, interface: &str, function: &str, arguments: &[Val]) -> Result<Option<Val>, String> {
        let interface = self.instance.get_export_index(&mut self.store, None, interface).unwrap();
        let function = self.instance.get_export_index(&mut self.store, Some(&interface), function).unwrap();
        let function = self.instance.get_func(&mut self.store, function).unwrap();
        let mut results = [Val::Bool(false)];
        function.call(&mut self.store, arguments, &mut results).expect("an error, and no trap");
        match &results[0] {
            Val::Result(Ok(value)) => Ok(value.as_deref().cloned()),
            Val::Result(Err(Some(error))) => match error.as_ref() {
                Val::Record(fields) => match &fields[0].1 {
                    Val::Enum(code) => Err(code.clone()),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    fn push(
        &mut self,
        event_times: &[i64],
        keys: Val,
        keyless: &[u32],
        order_keys: Option<Val>,
        payloads: Val,
    ) -> Result<Option<Val>, String> {
        let batch = record(vec![
            ("event-times", list(event_times, |time| Val::S64(*time))),
            ("keys", keys),
            ("keyless", list(keyless, |row| Val::U32(*row))),
            ("order-keys", Val::Option(order_keys.map(Box::new))),
            ("payloads", payloads),
        ]);
        self.call(BATCH, "push-records", &[Val::U64(0), batch])
    }

    fn push_two(&mut self) {
        let two = || byte_strings(&[1, 2], b"ab");
        assert_eq!(self.push(&[1, 2], two(), &[], None, two()), Ok(Some(Val::U32(2))));
    }

    pub(crate) fn poll(&mut self) -> Result<Option<Val>, String> {
        self.call(OPERATOR, "poll-output", &[Val::U64(1), Val::U32(10)])
    }

    fn outputs(&mut self) -> usize {
        let Ok(Some(Val::Record(poll))) = self.poll() else { panic!("it polls") };
        let Val::List(outputs) = &poll[0].1 else { panic!("outputs") };
        outputs.len()
    }
}

#[test]
fn columns_that_disagree_are_refused_and_change_nothing() {
    let mut raw = Raw::open();
    let two = || byte_strings(&[1, 2], b"ab");
    let malformed = Err("malformed-batch".to_owned());
    assert_eq!(raw.push(&[1], two(), &[], None, two()), malformed, "more keys than event times");
    assert_eq!(raw.push(&[1, 2], two(), &[], None, byte_strings(&[1], b"a")), malformed, "fewer payloads");
    assert_eq!(raw.push(&[1, 2], byte_strings(&[2, 1], b"ab"), &[], None, two()), malformed, "an end goes back");
    assert_eq!(raw.push(&[1, 2], byte_strings(&[1, 3], b"ab"), &[], None, two()), malformed, "an end past the bytes");
    assert_eq!(raw.push(&[1, 2], byte_strings(&[1, u32::MAX], b"ab"), &[], None, two()), malformed);
    assert_eq!(raw.push(&[1, 2], byte_strings(&[0, 1], b"ab"), &[], None, two()), malformed, "bytes past the last end");
    assert_eq!(raw.push(&[1, 2], two(), &[2], None, two()), malformed, "a keyless row that is not there");
    assert_eq!(raw.push(&[1, 2], two(), &[1, 0], None, two()), malformed, "keyless rows that fall");
    assert_eq!(raw.push(&[1, 2], two(), &[], Some(byte_strings(&[1], b"a")), two()), malformed, "fewer order keys");
    assert_eq!(raw.push(&[], byte_strings(&[], b""), &[], None, byte_strings(&[], b"")), Ok(Some(Val::U32(0))));
    assert!(raw.ids.lock().unwrap().is_empty());
    raw.push_two();
    assert_eq!(raw.ids.lock().unwrap().len(), 2);
}

#[test]
fn a_provider_whose_columns_disagree_ends_the_instance() {
    let row = || byte_strings(&[1], b"x");
    let broken: [fn(&[u64]) -> Val; 6] = [
        |ids| completions(&ids[..1], &[], &[1], byte_strings(&[1], b"x")),
        |ids| completions(&ids[..1], &[9], &[1], byte_strings(&[1], b"x")),
        |ids| completions(&ids[..1], &[0], &[2], byte_strings(&[1], b"x")),
        |ids| completions(&ids[..1], &[0], &[u32::MAX], byte_strings(&[1], b"x")),
        |ids| completions(&ids[..1], &[1], &[0], byte_strings(&[], b"")),
        |ids| completions(&ids[..1], &[0], &[1], byte_strings(&[7], b"x")),
    ];
    for (number, batch) in broken.iter().enumerate() {
        let mut raw = Raw::open();
        raw.push_two();
        let ids = raw.ids.lock().unwrap().clone();
        raw.completions.lock().unwrap().push(batch(&ids));
        assert_eq!(raw.poll(), Err("provider-broken".into()), "{number}");
        assert_eq!(raw.poll(), Err("spent".into()));
        assert_eq!(raw.call(OPERATOR, "snapshot", &[]), Err("spent".into()));
    }
    let mut raw = Raw::open();
    raw.push_two();
    let ids = raw.ids.lock().unwrap().clone();
    raw.completions.lock().unwrap().push(completions(&ids[..1], &[0], &[1], row()));
    assert_eq!(raw.outputs(), 1, "what fits together is taken");
}

#[test]
fn unknown_ids_and_answers_twice_are_ignored_and_counted() {
    let mut raw = Raw::open();
    raw.push_two();
    let first = raw.ids.lock().unwrap()[0];
    let rows = || byte_strings(&[1, 2, 3, 4], b"wxyz");
    raw.completions.lock().unwrap().push(completions(&[0, u64::MAX, first, first], &[0; 4], &[1; 4], rows()));
    assert_eq!(raw.outputs(), 1);
    let interface = raw.instance.get_export_index(&mut raw.store, None, OPERATOR).unwrap();
    let stats = raw.instance.get_export_index(&mut raw.store, Some(&interface), "stats").unwrap();
    let stats = raw.instance.get_func(&mut raw.store, stats).unwrap();
    let mut results = [Val::Bool(false)];
    stats.call(&mut raw.store, &[], &mut results).unwrap();
    let counted = |name: &str| {
        let Val::List(stats) = &results[0] else { panic!("a list") };
        stats.iter().find_map(|pair| match pair {
            Val::Tuple(pair) if pair[0] == Val::String(name.into()) => Some(pair[1].clone()),
            _ => None,
        })
    };
    assert_eq!(counted("answers-unknown"), Some(Val::U64(2)));
    assert_eq!(counted("answers-stale"), Some(Val::U64(1)));
    assert_eq!(counted("answers-accepted"), Some(Val::U64(1)));
}

#[test]
fn calls_out_of_turn_are_errors() {
    let mut raw = Raw::open();
    assert_eq!(raw.call(OPERATOR, "open", &[Val::U64(0), Val::List(Vec::new())]), Err("already-open".into()));
    assert_eq!(raw.call(OPERATOR, "end-input", &[Val::U64(0)]), Ok(None));
    assert_eq!(raw.call(OPERATOR, "push-watermark", &[Val::U64(0), Val::S64(1)]), Err("after-end".into()));
    let two = || byte_strings(&[1, 2], b"ab");
    assert_eq!(raw.push(&[1, 2], two(), &[], None, two()), Err("after-end".into()));
}
