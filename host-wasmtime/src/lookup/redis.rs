//! Lookups in Redis and what speaks its protocol: strings and hashes.
//!
//! Strings are asked for with `MGET`, hashes with a pipeline, over multiplexed connections that
//! reconnect by themselves. A string of JSON is the row; a hash is an object of its fields.

use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, join_all};
use lookaside_core::{FailureKind, LookupError, Rows};
use redis::{
    Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisConnectionInfo, RedisError,
    RedisResult, ServerErrorKind, TlsCertificates, Value,
    aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig},
    cluster::ClusterClientBuilder,
    cluster_async::ClusterConnection,
};

use super::{
    Address, KeyTemplate, KeyValue, OpenError, Selection, Setting, ValueEncoding, encoding,
    open::Errors,
    read_key,
    remote::{self, Asked, Backend, Calls, Found, Remote},
};
use crate::{budget::Reservation, json};

/// What may be set in the address.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "key",
        value: "TEMPLATE",
        default: "{key}",
        meaning: "the key's name in Redis, such as user:{key}, or {key.1}:{key.2}",
    },
    Setting { name: "type", value: "string|hash", default: "string", meaning: "what is stored under the key" },
    Setting {
        name: "value",
        value: "auto|json|text|base64",
        default: "auto",
        meaning: "what values are; auto is JSON where they parse, else text",
    },
    Setting { name: "fields", value: "NAME,...", default: "all", meaning: "the fields of a hash" },
    Setting {
        name: "cluster",
        value: "true|false",
        default: "false",
        meaning: "whether the hosts are nodes of a cluster",
    },
    Setting { name: "connections", value: "COUNT", default: "1", meaning: "connections that share the calls" },
    Setting { name: "connect-timeout", value: "DURATION", default: "5s", meaning: "how long connecting may take" },
    Setting {
        name: "tls-ca",
        value: "FILE",
        default: "the system's",
        meaning: "certificates to trust, in PEM, for rediss",
    },
];

/// How many keys a call has, and how many calls there are at once.
pub(crate) const CALLS: [Setting; 2] = remote::settings("500", "64");

const PORT: u16 = 6379;

/// Opens the Redis at `address`.
pub(crate) async fn open(address: &str, selection: &Selection) -> Result<Remote<Redis>, OpenError> {
    let errors = Errors::of(address);
    let bad = |reason: String| errors.address(reason);
    if selection.table.is_some() || selection.query.is_some() {
        return Err(errors.selection("redis has neither tables nor queries; the setting key= says what is looked up"));
    }
    let parsed = Address::parse(address, PORT, &[SETTINGS, &CALLS, remote::SHARED]).map_err(bad)?;
    let settings = &parsed.settings;
    let calls = Calls::new(&parsed.to_string(), settings, &CALLS).map_err(bad)?;
    let template =
        KeyTemplate::parse(settings.text("key").unwrap_or("{key}"), selection.key_columns.len()).map_err(bad)?;
    let hash = settings.choice("type", &[("string", false), ("hash", true)]).map_err(bad)?;
    let fields: Vec<String> = settings.list("fields").into_iter().map(str::to_owned).collect();
    let stored = match (hash, fields.is_empty()) {
        (true, _) => Stored::Hash(fields),
        (false, true) => Stored::String,
        (false, false) => return Err(bad("fields= is for hashes; add type=hash".into())),
    };
    let encoding = settings.choice("value", encoding::ENCODINGS).map_err(bad)?;
    let connections = connect(&parsed, address.starts_with("rediss:"), &errors).await?;
    Ok(Remote::new(Redis { connections, template, stored, encoding }, parsed.to_string(), calls))
}

/// A Redis that answers lookups.
pub(crate) struct Redis {
    connections: Connections,
    template: KeyTemplate,
    stored: Stored,
    encoding: ValueEncoding,
}

/// What is stored under a key.
enum Stored {
    String,
    /// A hash, of which these fields are wanted; all where there are none.
    Hash(Vec<String>),
}

enum Connections {
    /// Each call takes the next one.
    Server(Vec<ConnectionManager>, std::sync::atomic::AtomicUsize),
    Cluster(ClusterConnection),
}

