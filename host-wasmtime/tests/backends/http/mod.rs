//! A service, spoken to by HTTP.

mod service;

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use lookaside::{
    Options, Outcome,
    lookup::{KeyValue, OpenError},
};

use self::service::{Service, serve};
use crate::contract::{self, Contract, ask, by_address, find, open, options, refused, text_key};

fn contract_of(service: &Service) -> Contract {
    Contract {
        address: service.url("/rows#body={keys}&rows=/data/rows&in-order=true"),
        selection: by_address(1),
        field: "v",
        holds: |_| true,
    }
}

fn text(text: &str) -> [KeyValue; 1] {
    [KeyValue::Text(text.into())]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_endpoint_keeps_the_contract() {
    let service = Service::start().await;
    let contract = contract_of(&service);
    contract.holds().await;
    let requests = service.seen.requests.load(Ordering::Relaxed);
    assert!(requests < 300, "{requests} requests for some 12,000 keys");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_does_not_answer_times_out() {
    let service = Service::start().await;
    let stall = |stalled: bool| {
        let seen = service.seen.clone();
        async move {
            seen.stalled.send_replace(stalled);
        }
    };
    contract_of(&service).is_slow(stall(true), stall(false)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_dies_is_waited_for() {
    let service = Service::start().await;
    let contract = contract_of(&service);
    let runtime = tokio::runtime::Handle::current();
    let (port, seen) = (service.port, service.seen.clone());
    // Its connections end with the runtime that serves them.
    let own = Arc::new(Mutex::new(None::<tokio::runtime::Runtime>));
    service.task.abort();
    drop(service);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let start = {
        let own = own.clone();
        move || {
            let started = tokio::runtime::Runtime::new().unwrap();
            let seen = seen.clone();
            let (ready, is_ready) = std::sync::mpsc::channel();
            started.spawn(async move {
                let (_, _, task) = serve(port, seen).await;
                ready.send(()).unwrap();
                task.await.unwrap();
            });
            is_ready.recv().unwrap();
            *own.lock().unwrap() = Some(started);
        }
    };
    let kill = {
        let own = own.clone();
        move || {
            if let Some(runtime) = own.lock().unwrap().take() {
                runtime.shutdown_background();
            }
        }
    };
    drop(runtime);
    start();
    contract.dies_and_comes_back(kill.clone(), start.clone()).await;
    kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_each_key_reuses_its_connections() {
    let service = Service::start().await;
    let provider = open(&service.url("/row/{key}#concurrency=4"), &by_address(1)).await;
    let keys = (0..500)
        .map(|number| text_key(&if number % 10 == 0 { "none".into() } else { format!("k/{number}?&#") }))
        .collect();
    let joined = ask(provider, &options(), keys).await;
    for (number, joined) in joined.iter().enumerate() {
        assert_eq!(contract::failure(joined), None);
        match number % 10 {
            0 => assert_eq!(joined.outcome, Outcome::Missing),
            _ => assert_eq!(joined.rows.as_slice()[0], format!("{{\"key\":\"k/{number}?&#\"}}")),
        }
    }
    assert_eq!(service.seen.requests.load(Ordering::Relaxed), 500);
    let connections = service.seen.connections.lock().unwrap().len();
    assert!(connections < 25, "{connections} connections for 500 requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_steps_of_a_process_share_the_calls_to_a_backend() {
    let service = Service::start().await;
    let address = service.url("/busy/{key}#concurrency=3");
    let steps = [open(&address, &by_address(1)).await, open(&address, &by_address(1)).await];
    let keys = || (0..60).map(|number| text_key(&number.to_string())).collect();
    let options = options();
    let (one, other) = futures::join!(ask(steps[0].clone(), &options, keys()), ask(steps[1].clone(), &options, keys()));
    assert!(one.iter().chain(&other).all(|joined| joined.outcome == Outcome::Found));
    assert_eq!(service.seen.busiest.load(Ordering::SeqCst), 3);
    let error = refused(&service.url("/busy/{key}#concurrency=4"), &by_address(1)).await;
    assert!(error.to_string().contains("another step of this process has it open with 3"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_becomes_an_outcome() {
    let service = Service::start().await;
    let provider = open(&service.url("/status/{key}"), &by_address(1)).await;
    let ask_one = async |key: &str| ask(provider.clone(), &options(), vec![text_key(key)]).await.remove(0);
    let gone = open(&service.url("/status/{key}#miss=404,410"), &by_address(1)).await;
    for key in ["404", "410"] {
        assert!(find(&gone, &text(key)).await.unwrap().is_empty(), "{key} is a miss where it is said");
    }
    let strict = open(&service.url("/status/{key}#miss=410"), &by_address(1)).await;
    assert!(find(&strict, &text("404")).await.is_err(), "404 is none where others are said");
    for key in ["404", "204", "205"] {
        assert_eq!(ask_one(key).await.outcome, Outcome::Missing, "{key}");
    }
    for (key, kind) in [
        ("400", "rejected"),
        ("401", "rejected"),
        ("403", "rejected"),
        ("410", "rejected"),
        ("300", "rejected"),
        ("202", "unavailable"),
        ("206", "malformed"),
        ("408", "unavailable"),
        ("425", "unavailable"),
        ("429", "throttled"),
        ("503:1", "throttled"),
        ("500", "unavailable"),
        ("502", "unavailable"),
        ("504", "unavailable"),
    ] {
        let (shown, message) = contract::failure(&ask_one(key).await).unwrap();
        assert_eq!(shown, kind, "{key}");
        let expected = format!("{}: key [\"{key}\"]: the server answered {}", service.url("/status/{key}"), &key[..3]);
        assert!(message.starts_with(&expected), "{message}");
    }
}

/// Speaks as it is told to, whatever is asked: raw bytes, then the end of the connection.
async fn speak(answer: &'static [u8], resets: bool) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/{{key}}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(answer).await;
                let _ = stream.flush().await;
                if resets {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    #[expect(deprecated, reason = "it is how a connection is reset; nothing here waits for it")]
                    let _ = stream.set_linger(Some(Duration::ZERO));
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_breaks_off_may_come_whole_another_time() {
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":1}";
    let open_chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n";
    let bad_chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{\"a\":1}\r\n";
    for (answer, resets) in [(&short[..], false), (&short[..], true), (&open_chunk[..], false), (&bad_chunk[..], false)]
    {
        let provider = open(&speak(answer, resets).await, &by_address(1)).await;
        let joined = ask(provider, &options(), vec![text_key("a")]).await.remove(0);
        let (kind, message) = contract::failure(&joined).unwrap();
        assert_eq!(kind, "unavailable", "{message}");
    }
    // A body that is whole and no JSON is what it is.
    let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n{\"a\":1";
    let provider = open(&speak(whole, false).await, &by_address(1)).await;
    let joined = ask(provider, &options(), vec![text_key("a")]).await.remove(0);
    assert_eq!(contract::failure(&joined).unwrap().0, "malformed");
    let marked = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n\xef\xbb\xbf{\"a\":1}";
    let provider = open(&speak(marked, false).await, &by_address(1)).await;
    assert_eq!(find(&provider, &text("a")).await.unwrap(), [r#"{"a":1}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_batch_are_matched_by_their_keys_and_not_by_their_places() {
    let service = Service::start().await;
    let keys = || ["a", "b", "c", "a"].map(text_key).to_vec();
    // They come in another order, and each record gets its own.
    let by_key = open(&service.url("/batch/reversed#body={keys}&row-key=/id"), &by_address(1)).await;
    let joined = ask(by_key, &options(), keys()).await;
    let found: Vec<_> = joined.iter().map(|joined| joined.rows.as_slice()[0].clone()).collect();
    assert_eq!(found, [r#"{"id":"a"}"#, r#"{"id":"b"}"#, r#"{"id":"c"}"#, r#"{"id":"a"}"#]);
    // Equal keys of a batch are asked for once.
    assert_eq!(*service.seen.asked.lock().unwrap(), 3);
    // A place alone says nothing.
    let unsaid = open(&service.url("/batch/reversed#body={keys}"), &by_address(1)).await;
    for joined in ask(unsaid, &options(), keys()).await {
        let (kind, message) = contract::failure(&joined).unwrap();
        assert!(kind == "malformed" && message.contains("nothing says whose they are"), "{message}");
    }
    // A short reply fails the keys that it lacks.
    let in_order = open(&service.url("/batch/short#body={keys}&in-order=true"), &by_address(1)).await;
    let joined = ask(in_order, &options(), ["a", "b", "c"].map(text_key).to_vec()).await;
    let outcomes: Vec<Outcome> = joined.iter().map(|joined| joined.outcome).collect();
    assert_eq!(outcomes, [Outcome::Found, Outcome::Found, Outcome::Failed]);
    for (settings, reason) in [
        ("#body={keys}&in-order=true&row-key=/id", "not by both"),
        ("#body={keys}&in-order=maybe", "choose one of"),
        ("#body={keys}&miss=none", "is not a status"),
    ] {
        let error = refused(&service.url(&format!("/batch/short{settings}")), &by_address(1)).await;
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_key_asks_for_no_other_resource() {
    let service = Service::start().await;
    let provider = open(&service.url("/users/{key}/profile"), &by_address(1)).await;
    let joined = ask(provider, &options(), vec![text_key("")]).await.remove(0);
    let (kind, message) = contract::failure(&joined).unwrap();
    assert!(kind == "rejected" && message.contains("an empty key would ask for another path"), "{message}");
    assert_eq!(service.seen.requests.load(Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_waits_as_long_as_the_server_says() {
    let service = Service::start().await;
    let provider = open(&service.url("/status/{key}"), &by_address(1)).await;
    let retry = lookaside::Retry {
        on: lookaside::RetryOn::Failure,
        attempts: 1,
        delay: Duration::from_millis(1),
        ..Default::default()
    };
    let options = Options { retry, ..options() };
    for (key, least) in [("429:1", 1_000), ("503:date", 900), ("429", 0)] {
        // Dates have whole seconds, so that up to one of the two is past already.
        let key = &key.replace("date", &httpdate(2));
        let begin = std::time::Instant::now();
        let joined = ask(provider.clone(), &options, vec![text_key(key)]).await;
        assert_eq!(joined[0].attempts, 2, "{joined:?}");
        let waited = begin.elapsed();
        assert!(
            waited >= Duration::from_millis(least) && waited < Duration::from_millis(least + 1_500),
            "{key}: {waited:?}"
        );
    }
}

fn httpdate(seconds: i64) -> String {
    let output = std::process::Command::new("date")
        .env("LC_ALL", "C")
        .args(["-u", "-d", &format!("+{seconds} seconds"), "+%a, %d %b %Y %H:%M:%S GMT"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_aborts_the_request() {
    let service = Service::start().await;
    let provider = open(&service.url("/slow/{key}"), &by_address(1)).await;
    let hurried = Options { timeout: Some(Duration::from_millis(200)), ..options() };
    let joined = ask(provider, &hurried, ["a", "b", "c"].map(text_key).to_vec()).await;
    assert!(joined.iter().all(|joined| joined.outcome == Outcome::TimedOut));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(service.seen.aborted.load(Ordering::Relaxed), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_phase_has_its_timeout() {
    let service = Service::start().await;
    let slow = open(&service.url("/slow/{key}#header-timeout=100ms"), &by_address(1)).await;
    let error = find(&slow, &text("a")).await.unwrap_err();
    assert!(error.contains("the server did not begin its answer within 100ms"), "{error}");
    let endless = open(&service.url("/endless/{key}#body-timeout=100ms"), &by_address(1)).await;
    let error = find(&endless, &text("a")).await.unwrap_err();
    assert!(error.contains("the answer did not end within 100ms"), "{error}");
    // Nobody answers there, so that connecting takes as long as it may.
    let nowhere = open("http://192.0.2.1/{key}#connect-timeout=100ms", &by_address(1)).await;
    let begin = std::time::Instant::now();
    find(&nowhere, &text("a")).await.unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(3));
    let refused = open("http://127.0.0.1:1/{key}", &by_address(1)).await;
    let error = find(&refused, &text("a")).await.unwrap_err();
    assert!(error.contains("Connection refused"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_all_shapes() {
    let service = Service::start().await;
    let provider = open(&service.url("/shape/{key}#max-bytes=1M"), &by_address(1)).await;
    assert_eq!(find(&provider, &text("gzip")).await.unwrap(), [r#"{"packed":1.10}"#]);
    assert_eq!(find(&provider, &text("many")).await.unwrap(), [r#"{"n":9007199254740993}"#, r#"{"n":2}"#]);
    assert!(find(&provider, &text("none")).await.unwrap().is_empty());
    assert!(find(&provider, &text("html")).await.unwrap_err().contains("the response is no JSON"));
    // What is small on its way and large unpacked is not read to its end.
    assert!(find(&provider, &text("bomb")).await.unwrap_err().contains("longer than max-bytes=1048576"));
    let large = open(&service.url("/large/{key}#max-bytes=10k"), &by_address(1)).await;
    assert!(find(&large, &text("9000")).await.is_ok());
    assert!(find(&large, &text("2000000000")).await.unwrap_err().contains("longer than max-bytes=10240"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_what_the_settings_say() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "s&cret\n").unwrap();
    let service = Service::start().await;
    let settings = format!(
        "#method=PUT&header=X-Token: ${{file:{}}}&body={{\"id\":{{key}},\"other\":[{{key}}]}}&http=2",
        token.display()
    );
    let provider = open(&service.url(&format!("/echo/{{key}}?q={{key}}{settings}")), &by_address(1)).await;
    let row = find(&provider, &text("a b\"")).await.unwrap().remove(0);
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    assert_eq!(row["method"], "PUT");
    assert!(row["path"].as_str().unwrap().ends_with("/echo/a%20b%22?q=a%20b%22"), "{row}");
    assert_eq!(row["token"], "s&cret");
    assert_eq!(row["type"], "application/json");
    assert_eq!(row["body"], r#"{"id":"a b\"","other":["a b\""]}"#);
    assert_eq!(row["version"], 2);
    assert!(row["agent"].as_str().unwrap().starts_with("lookaside/"));
    // A failure shows where, and neither the token nor what stands behind the path.
    let failing = open(&service.url(&format!("/status/{{key}}?secret=hidden{settings}")), &by_address(1)).await;
    let error = find(&failing, &text("401")).await.unwrap_err();
    assert!(!error.contains("cret") && error.contains("/status/{key}: key [\"401\"]"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_stay_where_they_may() {
    let service = Service::start().await;
    let other = Service::start().await;
    let port = service.port;
    let to = |url: &str| percent(url);
    let follow = async |settings: &str, target: &str| {
        let address = service.url(&format!("/redirect/{{key}}?token=1&to={}#header=X-Token: t{settings}", to(target)));
        find(&open(&address, &by_address(1)).await, &text("x")).await
    };
    // Within the host, with the headers.
    assert!(follow("", "/echo/y").await.unwrap()[0].contains(r#""token":"t""#));
    // To another port of the host, which is another place: without them.
    assert!(follow("", &other.url("/echo/y")).await.unwrap()[0].contains(r#""token":null"#));
    // To another name, as it is or by its address.
    let elsewhere = format!("http://localhost:{port}/echo/y");
    let error = follow("", &elsewhere).await.unwrap_err();
    assert!(error.contains("the host localhost is not allowed; allow it with allow=localhost"), "{error}");
    assert!(follow("&allow=localhost", &elsewhere).await.unwrap()[0].contains(r#""token":null"#));
    let error = follow("&allow=*", &elsewhere).await.unwrap_err();
    assert!(error.contains("leads to") && error.contains("no public address"), "{error}");
    let error = follow("&allow=*", "http://169.254.169.254/latest/meta-data").await.unwrap_err();
    assert!(error.contains("no public address"), "{error}");
    assert!(follow("", "file:///etc/passwd").await.unwrap_err().contains("without a place to go"));
    assert!(follow("&redirects=0", "/echo/y").await.unwrap_err().contains("over redirects=0"));

    let more = open(&service.url("/redirect/{key}#header=X-Token: t"), &by_address(1)).await;
    assert!(find(&more, &text("loop")).await.unwrap_err().contains("over redirects=5"));
    assert!(find(&more, &text("nowhere")).await.unwrap_err().contains("without a place to go"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_the_host_needs_the_list_of_allowed_ones() {
    let service = Service::start().await;
    let port = service.port;
    let by_host = async |settings: &str, key: &str| {
        let address = format!("http://{{key}}:{port}/echo/x{settings}");
        find(&open(&address, &by_address(1)).await, &text(key)).await
    };
    assert!(by_host("", "localhost").await.unwrap_err().contains("the host localhost is not allowed"));
    assert!(by_host("#allow=*", "localhost").await.unwrap_err().contains("no public address"));
    assert!(by_host("#allow=*", "127.0.0.1").await.unwrap_err().contains("no public address"));
    assert!(by_host("#allow=localhost", "localhost").await.is_ok());
    assert!(
        by_host("#allow=localhost", "localhost/evil").await.unwrap_err().contains("cannot be part of a host's name")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_connection_checks_the_server() {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = crate::servers::certificate(folder.path());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&certificate).unwrap()],
            PrivateKeyDer::from_pem_file(&key).unwrap(),
        )
        .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4096]).await;
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\n{\"a\":1}";
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        }
    });
    let trusting = open(&format!("https://localhost:{port}/{{key}}#tls-ca={certificate}"), &by_address(1)).await;
    assert_eq!(find(&trusting, &text("x")).await.unwrap(), [r#"{"a":1}"#]);
    let error =
        find(&open(&format!("https://localhost:{port}/{{key}}"), &by_address(1)).await, &text("x")).await.unwrap_err();
    assert!(error.contains("certificate"), "{error}");
}

fn percent(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_make_no_sense_are_refused() {
    for (address, reason) in [
        ("http://host/users", "the key stands nowhere in it"),
        ("http:///{key}", "empty host"),
        ("http://host/{key}#batch=7", "batch= is for requests with {keys}"),
        ("http://host/{key}#rows=data", "no JSON pointer"),
        ("http://host/{key}#method=G T", "there is none such"),
        ("http://host/{key}#header=X: ${env:LOOKASIDE_NOT_SET}", "no variable LOOKASIDE_NOT_SET"),
        ("http://host/{key}#tls-ca=/not/there", "tls-ca=/not/there"),
        ("http://host/{key}#timeout=1s", "there is no setting `timeout`"),
    ] {
        let error = refused(address, &by_address(1)).await;
        assert!(matches!(error, OpenError::BadAddress { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}
