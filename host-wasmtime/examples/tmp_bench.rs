#![allow(missing_docs)]
use lookaside::{columns::*, *};
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap()
}
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let c = OperatorComponent::from_file(&path).unwrap();
    for (order, timeout) in [(Order::Ordered, true), (Order::Unordered, true), (Order::Unordered, false)] {
        let opts = Options {
            order,
            capacity: 1000.try_into().unwrap(),
            timeout: timeout.then(|| std::time::Duration::from_secs(10)),
            ..Options::default()
        };
        let mut best = f64::MAX;
        for _ in 0..5 {
            let mut op = c.open(&opts, Instant(0)).unwrap();
            let payload = vec![b'x'; 100];
            let row = bytes::Bytes::from(vec![b'y'; 100]);
            let n = 2000;
            let t0 = cpu();
            for i in 0..n {
                let mut b = RecordBatchBuilder::default();
                for j in 0..1000u64 {
                    let k = format!("{:012}", j);
                    b.event_times.push(j as i64);
                    b.keys.push(k.as_bytes());
                    b.payloads.push(&payload);
                }
                let now = Instant(i * 1000);
                assert_eq!(op.push_records(b, now).unwrap(), 1000);
                let reqs = op.take_requests();
                op.mailbox().put(reqs.iter().map(|r| Answer::rows(r, Rows::One(row.clone()), now)));
                let p = op.poll(u32::MAX, u32::MAX, now).unwrap();
                assert_eq!(p.outputs.len(), 1000);
            }
            best = best.min((cpu() - t0) / (n as f64 * 1000.0));
        }
        println!("{order:?} timeout={timeout}: {best:.0} ns/record");
    }
}
