//! Lookups by HTTP: a request for each key, or one for many where the service has such an endpoint.

mod guard;
mod proxy;
mod request;
mod response;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use lookaside_core::{FailureKind, LookupError, Rows};
use reqwest::{
    Client, Method, Response, StatusCode,
    header::{HeaderMap, LOCATION},
};
use url::Url;

use self::{
    guard::{Denied, Guard, GuardedResolver},
    request::RequestTemplate,
    response::RowsAt,
};
use crate::budget::Reservation;

use super::{
    KeyValue, OpenError, Selection, Setting, Settings,
    open::{Errors, without_secrets},
    read_key,
    remote::{self, Backend, Calls, Found, Remote},
    secret, tls,
};

/// What may be set behind the URL's `#`.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "method",
        value: "METHOD",
        default: "GET, or POST with a body",
        meaning: "how the service is asked",
    },
    Setting {
        name: "header",
        value: "NAME: VALUE",
        default: "none",
        meaning: "a header to send; may be given more than once",
    },
    Setting {
        name: "body",
        value: "TEMPLATE",
        default: "none",
        meaning: "what is sent: {key} is a JSON value, {keys} an array of all keys of a batch",
    },
    Setting {
        name: "content-type",
        value: "TYPE",
        default: "application/json",
        meaning: "what the body is; in a form, keys are percent-encoded",
    },
    Setting {
        name: "rows",
        value: "POINTER",
        default: "the response",
        meaning: "where the rows stand, as a JSON pointer such as /data/items",
    },
    Setting {
        name: "row-key",
        value: "POINTER,...",
        default: "an object with the keys as names",
        meaning: "where each row of a batch has its key",
    },
    Setting {
        name: "in-order",
        value: "true|false",
        default: "false",
        meaning: "whether the service promises a row or null for each key of a batch, in the keys' order",
    },
    Setting {
        name: "miss",
        value: "STATUS,...",
        default: "404",
        meaning: "which answers say that there is no row; 410 may be one",
    },
    Setting {
        name: "empty-keys",
        value: "true|false",
        default: "false",
        meaning: "whether an empty key may be a part of the path, where it asks for another resource",
    },
    Setting {
        name: "allow",
        value: "HOST,...",
        default: "none",
        meaning: "hosts that a key or a redirect may lead to, such as *.example.com",
    },
    Setting { name: "redirects", value: "COUNT", default: "5", meaning: "redirects to follow at most; 0 follows none" },
    Setting {
        name: "http",
        value: "auto|1|2",
        default: "auto",
        meaning: "the version to speak; 2 without asking first",
    },
    Setting { name: "connect-timeout", value: "DURATION", default: "5s", meaning: "how long connecting may take" },
    Setting {
        name: "header-timeout",
        value: "DURATION",
        default: "30s",
        meaning: "how long the server may take to begin its answer",
    },
    Setting {
        name: "body-timeout",
        value: "DURATION",
        default: "30s",
        meaning: "how long reading the answer may take",
    },
    Setting {
        name: "tls-ca",
        value: "FILE",
        default: "the system's",
        meaning: "certificates to trust besides, in PEM",
    },
];

/// How many keys a request has where it has `{keys}`, and how many requests there are at once.
pub(crate) const CALLS: [Setting; 2] = remote::settings("100", "64");

