//! Lookups and operators end with what started them.

use std::time::Duration;

use lookaside::{Driver, OperatorComponent, Options, Rows, lookup};

use crate::driver::{collect, records};

#[tokio::test]
async fn dropping_the_output_ends_lookups_and_input() {
    let running = std::sync::Arc::new(());
    let held = std::sync::Arc::clone(&running);
    let provider = lookup::from_fn(move |_| {
        let held = std::sync::Arc::clone(&held);
        async move {
            let _held = held;
            std::future::pending::<()>().await;
            Ok(Rows::None)
        }
    });
    let enriched = Driver::new(&Options::default(), provider).unwrap().enrich(records(10));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(std::sync::Arc::strong_count(&running) > 2, "lookups run");
    drop(enriched);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(std::sync::Arc::strong_count(&running), 1, "nothing holds the provider or its lookups");
}

#[tokio::test]
async fn one_component_opens_many_operators() {
    let component = OperatorComponent::bundled().unwrap();
    let provider = || std::sync::Arc::new(lookup::from_fn(async |key| Ok(Rows::One(key))));
    let runs = (0..20)
        .map(|_| collect(Driver::with_component(&component, &Options::default(), provider()).unwrap(), records(500)));
    for joined in futures::future::join_all(runs).await {
        assert_eq!(joined.len(), 500);
    }
}
