//! Lookups in HBase, by its own RPC: many calls in flight on one connection to each region server.
//!
//! Where regions are is asked from the masters or region servers that the address names; no
//! ZooKeeper client is needed. A region that was moved or split is looked up again. Authentication
//! is the simple one: Kerberos is not spoken.

mod cluster;
mod columns;
mod connection;
mod messages;

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures::future::{BoxFuture, join_all};
use lookaside_core::{FailureKind, LookupError, Rows};

use self::{
    cluster::{Cluster, Region},
    columns::Columns,
    connection::CallError,
    messages::{Action, Get, MultiRequest, MultiResponse, RegionAction},
};
use crate::budget::Reservation;

use super::{
    Address, KeyTemplate, KeyValue, OpenError, Selection, Setting,
    address::Host,
    encoding,
    open::Errors,
    read_key,
    remote::{self, Asked, Backend, Calls, Found, Remote},
};

/// What may be set in the address.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "columns",
        value: "FAMILY[:QUALIFIER[:TYPE]],...",
        default: "all",
        meaning: "what is read; types are auto, json, text, base64, int32, int64, float64, boolean",
    },
    Setting {
        name: "value",
        value: "auto|json|text|base64",
        default: "auto",
        meaning: "what cells without a type are; auto is JSON where they parse, else text",
    },
    Setting {
        name: "row",
        value: "TEMPLATE",
        default: "{key}",
        meaning: "the row's key, such as user-{key}, or {key.1}|{key.2}",
    },
    Setting {
        name: "row-bytes",
        value: "text|base64",
        default: "text",
        meaning: "whether the row's key is the text, or the bytes that it stands for in base64",
    },
    Setting { name: "connect-timeout", value: "DURATION", default: "5s", meaning: "how long connecting may take" },
    Setting { name: "call-timeout", value: "DURATION", default: "30s", meaning: "how long a call may take" },
];

/// How many keys a call has, and how many calls there are at once: a server's queue takes 160.
pub(crate) const CALLS: [Setting; 2] = remote::settings("100", "16");

/// Where region servers listen.
const PORT: u16 = 16_020;

/// How often a region is looked up again within one lookup.
const RELOCATIONS: u32 = 5;

/// Opens the table at `address`.
pub(crate) async fn open(address: &str, selection: &Selection) -> Result<Remote<HBase>, OpenError> {
    let errors = Errors::of(address);
    let bad = |reason: String| errors.address(reason);
    if selection.table.is_some() || selection.query.is_some() {
        return Err(errors.selection("the table stands in the address: hbase://HOST/TABLE"));
    }
    let parsed = Address::parse(address, PORT, &[SETTINGS, &CALLS, remote::SHARED]).map_err(bad)?;
    let settings = &parsed.settings;
    if parsed.path.is_empty() {
        return Err(bad("it names no table; write hbase://HOST/TABLE".into()));
    }
    let calls = Calls::new(&parsed.to_string(), settings, &CALLS).map_err(bad)?;
    let value = settings.choice("value", encoding::ENCODINGS).map_err(bad)?;
    let columns = Columns::parse(&settings.list("columns"), value).map_err(bad)?;
    let row = KeyTemplate::parse(settings.text("row").unwrap_or("{key}"), selection.key_columns.len()).map_err(bad)?;
    let row_is_base64 = settings.choice("row-bytes", &[("text", false), ("base64", true)]).map_err(bad)?;
    let connect_timeout = settings.duration("connect-timeout", Duration::from_secs(5)).map_err(bad)?;
    let call_timeout = settings.duration("call-timeout", Duration::from_secs(30)).map_err(bad)?;
    let user = parsed.user.clone().unwrap_or_else(|| "lookaside".into());
    let cluster = Cluster::new(parsed.hosts.clone(), parsed.path.clone(), user, connect_timeout, call_timeout);
    let names = columns.names();
    let hbase = HBase { cluster, columns, names, row, row_is_base64 };
    hbase.check(&errors).await?;
    Ok(Remote::new(hbase, parsed.to_string(), calls))
}

/// The rows of each region, by their places in a batch.
type RegionRows = Vec<(Region, Vec<usize>)>;

/// A table that answers lookups.
pub(crate) struct HBase {
    cluster: Cluster,
    columns: Columns,
    names: Option<Vec<String>>,
    row: KeyTemplate,
    row_is_base64: bool,
}

impl HBase {
    /// Reads one row, so that a wrong table or family shows now.
    async fn check(&self, errors: &Errors) -> Result<(), OpenError> {
        match self.gets(&[Bytes::from_static(b"\0")]).await.pop() {
            Some(Err(error)) if error.kind == FailureKind::Rejected => Err(errors.selection(error.message)),
            Some(Err(error)) => Err(errors.unreachable(error.message)),
            _ => Ok(()),
        }
    }

    /// The row that a key is for; none where there can be no such row.
    fn row_key(&self, key: &[u8]) -> Result<Option<Bytes>, LookupError> {
        /// The server refuses longer ones.
        const LONGEST: usize = 32_767;
        let text = self.row.fill(&read_key(key)?, KeyValue::plain);
        let row: Bytes = match self.row_is_base64 {
            false => text.into(),
            true => {
                let refused = |error| LookupError::new(FailureKind::Rejected, format!("the row is no base64: {error}"));
                STANDARD.decode(text).map_err(refused)?.into()
            }
        };
        Ok(Some(row).filter(|row| (1..=LONGEST).contains(&row.len())))
    }

