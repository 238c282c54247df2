//! What each backend has to do.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use lookaside::{
    Driver, Element, JoinedRecord, LookupProvider, Options, Outcome, Policy, Record, Retry, RetryOn,
    lookup::{self, KeyValue, OpenError, Selection, write_key},
};

/// A backend that holds [`rows`].
pub(crate) struct Contract {
    pub(crate) address: String,
    pub(crate) selection: Selection,
    /// The field with a row's value.
    pub(crate) field: &'static str,
    /// What it cannot hold: such a key is a miss.
    pub(crate) holds: fn(&str) -> bool,
}

/// Keys that are hard on templates, quotes, lengths and encodings.
pub(crate) fn odd_keys() -> Vec<String> {
    let odd = [
        "",
        " ",
        "it's \"quoted\" `here`",
        "ünïcödé 日本 🛫",
        "a\\b\n\t%_$1?{key}",
        "nul\0nul",
        "a,b;c:d|e/f",
        "null",
        "007",
        "-",
    ];
    let mut odd: Vec<String> = odd.iter().map(|key| (*key).to_owned()).collect();
    odd.push("x".repeat(1 << 20));
    odd
}

/// The keys `k0` and on.
pub(crate) fn many_keys() -> Vec<String> {
    (0..10_000).map(|number| format!("k{number}")).collect()
}

/// What is stored: keys, and the value of each.
pub(crate) fn rows() -> Vec<(String, String)> {
    odd_keys().into_iter().chain(many_keys()).map(|key| (key.clone(), value(&key))).collect()
}

/// The value that belongs to a key.
pub(crate) fn value(key: &str) -> String {
    let start: String = key.chars().take(30).collect();
    format!("value of {start:?}, {} bytes", key.len())
}

/// A key of one text, as it crosses the operator.
pub(crate) fn text_key(key: &str) -> Bytes {
    write_key(&[KeyValue::Text(key.to_owned())])
}

/// Opens the backend.
pub(crate) async fn open(address: &str, selection: &Selection) -> Arc<dyn LookupProvider> {
    lookup::open(address, selection).await.unwrap_or_else(|error| panic!("{error}"))
}

/// Why it does not open.
pub(crate) async fn refused(address: &str, selection: &Selection) -> OpenError {
    match lookup::open(address, selection).await {
        Err(error) => error,
        Ok(_) => panic!("{address} was opened"),
    }
}

/// A selection by columns of a table.
pub(crate) fn table(name: &str, key_columns: &[&str]) -> Selection {
    let key_columns = key_columns.iter().map(|column| (*column).to_owned()).collect();
    Selection { key_columns, table: Some(name.to_owned()), ..Selection::default() }
}

/// A selection by a query.
pub(crate) fn query(sql: &str, key_values: usize) -> Selection {
    Selection { key_columns: vec!["key".to_owned(); key_values], query: Some(sql.to_owned()), ..Selection::default() }
}

/// A selection by the address alone.
pub(crate) fn by_address(key_values: usize) -> Selection {
    Selection { key_columns: vec!["key".to_owned(); key_values], ..Selection::default() }
}

/// Options that let every record out.
pub(crate) fn options() -> Options {
    Options {
        capacity: 20_000.try_into().unwrap_or(Options::default().capacity),
        on_failure: Policy::Emit,
        on_timeout: Policy::Emit,
        ..Options::default()
    }
}

/// Looks `keys` up through the operator.
pub(crate) async fn ask(provider: Arc<dyn LookupProvider>, options: &Options, keys: Vec<Bytes>) -> Vec<JoinedRecord> {
    let records = stream::iter(keys.into_iter().map(|key| Record::new(key, "")));
    joined(provider, options, records).await
}

/// Why a record's lookup failed: what kind of failure it was, and its message.
pub(crate) fn failure(joined: &JoinedRecord) -> Option<(String, String)> {
    if !matches!(joined.outcome, Outcome::Failed | Outcome::TimedOut) {
        return None;
    }
    let message = String::from_utf8_lossy(&joined.rows.as_slice()[0]).into_owned();
    let (kind, message) = message.split_once(": ").unwrap_or_else(|| panic!("{message}"));
    Some((kind.to_owned(), message.to_owned()))
}

/// The rows that one key finds, as one text; why, where the lookup failed.
pub(crate) async fn find(provider: &Arc<dyn LookupProvider>, key: &[KeyValue]) -> Result<Vec<String>, String> {
    let joined = ask(Arc::clone(provider), &options(), vec![write_key(key)]).await.remove(0);
    match failure(&joined) {
        Some((_, message)) => Err(message),
        None => Ok(joined.rows.as_slice().iter().map(|row| String::from_utf8(row.to_vec()).unwrap()).collect()),
    }
}

async fn joined(
    provider: Arc<dyn LookupProvider>,
    options: &Options,
    records: impl Stream<Item = Record> + Send + 'static,
) -> Vec<JoinedRecord> {
    let elements = Driver::new(options, provider).unwrap().enrich(records).into_stream();
    let joined = elements.filter_map(async |element| match element.expect("the operator goes on") {
        Element::Joined(joined) => Some(joined),
        _ => None,
    });
    joined.collect().await
}

