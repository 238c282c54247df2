//! Instructions that a record costs in the core: push, complete and poll, in each mode, with the
//! operator full but for one place, at three capacities. Run by `cargo xtask instructions`.

#![allow(missing_docs, reason = "the macros make items that cannot be documented")]

use std::{hint::black_box, time::Duration};

use gungraun::{library_benchmark, library_benchmark_group, main};
use lookaside_core::{
    Answer, Element, Instant, Operator, Options, Order, Record, Request, Rows,
    columns::{CompletionBatch, CompletionBatchBuilder, OutputBatchBuilder, RecordBatch, RecordBatchBuilder},
};

/// Records of a batch.
const BATCH: u32 = 100;

/// An operator with all places taken but one, and the requests that it made.
fn nearly_full(order: Order, capacity: u32) -> (Operator, Vec<Request>) {
    let options = Options {
        order,
        capacity: capacity.try_into().expect("not zero"),
        timeout: Some(Duration::from_secs(10)),
        ..Options::default()
    };
    let mut operator = Operator::open(options, Instant(0)).expect("options that can be used");
    let mut requests = Vec::with_capacity(capacity as usize);
    for number in 0..capacity - 1 {
        operator.push_record(record(number), Instant(u64::from(number))).expect("there is room");
        requests.extend(operator.next_request());
    }
    (operator, requests)
}

fn record(number: u32) -> Record {
    Record::new(format!("{number:012}"), vec![b'x'; 100])
}

/// Before a push.
fn before_push(order: Order, capacity: u32) -> (Operator, Record) {
    (nearly_full(order, capacity).0, record(capacity))
}

/// Before the answer to the oldest record.
fn before_complete(order: Order, capacity: u32) -> (Operator, Answer) {
    let (operator, requests) = nearly_full(order, capacity);
    let row = Rows::One(vec![b'y'; 100].into());
    let answer = Answer::rows(&requests[0], row, Instant(u64::from(capacity)));
    (operator, answer)
}

/// With the oldest record done.
fn before_poll(order: Order, capacity: u32) -> Operator {
    let (mut operator, answer) = before_complete(order, capacity);
    operator.complete(answer, Instant(u64::from(capacity))).expect("nothing fails");
    operator
}

#[library_benchmark(setup = before_push)]
#[bench::ordered_100(Order::Ordered, 100)]
#[bench::ordered_10_000(Order::Ordered, 10_000)]
#[bench::ordered_1_000_000(Order::Ordered, 1_000_000)]
#[bench::unordered_100(Order::Unordered, 100)]
#[bench::unordered_10_000(Order::Unordered, 10_000)]
#[bench::unordered_1_000_000(Order::Unordered, 1_000_000)]
#[bench::key_ordered_100(Order::KeyOrdered, 100)]
#[bench::key_ordered_10_000(Order::KeyOrdered, 10_000)]
#[bench::key_ordered_1_000_000(Order::KeyOrdered, 1_000_000)]
fn push((mut operator, record): (Operator, Record)) -> (Operator, Option<Request>) {
    operator.push_record(black_box(record), Instant(2_000_000)).expect("there is room");
    let request = operator.next_request();
    (operator, request)
}

#[library_benchmark(setup = before_complete)]
#[bench::ordered_100(Order::Ordered, 100)]
#[bench::ordered_10_000(Order::Ordered, 10_000)]
#[bench::ordered_1_000_000(Order::Ordered, 1_000_000)]
#[bench::unordered_100(Order::Unordered, 100)]
#[bench::unordered_10_000(Order::Unordered, 10_000)]
#[bench::unordered_1_000_000(Order::Unordered, 1_000_000)]
#[bench::key_ordered_100(Order::KeyOrdered, 100)]
#[bench::key_ordered_10_000(Order::KeyOrdered, 10_000)]
#[bench::key_ordered_1_000_000(Order::KeyOrdered, 1_000_000)]
fn complete((mut operator, answer): (Operator, Answer)) -> Operator {
    operator.complete(black_box(answer), Instant(2_000_000)).expect("nothing fails");
    operator
}