    /// Reads `rows`, each of which has its own end.
    async fn gets(&self, rows: &[Bytes]) -> Vec<Result<Rows, LookupError>> {
        let mut results: Vec<Option<Result<Rows, LookupError>>> = vec![None; rows.len()];
        for attempt in 0..=RELOCATIONS {
            if attempt > 0 {
                // A region that moves or splits is away for a moment.
                tokio::time::sleep(Duration::from_millis(20 << attempt)).await;
            }
            let open: Vec<usize> = (0..rows.len()).filter(|row| results[*row].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let moved = self.gets_once(rows, &open, &mut results).await;
            if attempt == RELOCATIONS {
                for (row, error) in moved {
                    results[row] = Some(Err(error.to_failure()));
                }
            }
        }
        let unanswered = || Err(LookupError::new(FailureKind::Malformed, "the server left the row out"));
        results.into_iter().map(|result| result.unwrap_or_else(unanswered)).collect()
    }

    /// Reads the rows in `open`, at each server with one call. Gives those whose region has to be
    /// looked up again, and why.
    async fn gets_once(
        &self,
        rows: &[Bytes],
        open: &[usize],
        results: &mut [Option<Result<Rows, LookupError>>],
    ) -> Vec<(usize, CallError)> {
        let mut moved = Vec::new();
        let mut servers: Vec<(Host, RegionRows)> = Vec::new();
        for row in open.iter().copied() {
            match self.cluster.region(&rows[row]).await {
                Ok(Some(region)) => {
                    let place = servers.iter().position(|(server, _)| *server == region.server).unwrap_or_else(|| {
                        servers.push((region.server.clone(), Vec::new()));
                        servers.len() - 1
                    });
                    let regions = &mut servers[place].1;
                    match regions.iter_mut().find(|(known, _)| known.name == region.name) {
                        Some((_, rows)) => rows.push(row),
                        None => regions.push((region, vec![row])),
                    }
                }
                Ok(None) => {
                    results[row] = Some(Err(LookupError::new(FailureKind::Rejected, "there is no such table")));
                }
                Err(error @ CallError::Connection(_)) => moved.push((row, error)),
                Err(error) => results[row] = Some(Err(error.to_failure())),
            }
        }
        let calls = servers.iter().map(|(server, regions)| self.call(server, regions, rows));
        for (answer, (_, regions)) in join_all(calls).await.into_iter().zip(&servers) {
            match answer {
                Ok(response) => self.take(response, regions, results, &mut moved),
                Err(error) => {
                    let again = looks_again(&error);
                    for (region, rows) in regions {
                        if again {
                            self.cluster.forget(region);
                        }
                        for row in rows.iter().copied() {
                            match again {
                                true => moved.push((row, error.clone())),
                                false => results[row] = Some(Err(error.to_failure())),
                            }
                        }
                    }
                }
            }
        }
        moved
    }

    async fn call(&self, server: &Host, regions: &RegionRows, rows: &[Bytes]) -> Result<MultiResponse, CallError> {
        let columns = self.columns.request();
        let get = |row: usize| Get { row: rows[row].clone(), column: columns.clone() };
        let region_action = (regions.iter())
            .map(|(region, rows)| RegionAction {
                region: Region::specifier(region.name.clone()),
                action: (0..)
                    .zip(rows)
                    .map(|(index, row)| Action { index: Some(index), get: Some(get(*row)) })
                    .collect(),
            })
            .collect();
        let connection = self.cluster.connection(server, "ClientService").await?;
        connection.call("Multi", &MultiRequest { region_action }, self.cluster.call_timeout).await
    }

    fn take(
        &self,
        response: MultiResponse,
        regions: &RegionRows,
        results: &mut [Option<Result<Rows, LookupError>>],
        moved: &mut Vec<(usize, CallError)>,
    ) {
        for (answer, (region, rows)) in response.region_action_result.into_iter().zip(regions) {
            let mut failed = |row: usize, error: CallError, results: &mut [Option<Result<Rows, LookupError>>]| {
                if looks_again(&error) {
                    self.cluster.forget(region);
                    moved.push((row, error));
                } else {
                    results[row] = Some(Err(error.to_failure()));
                }
            };
            if let Some(exception) = answer.exception {
                let error = CallError::exception(&exception.name, &String::from_utf8_lossy(&exception.value));
                for row in rows.iter().copied() {
                    failed(row, error.clone(), results);
                }
                continue;
            }
            for one in answer.result_or_exception {
                let Some(row) = rows.get(one.index as usize).copied() else { continue };
                match (one.exception, one.result) {
                    (Some(exception), _) => {
                        failed(
                            row,
                            CallError::exception(&exception.name, &String::from_utf8_lossy(&exception.value)),
                            results,
                        );
                    }
                    (None, Some(found)) if !found.cell.is_empty() => {
                        results[row] = Some(self.columns.row(&found.cell).map(Rows::One));
                    }
                    (None, _) => results[row] = Some(Ok(Rows::None)),
                }
            }
        }
    }
}

/// Whether the region is elsewhere by now, or its server gone.
fn looks_again(error: &CallError) -> bool {
    match error {
        CallError::Connection(_) => true,
        CallError::Malformed(_) => false,
        CallError::Exception { class, .. } => matches!(
            class.as_str(),
            "NotServingRegionException"
                | "RegionMovedException"
                | "RegionOpeningException"
                | "WrongRegionException"
                | "RegionServerStoppedException"
                | "RegionServerAbortedException"
                | "ServerNotRunningYetException"
        ),
    }
}

impl Backend for HBase {
    fn find<'a>(&'a self, keys: Vec<Bytes>, _room: &'a Reservation) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            let asked = Asked::new(&keys, |key| self.row_key(key));
            let found = if asked.keys.is_empty() { Vec::new() } else { self.gets(&asked.keys).await };
            asked.spread(found)
        })
    }

    fn columns(&self) -> Option<&[String]> {
        self.names.as_deref()
    }
}