/// Prepares requests to the service at `address`; nothing is sent yet.
pub(crate) fn open(address: &str, selection: &Selection) -> Result<Remote<Http>, OpenError> {
    let errors = Errors::of(address);
    let bad = |reason: String| errors.address(reason);
    if selection.table.is_some() || selection.query.is_some() {
        return Err(errors.selection("a service has neither tables nor queries; its URL says what is looked up"));
    }
    let expanded = secret::expand(address).map_err(bad)?;
    let (url, settings) = expanded.split_once('#').unwrap_or((&expanded, ""));
    let settings = Settings::parse(settings, &[SETTINGS, &CALLS, remote::SHARED]).map_err(bad)?;
    let request = RequestTemplate::new(url, selection.key_columns.len(), &settings).map_err(bad)?;
    let name = without_secrets(address);
    let spelled = request.spelled_host().map_err(bad)?;
    let mut calls = Calls::new(&backend(url), &settings, &CALLS).map_err(bad)?;
    if !request.takes_many() {
        for many in ["batch", "row-key", "in-order"] {
            if settings.text(many).is_some() {
                return Err(bad(format!("{many}= is for requests with {{keys}}, which ask for many keys at once")));
            }
        }
        calls = calls.one_by_one();
        let wanted = selection.in_flight.unwrap_or_default();
        if settings.text("concurrency").is_none() && wanted >= 2 * calls.concurrency() {
            tracing::warn!(
                "{name}: {} calls at once at most, though {wanted} records may be in flight; concurrency={wanted} raises it",
                calls.concurrency(),
            );
        }
    }
    let guard = Arc::new(Guard::new(spelled, &settings.list("allow")));
    let redirects = match settings.text("redirects") {
        None => 5,
        Some(text) => text.parse().map_err(|_| bad(format!("redirects={text}: it is no number")))?,
    };
    let rows = settings.text("rows").unwrap_or_default().to_owned();
    let row_key: Vec<String> = settings.list("row-key").into_iter().map(str::to_owned).collect();
    if let Some(pointer) =
        row_key.iter().chain([&rows]).find(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))
    {
        return Err(bad(format!("`{pointer}` is no JSON pointer: one begins with /")));
    }
    let in_order = settings.flag("in-order").map_err(bad)?;
    if in_order && !row_key.is_empty() {
        return Err(bad("rows are matched by row-key= or by in-order=true, and not by both".into()));
    }
    let misses = match settings.list("miss") {
        given if given.is_empty() => vec![404],
        given => given.into_iter().map(status_of).collect::<Result<_, String>>().map_err(bad)?,
    };
    let http = Http {
        client: client(&settings, &guard).map_err(bad)?,
        request,
        guard,
        redirects,
        rows: RowsAt { rows, row_key, in_order },
        misses,
        header_timeout: settings.duration("header-timeout", Duration::from_secs(30)).map_err(bad)?,
        body_timeout: settings.duration("body-timeout", Duration::from_secs(30)).map_err(bad)?,
        most_bytes: calls.limits().bytes,
    };
    Ok(Remote::new(http, name, calls))
}

/// A status that a setting names.
fn status_of(text: &str) -> Result<u16, String> {
    let status = text.trim().parse().ok().filter(|status| (200..600).contains(status));
    status.ok_or_else(|| format!("miss={text}: it is not a status from 200 to 599"))
}

/// What steps share their number of calls for: the scheme, the host and the port.
fn backend(url: &str) -> String {
    let shown = without_secrets(url);
    let end = shown.find("://").map_or(0, |at| at + 3);
    shown[..shown[end..].find('/').map_or(shown.len(), |at| end + at)].to_owned()
}

fn client(settings: &Settings, guard: &Arc<Guard>) -> Result<Client, String> {
    tls::provide();
    let mut builder = Client::builder()
        .user_agent(concat!("lookaside/", env!("CARGO_PKG_VERSION")))
        // They are followed here, where each hop is checked.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(settings.duration("connect-timeout", Duration::from_secs(5))?)
        .dns_resolver(Arc::new(GuardedResolver(Arc::clone(guard))));
    if guard.reaches_beyond() {
        // A proxy would resolve names by itself.
        builder = builder.no_proxy();
    }
    match settings.choice("http", &[("auto", 0), ("1", 1), ("2", 2)])? {
        1 => builder = builder.http1_only(),
        2 => builder = builder.http2_prior_knowledge(),
        _ => {}
    }
    if let Some(file) = settings.text("tls-ca") {
        let unusable = |reason: String| format!("tls-ca={file}: {reason}");
        let pem = std::fs::read(file).map_err(|error| unusable(error.to_string()))?;
        for certificate in reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| unusable(error.to_string()))? {
            builder = builder.add_root_certificate(certificate);
        }
    }
    builder.build().map_err(|error| error.to_string())
}

