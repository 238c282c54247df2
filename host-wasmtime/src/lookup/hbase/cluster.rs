//! Which server holds which region of a table.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use prost::Message;

use super::{
    connection::{CallError, Connection},
    messages::{
        Column, GetMetaRegionLocationsRequest, GetMetaRegionLocationsResponse, RegionInfo, RegionSpecifier, Scan,
        ScanRequest, ScanResponse,
    },
};
use crate::lookup::address::Host;

/// A region and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) name: Bytes,
    start: Bytes,
    /// Empty for the last one.
    end: Bytes,
    pub(super) server: Host,
}

impl Region {
    fn holds(&self, row: &[u8]) -> bool {
        *self.start <= *row && (self.end.is_empty() || *row < *self.end)
    }

    /// How a request names it.
    pub(super) fn specifier(name: Bytes) -> RegionSpecifier {
        RegionSpecifier { kind: 1, value: name }
    }
}

/// Where the connection to a service of a server is, once there is one; locked while it is opened.
type Place = Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>;

/// The servers of a cluster, and the regions of one table as far as they were asked for.
#[derive(Debug)]
pub(super) struct Cluster {
    /// Masters or region servers that tell where the table of regions is.
    registry: Vec<Host>,
    table: String,
    user: String,
    connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    /// By their first rows.
    regions: Mutex<BTreeMap<Bytes, Region>>,
    connections: Mutex<HashMap<(Host, &'static str), Place>>,
}

impl Cluster {
    pub(super) fn new(
        registry: Vec<Host>,
        table: String,
        user: String,
        connect_timeout: Duration,
        call_timeout: Duration,
    ) -> Self {
        Self {
            registry,
            table,
            user,
            connect_timeout,
            call_timeout,
            regions: Mutex::default(),
            connections: Mutex::default(),
        }
    }

    /// The connection to a server's `service`, opened where there is none.
    pub(super) async fn connection(&self, host: &Host, service: &'static str) -> Result<Arc<Connection>, CallError> {
        let place = {
            let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(connections.entry((host.clone(), service)).or_default())
        };
        let mut connection = place.lock().await;
        match connection.as_ref().filter(|connection| connection.is_open()) {
            Some(connection) => Ok(Arc::clone(connection)),
            None => {
                let opened = Arc::new(Connection::open(host, service, &self.user, self.connect_timeout).await?);
                Ok(Arc::clone(connection.insert(opened)))
            }
        }
    }

    /// The region that holds `row`; none where there is no such table.
    pub(super) async fn region(&self, row: &[u8]) -> Result<Option<Region>, CallError> {
        if let Some(region) = self.known(row) {
            return Ok(Some(region));
        }
        let Some(region) = self.find(row).await? else { return Ok(None) };
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        regions.insert(region.start.clone(), region.clone());
        Ok(Some(region))
    }

    fn known(&self, row: &[u8]) -> Option<Region> {
        let regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, region) =
            regions.range::<[u8], _>((std::ops::Bound::Unbounded, std::ops::Bound::Included(row))).next_back()?;
        region.holds(row).then(|| region.clone())
    }

    /// Has a region looked up again: it was moved, split, or its server is gone.
    pub(super) fn forget(&self, region: &Region) {
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        if regions.get(&region.start).is_some_and(|known| known == region) {
            regions.remove(&region.start);
        }
    }

    /// Asks the table of regions, whose rows are `TABLE,FIRST ROW,TIME.HASH.`
    async fn find(&self, row: &[u8]) -> Result<Option<Region>, CallError> {
        let prefix = format!("{},", self.table);
        // Of the regions that begin at or before the row, the last one: the time is later than any.
        let start_row = [prefix.as_bytes(), row, b",99999999999999"].concat().into();
        let column = vec![Column { family: Bytes::from_static(b"info"), qualifier: Vec::new() }];
        let request = ScanRequest {
            region: Some(Region::specifier(Bytes::from_static(b"hbase:meta,,1"))),
            scan: Some(Scan { column, start_row, reversed: true }),
            number_of_rows: 1,
            close_scanner: true,
        };
        let server = self.meta_server().await?;
        let connection = self.connection(&server, "ClientService").await?;
        let found: ScanResponse = connection.call("Scan", &request, self.call_timeout).await?;
        let Some(result) = found.results.into_iter().next().filter(|result| !result.cell.is_empty()) else {
            return Ok(None);
        };
        let name = result.cell[0].row.clone();
        if !name.starts_with(prefix.as_bytes()) {
            return Ok(None);
        }
        let value = |qualifier: &[u8]| {
            result.cell.iter().find(|cell| cell.qualifier == qualifier).map(|cell| cell.value.clone())
        };
        let missing = |what: &str| CallError::Malformed(format!("the region {} has no {what}", name.escape_ascii()));
        let info = value(b"regioninfo").ok_or_else(|| missing("description"))?;
        let info = info.strip_prefix(b"PBUF").ok_or_else(|| missing("readable description"))?;
        let info = RegionInfo::decode(info).map_err(|error| CallError::Malformed(error.to_string()))?;
        // Between two servers, a region has none.
        let server = value(b"server").filter(|server| !server.is_empty() && !info.offline);
        let server = server
            .ok_or_else(|| CallError::Connection(format!("the region {} is at no server now", name.escape_ascii())))?;
        let server = String::from_utf8_lossy(&server).into_owned();
        let (host, port) = server.rsplit_once(':').ok_or_else(|| missing("server with a port"))?;
        let port = port.parse().map_err(|_| missing("server with a port"))?;
        Ok(Some(Region {
            name,
            start: info.start_key,
            end: info.end_key,
            server: Host { name: host.to_owned(), port },
        }))
    }

    /// The server of the table of regions, from the first of the registry's that answers.
    async fn meta_server(&self) -> Result<Host, CallError> {
        let mut failure = CallError::Connection("no server is known".into());
        for host in &self.registry {
            let asked = async {
                let connection = self.connection(host, "ClientMetaService").await?;
                connection
                    .call::<GetMetaRegionLocationsResponse>(
                        "GetMetaRegionLocations",
                        &GetMetaRegionLocationsRequest {},
                        self.call_timeout,
                    )
                    .await
            };
            match asked.await {
                Ok(locations) => {
                    let server = locations.meta_locations.into_iter().find_map(|location| location.server_name);
                    if let Some(server) = server {
                        return Ok(Host {
                            name: server.host_name,
                            port: u16::try_from(server.port).unwrap_or_default(),
                        });
                    }
                    failure = CallError::Connection(format!("{host} does not know where the regions are"));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}