async fn connect(address: &Address, tls: bool, errors: &Errors) -> Result<Connections, OpenError> {
    let bad = |reason: String| errors.address(reason);
    let unreachable = |error: RedisError| errors.unreachable(error.to_string());
    let settings = &address.settings;
    let timeout = settings.duration("connect-timeout", Duration::from_secs(5)).map_err(bad)?;
    let count = settings.count("connections", 1).map_err(bad)?;
    let cluster = settings.flag("cluster").map_err(bad)?;
    let root_cert = match settings.text("tls-ca") {
        None => None,
        Some(_) if !tls => return Err(bad("tls-ca= is for rediss://".into())),
        Some(file) => Some(std::fs::read(file).map_err(|error| bad(format!("tls-ca={file}: {error}")))?),
    };
    if address.hosts.len() > 1 && !cluster {
        return Err(bad("several hosts make a cluster; add cluster=true".into()));
    }
    let certificates = TlsCertificates { client_tls: None, root_cert };
    let hosts =
        address.hosts.iter().map(|host| info(address, host, tls)).collect::<Result<Vec<_>, _>>().map_err(bad)?;
    if cluster {
        let mut builder =
            ClusterClientBuilder::new(hosts).connection_timeout(timeout).retries(2).overall_response_timeout(None);
        if tls {
            builder = builder.certs(certificates);
        }
        let client = builder.build().map_err(|error| bad(error.to_string()))?;
        return Ok(Connections::Cluster(client.get_async_connection().await.map_err(unreachable)?));
    }
    // One attempt at a time: when to try again is the operator's to say.
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(None)
        .set_number_of_retries(0)
        .set_concurrency_limit(usize::MAX >> 4);
    let mut managers = Vec::with_capacity(count);
    for _ in 0..count {
        let client = match tls {
            true => Client::build_with_tls(hosts[0].clone(), certificates.clone()),
            false => Client::open(hosts[0].clone()),
        };
        let client = client.map_err(|error| bad(error.to_string()))?;
        managers.push(ConnectionManager::new_with_config(client, config.clone()).await.map_err(unreachable)?);
    }
    Ok(Connections::Server(managers, Default::default()))
}

fn info(address: &Address, host: &super::address::Host, tls: bool) -> Result<ConnectionInfo, String> {
    let (name, port) = (host.name.clone(), host.port);
    let at = match tls {
        true => ConnectionAddr::TcpTls { host: name, port, insecure: false, tls_params: None },
        false => ConnectionAddr::Tcp(name, port),
    };
    let database = match address.path.as_str() {
        "" => 0,
        number => number.parse().map_err(|_| format!("`{number}` is no number of a database"))?,
    };
    let mut settings = RedisConnectionInfo::default().set_db(database);
    if let Some(user) = &address.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &address.password {
        settings = settings.set_password(password);
    }
    Ok(at.into_connection_info().map_err(|error| error.to_string())?.set_redis_settings(settings))
}

impl Backend for Redis {
    fn find<'a>(&'a self, keys: Vec<Bytes>, _room: &'a Reservation) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            let name = |key: &[u8]| Ok(Some(self.template.fill(&read_key(key)?, KeyValue::plain)));
            let asked = Asked::new(&keys, name);
            let found = if asked.keys.is_empty() {
                Vec::new()
            } else {
                self.ask(&asked.keys).await.map_err(|error| failure(&error))?
            };
            asked.spread(found.into_iter().map(|value| self.rows(value)))
        })
    }
}

