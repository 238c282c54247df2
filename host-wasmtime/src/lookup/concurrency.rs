//! How many calls a backend gets at once, from all steps of this process together.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::Semaphore;

/// The backends that are open, each with its places and how many there are.
static OPEN: Mutex<BTreeMap<String, (Weak<Semaphore>, usize)>> = Mutex::new(BTreeMap::new());

/// The places for calls to `backend`: the same ones for each provider that has it open.
///
/// # Errors
///
/// Where it is open with another number of them: one of the two could not hold.
pub(crate) fn places(backend: &str, count: usize) -> Result<Arc<Semaphore>, String> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|_, (places, _)| places.strong_count() > 0);
    if let Some((places, others)) = open.get(backend).and_then(|(places, count)| Some((places.upgrade()?, *count))) {
        if others != count {
            return Err(format!("concurrency={count}: another step of this process has it open with {others}"));
        }
        return Ok(places);
    }
    let places = Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
    open.insert(backend.to_owned(), (Arc::downgrade(&places), count));
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn providers_of_one_backend_share_its_places() {
        let one = places("one-backend", 2).unwrap();
        let other = places("one-backend", 2).unwrap();
        let _permit = one.try_acquire().unwrap();
        assert_eq!(other.available_permits(), 1);
        assert_eq!(places("another-backend", 2).unwrap().available_permits(), 2);
        assert!(places("one-backend", 3).is_err());
        drop(_permit);
        drop((one, other));
        assert_eq!(places("one-backend", 3).unwrap().available_permits(), 3);
    }
}
