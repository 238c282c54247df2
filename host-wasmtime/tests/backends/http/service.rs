//! The service that is asked.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, Query, Request, State},
    http::{HeaderMap, StatusCode, Version, header},
    response::{IntoResponse, Redirect, Response},
    routing::{any, get, post},
};

use crate::contract;

/// What the service saw and does.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) requests: AtomicUsize,
    /// Requests whose client went away before they were answered.
    pub(super) aborted: AtomicUsize,
    pub(super) connections: Mutex<std::collections::BTreeSet<u16>>,
    pub(super) stalled: tokio::sync::watch::Sender<bool>,
    /// Requests that are being answered, and the most there were.
    pub(super) busy: AtomicUsize,
    pub(super) busiest: AtomicUsize,
    /// Keys that the last request for many asked for.
    pub(super) asked: Mutex<usize>,
}

pub(super) struct Service {
    pub(super) port: u16,
    pub(super) seen: Arc<Seen>,
    pub(super) task: tokio::task::JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Service {
    pub(super) async fn start() -> Self {
        let (port, seen, task) = serve(0, Arc::default()).await;
        Self { port, seen, task }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

pub(super) async fn serve(port: u16, seen: Arc<Seen>) -> (u16, Arc<Seen>, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let routes = Router::new()
        .route("/rows", post(rows))
        .route("/batch/{mode}", post(batch))
        .route("/row/{key}", get(row))
        .route("/status/{key}", get(status))
        .route("/slow/{key}", get(slow))
        .route("/shape/{key}", get(shape))
        .route("/busy/{key}", get(busy))
        .route("/large/{key}", get(large))
        .route("/endless/{key}", get(endless))
        .route("/echo/{key}", any(echo))
        .route("/redirect/{key}", get(redirect))
        .with_state(seen.clone());
    let service = routes.into_make_service_with_connect_info::<std::net::SocketAddr>();
    let task = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    (port, seen, task)
}

/// Many keys a request: an array of them comes, and an array of rows in their order goes.
async fn rows(State(seen): State<Arc<Seen>>, body: Bytes) -> Response {
    seen.requests.fetch_add(1, Ordering::Relaxed);
    let mut stalled = seen.stalled.subscribe();
    stalled.wait_for(|stalled| !stalled).await.unwrap();
    let keys: Vec<String> = serde_json::from_slice(&body).unwrap();
    let known: std::collections::BTreeMap<String, String> = contract::rows().into_iter().collect();
    let rows: Vec<_> = keys.iter().map(|key| known.get(key).map(|value| serde_json::json!({ "v": value }))).collect();
    serde_json::json!({ "data": { "rows": rows } }).to_string().into_response()
}

/// A row for each key that is asked for: in the reverse order, or all but the last.
async fn batch(State(seen): State<Arc<Seen>>, Path(mode): Path<String>, body: Bytes) -> Response {
    let keys: Vec<String> = serde_json::from_slice(&body).unwrap();
    *seen.asked.lock().unwrap() = keys.len();
    let mut rows: Vec<_> = keys.iter().map(|key| serde_json::json!({ "id": key })).collect();
    match mode.as_str() {
        "reversed" => rows.reverse(),
        _ => drop(rows.pop()),
    }
    serde_json::Value::from(rows).to_string().into_response()
}

async fn row(
    State(seen): State<Arc<Seen>>,
    axum::extract::ConnectInfo(client): axum::extract::ConnectInfo<std::net::SocketAddr>,
    Path(key): Path<String>,
) -> Response {
    seen.requests.fetch_add(1, Ordering::Relaxed);
    seen.connections.lock().unwrap().insert(client.port());
    match key.as_str() {
        "none" => StatusCode::NOT_FOUND.into_response(),
        key => serde_json::json!({ "key": key }).to_string().into_response(),
    }
}

async fn status(Path(key): Path<String>) -> Response {
    let (code, retry_after) = key.split_once(':').map_or((key.as_str(), None), |(code, after)| (code, Some(after)));
    let mut response = StatusCode::from_u16(code.parse().unwrap()).unwrap().into_response();
    if let Some(after) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, after.parse().unwrap());
    }
    response
}

/// Never ends; counts when the client gives up.
async fn slow(State(seen): State<Arc<Seen>>) -> Response {
    struct Gone(Arc<Seen>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.aborted.fetch_add(1, Ordering::Relaxed);
        }
    }
    let _gone = Gone(seen);
    std::future::pending().await
}

async fn busy(State(seen): State<Arc<Seen>>) -> &'static str {
    let now = seen.busy.fetch_add(1, Ordering::SeqCst) + 1;
    seen.busiest.fetch_max(now, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(5)).await;
    seen.busy.fetch_sub(1, Ordering::SeqCst);
    "{}"
}

async fn shape(Path(key): Path<String>) -> Response {
    match key.as_str() {
        "html" => "<html>".into_response(),
        "gzip" => {
            use std::io::Write;
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(br#"{"packed":1.10}"#).unwrap();
            ([(header::CONTENT_ENCODING, "gzip")], packed.finish().unwrap()).into_response()
        }
        "bomb" => {
            use std::io::Write;
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(&vec![b' '; 1 << 24]).unwrap();
            ([(header::CONTENT_ENCODING, "gzip")], packed.finish().unwrap()).into_response()
        }
        "many" => r#"[{"n":9007199254740993},{"n":2}]"#.into_response(),
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}

/// An answer of as many bytes, in parts, without its length.
async fn large(Path(key): Path<usize>) -> Response {
    let parts = futures::stream::iter((0..key / 1000).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1000])));
    axum::body::Body::from_stream(parts).into_response()
}

/// An answer that begins and does not end.
async fn endless() -> Response {
    use futures::StreamExt;
    let part = futures::stream::iter([Ok::<_, std::io::Error>(vec![b'{'])]);
    axum::body::Body::from_stream(part.chain(futures::stream::pending())).into_response()
}

async fn echo(request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    serde_json::json!({
        "method": parts.method.as_str(),
        "path": parts.uri.to_string(),
        "version": if parts.version == Version::HTTP_2 { 2 } else { 1 },
        "token": header("x-token"),
        "type": header("content-type"),
        "agent": header("user-agent"),
        "body": String::from_utf8(body.to_vec()).unwrap(),
    })
    .to_string()
    .into_response()
}

async fn redirect(
    Path(key): Path<String>,
    Query(to): Query<std::collections::BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    assert!(headers.contains_key("x-token") || !to.contains_key("token"));
    match key.as_str() {
        "loop" => Redirect::temporary("/redirect/loop").into_response(),
        "nowhere" => StatusCode::FOUND.into_response(),
        _ => Redirect::temporary(&to["to"]).into_response(),
    }
}