impl Redis {
    /// The values under `names`, in their order.
    async fn ask(&self, names: &[String]) -> RedisResult<Vec<Value>> {
        match (&self.stored, &self.connections) {
            (Stored::String, connections) => {
                let mut command = redis::cmd("MGET");
                command.arg(names);
                let value = match connections {
                    Connections::Server(..) => self.server()?.req_packed_command(&command).await?,
                    Connections::Cluster(cluster) => cluster.clone().req_packed_command(&command).await?,
                };
                match value {
                    Value::Array(values) => Ok(values),
                    Value::ServerError(error) => Err(error.into()),
                    other => Err((ErrorKind::UnexpectedReturnType, "MGET", format!("{other:?}")).into()),
                }
            }
            (Stored::Hash(fields), Connections::Server(..)) => {
                let mut pipeline = redis::Pipeline::with_capacity(names.len());
                for name in names {
                    pipeline.add_command(hash_command(name, fields));
                }
                self.server()?.req_packed_commands(&pipeline, 0, names.len()).await
            }
            // The nodes of a cluster each take the commands of their own keys.
            (Stored::Hash(fields), Connections::Cluster(cluster)) => {
                let answers = names.iter().map(|name| {
                    let (mut cluster, command) = (cluster.clone(), hash_command(name, fields));
                    async move { cluster.req_packed_command(&command).await }
                });
                join_all(answers).await.into_iter().collect()
            }
        }
    }

    fn server(&self) -> RedisResult<ConnectionManager> {
        let Connections::Server(managers, next) = &self.connections else {
            return Err((ErrorKind::Client, "no single server").into());
        };
        let next = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(managers[next % managers.len()].clone())
    }

    fn rows(&self, value: Value) -> Result<Rows, LookupError> {
        match (&self.stored, value) {
            (_, Value::ServerError(error)) => Err(failure(&error.into())),
            (_, Value::Nil) => Ok(Rows::None),
            (Stored::String, value) => Ok(Rows::One(self.encoding.to_json(bytes(value)?)?)),
            (Stored::Hash(fields), Value::Array(values)) if fields.is_empty() => {
                let mut values = values.into_iter();
                let mut pairs = Vec::with_capacity(values.len() / 2);
                while let (Some(name), Some(value)) = (values.next(), values.next()) {
                    pairs.push((name, value));
                }
                self.object(pairs)
            }
            (Stored::Hash(fields), Value::Map(pairs)) if fields.is_empty() => self.object(pairs),
            (Stored::Hash(_), Value::Array(values)) if values.iter().all(|value| *value == Value::Nil) => {
                Ok(Rows::None)
            }
            (Stored::Hash(fields), Value::Array(values)) => {
                let names = fields.iter().map(|field| Value::BulkString(field.clone().into_bytes()));
                self.object(names.zip(values).collect())
            }
            (Stored::Hash(_), other) => Err(malformed(&format!("a hash was expected and there is {other:?}"))),
        }
    }

    fn object(&self, pairs: Vec<(Value, Value)>) -> Result<Rows, LookupError> {
        if pairs.is_empty() {
            return Ok(Rows::None);
        }
        let mut fields = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let name = String::from_utf8_lossy(&bytes(name)?).into_owned();
            let value = match value {
                Value::Nil => "null".to_owned(),
                value => String::from_utf8_lossy(&self.encoding.to_json(bytes(value)?)?).into_owned(),
            };
            fields.push((name, value));
        }
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.clone()));
        Ok(Rows::One(json::object(fields).into()))
    }
}

fn hash_command(name: &str, fields: &[String]) -> Cmd {
    let mut command = redis::cmd(if fields.is_empty() { "HGETALL" } else { "HMGET" });
    command.arg(name).arg(fields);
    command
}

fn bytes(value: Value) -> Result<Bytes, LookupError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes.into()),
        Value::SimpleString(text) => Ok(text.into_bytes().into()),
        Value::Int(number) => Ok(number.to_string().into()),
        other => Err(malformed(&format!("a value was expected and there is {other:?}"))),
    }
}

fn malformed(message: &str) -> LookupError {
    LookupError::new(FailureKind::Malformed, message)
}

fn failure(error: &RedisError) -> LookupError {
    use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, TryAgain};
    let kind = match error.kind() {
        ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => FailureKind::Unavailable,
        ErrorKind::Server(BusyLoading | ClusterDown | MasterDown | TryAgain) => FailureKind::Unavailable,
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => FailureKind::Malformed,
        _ if error.is_connection_dropped() || error.is_connection_refusal() || error.is_timeout() => {
            FailureKind::Unavailable
        }
        _ if error.detail().is_some_and(|detail| detail.contains("max number of clients")) => FailureKind::Throttled,
        _ => FailureKind::Rejected,
    };
    LookupError::new(kind, error.to_string())
}
