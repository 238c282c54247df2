//! What holds for every backend behind a connection: batches of a size that it likes, so many calls
//! at once, limits on what is found, and errors that name backend and key.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use lookaside_core::{FailureKind, LookupError, Rows};
use tokio::sync::Semaphore;

use crate::{budget::Reservation, pause::timeout_at};

use super::{Limits, LookupBatch, LookupProvider, Setting, Settings, concurrency, limits};

/// The rows of each key that was asked for, or an error for all of them.
pub(crate) type Found = Result<Vec<Result<Rows, LookupError>>, LookupError>;

/// A store that is asked over a connection.
pub(crate) trait Backend: Send + Sync + 'static {
    /// Finds the rows of each key, in the order of the keys. One that sees its answer grow holds the bytes of it in `room`
    /// as they come; what was found is held by the caller.
    fn find<'a>(&'a self, keys: Vec<Bytes>, room: &'a Reservation) -> BoxFuture<'a, Found>;

    /// The names of the fields that its rows have, where it knows them.
    fn columns(&self) -> Option<&[String]> {
        None
    }
}

/// The keys of a batch that are asked for, and what becomes of the rest.
#[derive(Debug)]
pub(crate) struct Asked<T> {
    /// As the backend takes them.
    pub(crate) keys: Vec<T>,
    /// Of all keys: whether each is asked for, or why it cannot be.
    all: Vec<Result<bool, LookupError>>,
}

impl<T> Asked<T> {
    /// Reads each key; one that `read` gives none for is a miss, since no row can have it.
    pub(crate) fn new(keys: &[Bytes], read: impl Fn(&[u8]) -> Result<Option<T>, LookupError>) -> Self {
        let mut asked = Self { keys: Vec::with_capacity(keys.len()), all: Vec::with_capacity(keys.len()) };
        for key in keys {
            asked.all.push(read(key).map(|key| {
                let is_asked = key.is_some();
                asked.keys.extend(key);
                is_asked
            }));
        }
        asked
    }

    /// The results of all keys, of those that were asked for.
    pub(crate) fn spread(self, found: impl IntoIterator<Item = Result<Rows, LookupError>>) -> Found {
        let mut found = found.into_iter();
        let result = |is_asked| match is_asked {
            Ok(true) => found.next().unwrap_or_else(|| Err(no_result())),
            Ok(false) => Ok(Rows::None),
            Err(error) => Err(error),
        };
        Ok(self.all.into_iter().map(result).collect())
    }
}

/// How calls to a backend are made.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    /// Keys in one call at most.
    batch: usize,
    /// Bytes of keys in one call at most; a longer key is alone.
    batch_bytes: usize,
    limits: Limits,
    concurrency: usize,
    places: Arc<Semaphore>,
}

/// The settings of [`Calls`], with a backend's own numbers.
pub(crate) const fn settings(batch: &'static str, concurrency: &'static str) -> [Setting; 2] {
    [
        Setting { name: "batch", value: "COUNT", default: batch, meaning: "keys that one call asks for at most" },
        Setting {
            name: "concurrency",
            value: "COUNT",
            default: concurrency,
            meaning: "calls at once, from all steps of the process together",
        },
    ]
}

/// The settings that all backends share.
pub(crate) const SHARED: &[Setting] = limits::SETTINGS;

impl Calls {
    /// Reads them from `settings`; `own` are the backend's numbers, as in [`settings`].
    pub(crate) fn new(backend: &str, settings: &Settings, own: &[Setting; 2]) -> Result<Self, String> {
        let default = |setting: &Setting| setting.default.parse().unwrap_or(1);
        let concurrency = settings.count("concurrency", default(&own[1]))?;
        Ok(Self {
            batch: settings.count("batch", default(&own[0]))?,
            batch_bytes: 4 << 20,
            limits: Limits::new(settings)?,
            concurrency,
            places: concurrency::places(backend, concurrency)?,
        })
    }

    /// The same, with one key in each call.
    pub(crate) fn one_by_one(self) -> Self {
        Self { batch: 1, ..self }
    }

    /// Calls at once.
    pub(crate) fn concurrency(&self) -> usize {
        self.concurrency
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }
}

/// The provider of a backend.
pub(crate) struct Remote<B> {
    shared: Arc<Shared<B>>,
}

struct Shared<B> {
    backend: B,
    name: String,
    calls: Calls,
}

impl<B: Backend> Remote<B> {
    /// `name` is what messages call the backend.
    pub(crate) fn new(backend: B, name: String, calls: Calls) -> Self {
        Self { shared: Arc::new(Shared { backend, name, calls }) }
    }
}

impl<B: Backend> LookupProvider for Remote<B> {
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let chunks = batch.split(shared.calls.batch, shared.calls.batch_bytes);
            let mut running: FuturesUnordered<_> = chunks.into_iter().map(|chunk| shared.answer(chunk)).collect();
            while running.next().await.is_some() {}
        })
    }

    fn columns(&self) -> Option<&[String]> {
        self.shared.backend.columns()
    }
}

impl<B: Backend> Shared<B> {
    /// Makes one call, and gives it up when its last lookup times out.
    async fn answer(&self, chunk: LookupBatch) {
        let deadline = chunk.last_deadline();
        let call = async {
            let Ok(_place) = self.calls.places.acquire().await else { return };
            let (keys, places) = distinct(chunk.keys());
            let room = chunk.budget().begin();
            match self.backend.find(keys, &room).await {
                Ok(results) => {
                    room.hold(places.iter().map(|&place| results.get(place).map_or(0, bytes)).sum()).await;
                    let mut places = places.into_iter();
                    chunk.answer_all(|asked| {
                        let result = places.next().and_then(|place| results.get(place).cloned());
                        result
                            .unwrap_or_else(|| Err(no_result()))
                            .and_then(|rows| self.calls.limits.apply(rows))
                            .map_err(|error| named(&self.name, error, asked.key))
                    });
                    room.arrived();
                }
                Err(error) => chunk.answer_all(|asked| Err(named(&self.name, error.clone(), asked.key))),
            }
        };
        match deadline {
            Some(deadline) => drop(timeout_at(deadline, call).await),
            None => call.await,
        }
    }
}

/// The bytes of what was found for a key.
fn bytes(result: &Result<Rows, LookupError>) -> u64 {
    result.as_ref().map_or(0, |rows| rows.as_slice().iter().map(|row| row.len() as u64).sum())
}

/// Each key once, in the order in which they came first, and for all keys which of those they are.
fn distinct(keys: impl Iterator<Item = Bytes>) -> (Vec<Bytes>, Vec<usize>) {
    let (mut distinct, mut places) = (Vec::new(), Vec::new());
    let mut seen: HashMap<Bytes, usize> = HashMap::new();
    for key in keys {
        let place = *seen.entry(key).or_insert_with_key(|key| {
            distinct.push(key.clone());
            distinct.len() - 1
        });
        places.push(place);
    }
    (distinct, places)
}

/// The error with the names of backend and key.
pub(crate) fn named(backend: &str, error: LookupError, key: &[u8]) -> LookupError {
    /// What is longer helps nobody.
    const SHOWN: usize = 100;
    let key =
        String::from_utf8_lossy(&key[..key.len().min(SHOWN)]).into_owned() + if key.len() > SHOWN { "..." } else { "" };
    LookupError { message: format!("{backend}: key {key}: {}", error.message), ..error }
}

fn no_result() -> LookupError {
    LookupError::new(FailureKind::Malformed, "the backend gave fewer results than it was asked for")
}