/// A service that answers lookups.
pub(crate) struct Http {
    client: Client,
    request: RequestTemplate,
    guard: Arc<Guard>,
    redirects: usize,
    rows: RowsAt,
    /// Statuses that say that there is no row.
    misses: Vec<u16>,
    header_timeout: Duration,
    body_timeout: Duration,
    most_bytes: usize,
}

impl Http {
    /// The response to the request for `keys`, redirects followed.
    async fn respond(&self, keys: &[Vec<KeyValue>]) -> Result<Response, LookupError> {
        let mut url = self.request.url(keys)?;
        let mut method = self.request.method.clone();
        let mut headers = self.request.headers.clone();
        let mut body = self.request.body(keys);
        for hop in 0.. {
            self.guard.check(&url).map_err(|denied| rejected(denied.to_string()))?;
            let response = self.send(&method, &url, &headers, body.clone()).await?;
            let Some(next) = redirect(&response, &url)? else { return Ok(response) };
            if hop >= self.redirects {
                return Err(rejected(format!(
                    "over redirects={}: the next one leads to the host {}",
                    self.redirects,
                    host(&next)
                )));
            }
            if url.scheme() == "https" && next.scheme() == "http" {
                return Err(rejected(Denied::Unencrypted(host(&next)).to_string()));
            }
            if !matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
                (method, body) = (Method::GET, None);
            }
            // What is meant for one host, such as a token, is not for another.
            if url.origin() != next.origin() {
                headers = HeaderMap::new();
            }
            url = next;
        }
        Err(rejected("there are too many redirects".into()))
    }

    async fn send(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: Option<String>,
    ) -> Result<Response, LookupError> {
        let mut request = self.client.request(method.clone(), url.clone()).headers(headers.clone());
        if let Some(body) = body {
            request = request.body(body);
        }
        let sent = within(self.header_timeout, "the server did not begin its answer", request.send()).await?;
        sent.map_err(|error| {
            let proxy = if error.is_connect() && !self.guard.reaches_beyond() { proxy::of(url) } else { None };
            let failed = failure(error);
            match proxy {
                Some(proxy) => LookupError { message: format!("{}; {proxy}", failed.message), ..failed },
                None => failed,
            }
        })
    }
}

/// Where a response leads, if it leads elsewhere.
fn redirect(response: &Response, from: &Url) -> Result<Option<Url>, LookupError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).and_then(|to| from.join(to).ok());
    match to {
        Some(to) if matches!(to.scheme(), "http" | "https") => Ok(Some(to)),
        _ => Err(LookupError::new(
            FailureKind::Malformed,
            format!("the server answered {} without a place to go", response.status()),
        )),
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

async fn within<T>(timeout: Duration, what: &str, work: impl Future<Output = T>) -> Result<T, LookupError> {
    tokio::time::timeout(timeout, work).await.map_err(|_| {
        LookupError::new(FailureKind::Unavailable, format!("{what} within {}", humantime::format_duration(timeout)))
    })
}

impl Backend for Http {
    fn find<'a>(&'a self, keys: Vec<Bytes>, room: &'a Reservation) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            let keys = keys.iter().map(|key| read_key(key)).collect::<Result<Vec<_>, LookupError>>()?;
            let response = self.respond(&keys).await?;
            if !response::status(&response, &self.misses)? {
                return Ok(vec![Ok(Rows::None); keys.len()]);
            }
            let body = response::body(response, self.most_bytes.saturating_mul(keys.len()), room);
            let body = within(self.body_timeout, "the answer did not end", body).await??;
            if !self.request.takes_many() {
                return Ok(vec![self.rows.of_one(&body)]);
            }
            self.rows.of_each(&body, &keys)
        })
    }
}

fn rejected(message: String) -> LookupError {
    LookupError::new(FailureKind::Rejected, message)
}

/// What a request that did not get through means for a lookup.
fn failure(error: reqwest::Error) -> LookupError {
    // The URL has the key, and may have secrets.
    let error = error.without_url();
    let mut message = error.to_string();
    let mut denied = false;
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        denied |= cause.is::<Denied>();
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    let kind = match () {
        () if denied || error.is_builder() => FailureKind::Rejected,
        () if error.is_decode() => FailureKind::Malformed,
        () => FailureKind::Unavailable,
    };
    LookupError::new(kind, message)
}