impl Contract {
    async fn check(&self, provider: Arc<dyn LookupProvider>, keys: Vec<String>) {
        let known: std::collections::BTreeSet<String> =
            rows().into_iter().map(|(key, _)| key).filter(|key| (self.holds)(key)).collect();
        let joined = ask(provider, &options(), keys.iter().map(|key| text_key(key)).collect()).await;
        assert_eq!(joined.len(), keys.len());
        for (key, joined) in keys.iter().zip(joined) {
            let shown: String = key.chars().take(40).collect();
            assert_eq!(failure(&joined), None, "{shown:?}");
            if !known.contains(key) {
                assert_eq!(joined.outcome, Outcome::Missing, "{shown:?}");
                continue;
            }
            assert_eq!(joined.outcome, Outcome::Found, "{shown:?}");
            let row: serde_json::Value = serde_json::from_slice(&joined.rows.as_slice()[0]).expect("a row is JSON");
            assert_eq!(row[self.field], value(key), "{shown:?}");
        }
    }

    /// Hits, misses, equal keys beside each other, keys of all kinds, and ten thousand at once.
    pub(crate) async fn holds(&self) {
        let provider = open(&self.address, &self.selection).await;
        self.check(Arc::clone(&provider), Vec::new()).await;
        self.check(Arc::clone(&provider), vec!["k1".into()]).await;
        let mixed = ["k1", "none", "k1", "K1", "k1 ", "k9999", "none", "k10000"].map(str::to_owned);
        self.check(Arc::clone(&provider), mixed.to_vec()).await;
        self.check(Arc::clone(&provider), odd_keys()).await;
        let many = many_keys().into_iter().rev().flat_map(|key| [format!("{key}-none"), key]).take(12_000);
        self.check(provider, many.collect()).await;
    }

    /// A backend that does not answer leaves its records to their timeout, and the next ones go on.
    pub(crate) async fn is_slow<F: Future<Output = ()>>(&self, stall: F, go_on: impl Future<Output = ()>) {
        let provider = open(&self.address, &self.selection).await;
        self.check(Arc::clone(&provider), vec!["k1".into()]).await;
        stall.await;
        let hurried = Options { timeout: Some(Duration::from_millis(300)), ..options() };
        let late = ask(Arc::clone(&provider), &hurried, vec![text_key("k1"), text_key("k2")]).await;
        assert!(late.iter().all(|late| late.outcome == Outcome::TimedOut), "{late:?}");
        go_on.await;
        self.check(provider, vec!["k1".into(), "k3".into()]).await;
    }

    /// While the backend is away, lookups fail as unavailable; with retries, a run that it dies in
    /// ends right once it is back.
    pub(crate) async fn dies_and_comes_back(
        &self,
        kill: impl Fn() + Send + Sync + 'static,
        start: impl Fn() + Send + Sync + 'static,
    ) {
        const RECORDS: usize = 2_000;
        let provider = open(&self.address, &self.selection).await;
        self.check(Arc::clone(&provider), vec!["k1".into()]).await;
        kill();
        let begin = Instant::now();
        let failed = loop {
            // A server's other processes may take a moment to see that it is gone.
            let joined = ask(Arc::clone(&provider), &options(), vec![text_key("k1")]).await.remove(0);
            if joined.outcome != Outcome::Found {
                break joined;
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "it was killed, and still answers");
        };
        assert_eq!(failed.outcome, Outcome::Failed);
        let (kind, message) = failure(&failed).expect("why it failed");
        assert_eq!(kind, "unavailable", "{message}");
        let shown = self.address.split_once("://").expect("a URL").0;
        assert!(message.starts_with(shown) && message.contains("key [\"k1\"]"), "{message}");
        start();

        let retry =
            Retry { on: RetryOn::Failure, attempts: 1_000, delay: Duration::from_millis(50), ..Retry::default() };
        let options =
            Options { retry, capacity: 100.try_into().unwrap(), timeout: Some(Duration::from_secs(120)), ..options() };
        let control = Arc::new(Mutex::new(Some((kill, start))));
        let records = stream::iter(0..RECORDS).then(move |number| {
            let control = Arc::clone(&control);
            async move {
                if number == RECORDS / 2 {
                    let (kill, start) = control.lock().unwrap().take().expect("once");
                    // What is in flight just now is asked for while the server dies.
                    tokio::task::spawn_blocking(move || {
                        kill();
                        std::thread::sleep(Duration::from_millis(300));
                        start();
                    });
                }
                tokio::time::sleep(Duration::from_micros(300)).await;
                Record::new(text_key(&format!("k{number}")), "")
            }
        });
        let joined = joined(provider, &options, records).await;
        assert_eq!(joined.len(), RECORDS);
        for (number, joined) in joined.iter().enumerate() {
            assert_eq!(joined.outcome, Outcome::Found, "{joined:?}");
            let row: serde_json::Value = serde_json::from_slice(&joined.rows.as_slice()[0]).expect("a row is JSON");
            assert_eq!(row[self.field], value(&format!("k{number}")));
        }
        assert!(joined.iter().any(|joined| joined.attempts > 1), "the server was away");
    }
}