#[library_benchmark(setup = before_poll)]
#[bench::ordered_100(Order::Ordered, 100)]
#[bench::ordered_10_000(Order::Ordered, 10_000)]
#[bench::ordered_1_000_000(Order::Ordered, 1_000_000)]
#[bench::unordered_100(Order::Unordered, 100)]
#[bench::unordered_10_000(Order::Unordered, 10_000)]
#[bench::unordered_1_000_000(Order::Unordered, 1_000_000)]
#[bench::key_ordered_100(Order::KeyOrdered, 100)]
#[bench::key_ordered_10_000(Order::KeyOrdered, 10_000)]
#[bench::key_ordered_1_000_000(Order::KeyOrdered, 1_000_000)]
fn poll(mut operator: Operator) -> (Operator, Option<Element>) {
    operator.advance(Instant(2_000_000)).expect("nothing fails");
    let element = operator.next_output().expect("nothing fails");
    black_box(operator.wake_at());
    (operator, element)
}

/// An operator with room for a batch, and the batch.
fn before_push_batch(order: Order, capacity: u32) -> (Operator, RecordBatch) {
    let mut operator = nearly_full(order, capacity - BATCH + 1).0;
    // Its capacity is what it was opened with, so one that is large enough takes over.
    let snapshot = operator.snapshot().expect("nothing has failed");
    let options = Options { capacity: capacity.try_into().expect("not zero"), ..operator.options().clone() };
    operator = Operator::restore(options, &snapshot, Instant(0)).expect("its own snapshot");
    operator.take_requests();
    let mut batch = RecordBatchBuilder::default();
    (capacity..capacity + BATCH).for_each(|number| batch.push(&record(number)));
    (operator, batch.build())
}

/// Before the answers to a batch.
fn before_complete_batch(order: Order, capacity: u32) -> (Operator, CompletionBatch) {
    let (mut operator, _) = nearly_full(order, capacity);
    let snapshot = operator.snapshot().expect("nothing has failed");
    operator = Operator::restore(operator.options().clone(), &snapshot, Instant(0)).expect("its own snapshot");
    let mut answers = CompletionBatchBuilder::default();
    for request in operator.take_requests().build().rows().take(BATCH as usize) {
        answers.push_rows(request.id, request.attempt, Instant(1), [&[b'y'; 100][..]]);
    }
    (operator, answers.build())
}

/// With the records of a batch done.
fn before_poll_batch(order: Order, capacity: u32) -> Operator {
    let (mut operator, answers) = before_complete_batch(order, capacity);
    operator.complete_all(answers, Instant(1)).expect("nothing fails");
    operator
}

#[library_benchmark(setup = before_push_batch)]
#[bench::ordered_200(Order::Ordered, 200)]
#[bench::ordered_10_000(Order::Ordered, 10_000)]
#[bench::unordered_200(Order::Unordered, 200)]
#[bench::unordered_10_000(Order::Unordered, 10_000)]
fn push_batch((mut operator, batch): (Operator, RecordBatch)) -> Operator {
    let taken = operator.push_records(black_box(batch), Instant(2)).expect("there is room");
    assert_eq!(taken, BATCH as usize);
    black_box(operator.take_requests());
    operator
}

#[library_benchmark(setup = before_complete_batch)]
#[bench::ordered_200(Order::Ordered, 200)]
#[bench::ordered_10_000(Order::Ordered, 10_000)]
#[bench::unordered_200(Order::Unordered, 200)]
#[bench::unordered_10_000(Order::Unordered, 10_000)]
fn complete_batch((mut operator, answers): (Operator, CompletionBatch)) -> Operator {
    operator.complete_all(black_box(answers), Instant(2)).expect("nothing fails");
    operator
}

#[library_benchmark(setup = before_poll_batch)]
#[bench::ordered_200(Order::Ordered, 200)]
#[bench::ordered_10_000(Order::Ordered, 10_000)]
#[bench::unordered_200(Order::Unordered, 200)]
#[bench::unordered_10_000(Order::Unordered, 10_000)]
fn poll_batch(mut operator: Operator) -> (Operator, OutputBatchBuilder) {
    operator.advance(Instant(2)).expect("nothing fails");
    let mut outputs = OutputBatchBuilder::default();
    operator.next_outputs(&mut outputs, usize::MAX, usize::MAX).expect("nothing fails");
    assert_eq!(outputs.len(), BATCH as usize);
    black_box(operator.wake_at());
    (operator, outputs)
}

library_benchmark_group!(name = operator, benchmarks = [push, complete, poll]);
library_benchmark_group!(name = batches, benchmarks = [push_batch, complete_batch, poll_batch]);
main!(library_benchmark_groups = [operator, batches]);
