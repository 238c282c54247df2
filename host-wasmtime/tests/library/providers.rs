//! Providers that are slow, block, break their promise or panic.

use std::time::{Duration, Instant};

use futures::StreamExt;
use lookaside::{Driver, Element, LookupBatch, LookupProvider, Options, Order, Outcome, Policy, Rows, lookup};

use crate::driver::{collect, records};

fn lenient() -> Options {
    Options { on_failure: Policy::Emit, on_timeout: Policy::Emit, ..Options::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_provider_that_blocks_its_thread_does_not_stall_the_mailbox() {
    // The trap of asynchronous I/O: a client that sleeps on the calling thread.
    let provider = lookup::from_fn(async |key| {
        if key == "0" {
            std::thread::sleep(Duration::from_secs(1));
        }
        Ok(Rows::One(key))
    });
    let options = Options { order: Order::Unordered, capacity: 1.try_into().unwrap(), ..lenient() };
    let blocked = Driver::new(&options, provider).unwrap().enrich(records(1));
    let handle = blocked.handle();
    let start = Instant::now();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let in_flight = handle.inspect().await;
    assert_eq!(in_flight.len(), 1);
    assert!(start.elapsed() < Duration::from_millis(700), "the mailbox answered while the provider slept");
    assert_eq!(blocked.into_stream().count().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_records_flow_while_a_blocking_client_blocks() {
    let provider = lookup::blocking(|key| {
        if key == "0" {
            std::thread::sleep(Duration::from_secs(1));
        }
        Ok(Rows::One(key.clone()))
    });
    let options = Options { order: Order::Unordered, capacity: 10.try_into().unwrap(), ..lenient() };
    let mut elements = Driver::new(&options, provider)
        .unwrap()
        .enrich(
            // The first record goes alone, so that its batch holds nobody else up.
            futures::stream::iter(0..100).then(async |number| {
                if number == 1 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                lookaside::Record::new(number.to_string(), "")
            }),
        )
        .into_stream();
    let start = Instant::now();
    let mut before_the_blocked_one = 0;
    while let Some(element) = elements.next().await {
        let Element::Joined(joined) = element.unwrap() else { continue };
        if joined.record.key.as_deref() == Some(b"0") {
            break;
        }
        before_the_blocked_one += 1;
    }
    assert_eq!(before_the_blocked_one, 99);
    assert!(start.elapsed() >= Duration::from_millis(900));
}

#[tokio::test]
async fn a_lookup_that_is_dropped_fails_and_says_so() {
    let provider = lookup::from_batch_fn(async |batch| {
        for (number, asked) in batch.into_iter().enumerate() {
            if number % 2 == 0 {
                asked.answer(Rows::None);
            }
        }
    });
    let joined = collect(Driver::new(&lenient(), provider).unwrap(), records(10)).await;
    let failed: Vec<_> = joined.iter().filter(|joined| joined.outcome == Outcome::Failed).collect();
    assert_eq!(failed.len(), 5);
    assert_eq!(failed[0].rows.as_slice()[0], "malformed: the provider ended without an answer");
}

#[tokio::test]
async fn what_was_answered_before_a_panic_counts() {
    let provider = lookup::from_batch_fn(async |batch: LookupBatch| {
        batch.answer_all(|asked| {
            assert_ne!(asked.key, b"3", "the fourth one is one too many");
            Ok(Rows::One(asked.key.to_vec().into()))
        });
    });
    let joined = collect(Driver::new(&lenient(), provider).unwrap(), records(6)).await;
    let outcomes: Vec<Outcome> = joined.iter().map(|joined| joined.outcome).collect();
    assert_eq!(outcomes[..3], [Outcome::Found; 3]);
    assert_eq!(outcomes[3..], [Outcome::Failed; 3]);
}

#[tokio::test]
async fn a_provider_that_panics_fails_its_lookups_alone() {
    let provider =
        lookup::from_fn(async |key| if key == "3" { panic!("a bug in the provider") } else { Ok(Rows::None) });
    let options = Options { capacity: 1.try_into().unwrap(), ..lenient() };
    let joined = collect(Driver::new(&options, provider).unwrap(), records(6)).await;
    let outcomes: Vec<Outcome> = joined.iter().map(|joined| joined.outcome).collect();
    let missing = Outcome::Missing;
    assert_eq!(outcomes, [missing, missing, missing, Outcome::Failed, missing, missing]);
}

#[tokio::test(start_paused = true)]
async fn work_for_a_record_ends_at_its_deadline() {
    let (ended, watch) = std::sync::mpsc::channel();
    struct TellsItsEnd(std::sync::mpsc::Sender<tokio::time::Instant>);
    impl Drop for TellsItsEnd {
        fn drop(&mut self) {
            let _ = self.0.send(tokio::time::Instant::now());
        }
    }
    let provider = lookup::from_fn(move |_| {
        let guard = TellsItsEnd(ended.clone());
        async move {
            let _guard = guard;
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            Ok(Rows::None)
        }
    });
    let start = tokio::time::Instant::now();
    let options = Options { timeout: Some(Duration::from_secs(2)), ..lenient() };
    let joined = collect(Driver::new(&options, provider).unwrap(), records(1)).await;
    assert_eq!(joined[0].outcome, Outcome::TimedOut);
    assert_eq!(joined[0].rows.as_slice()[0], "no answer within 2000 ms");
    let work_ended = watch.recv().unwrap();
    assert!(work_ended - start <= Duration::from_millis(2_010), "{:?}", work_ended - start);
}

#[tokio::test]
async fn answers_that_were_there_in_time_stand_though_the_driver_was_busy() {
    // The answer arrives at once; the driver's own thread is then held up past the deadline.
    let provider = lookup::from_fn(async |key| Ok(Rows::One(key)));
    let options = Options { timeout: Some(Duration::from_millis(60)), ..lenient() };
    let enriched = Driver::new(&options, provider).unwrap().enrich(records(1));
    let mut elements = enriched.into_stream();
    // On this runtime of one thread nothing else runs meanwhile but what was started before.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    std::thread::sleep(Duration::from_millis(100));
    let Some(Ok(Element::Joined(joined))) = elements.next().await else { panic!("one record") };
    assert_eq!(joined.outcome, Outcome::Found);
}

#[test]
fn providers_are_objects() {
    fn takes(_: &dyn LookupProvider) {}
    takes(&lookup::from_fn(async |_| Ok(Rows::None)));
}

#[tokio::test]
async fn what_is_in_memory_is_asked_without_a_task_and_may_panic() {
    let thread = std::thread::current().id();
    let provider = lookup::from_memory(move |key| {
        assert_eq!(std::thread::current().id(), thread);
        assert_ne!(key, b"3", "a bug in the provider");
        Ok(if key == b"4" { Rows::None } else { Rows::from("row") })
    });
    let joined = collect(Driver::new(&lenient(), provider).unwrap(), records(6)).await;
    let outcomes: Vec<Outcome> = joined.iter().map(|joined| joined.outcome).collect();
    assert_eq!(outcomes[..3], [Outcome::Found; 3]);
    assert_eq!(outcomes[3], Outcome::Failed);
}
