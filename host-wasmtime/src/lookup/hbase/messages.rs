//! The messages of HBase's RPC that lookups need, with the fields that they need.
//!
//! Names and numbers are those of `RPC.proto`, `Client.proto`, `HBase.proto` and `Registry.proto`.

use bytes::Bytes;
use prost::Message;

/// Who calls, and what is called; begins a connection.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ConnectionHeader {
    #[prost(message, optional, tag = "1")]
    pub(super) user_info: Option<UserInformation>,
    #[prost(string, tag = "2")]
    pub(super) service_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct UserInformation {
    #[prost(string, tag = "1")]
    pub(super) effective_user: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestHeader {
    #[prost(uint32, optional, tag = "1")]
    pub(super) call_id: Option<u32>,
    #[prost(string, tag = "3")]
    pub(super) method_name: String,
    #[prost(bool, tag = "4")]
    pub(super) request_param: bool,
    /// Milliseconds after which the server need not answer.
    #[prost(uint32, tag = "7")]
    pub(super) timeout: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseHeader {
    #[prost(uint32, tag = "1")]
    pub(super) call_id: u32,
    #[prost(message, optional, tag = "2")]
    pub(super) exception: Option<ExceptionResponse>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExceptionResponse {
    #[prost(string, tag = "1")]
    pub(super) class: String,
    #[prost(string, tag = "2")]
    pub(super) stack: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionSpecifier {
    /// 1: by its name.
    #[prost(int32, required, tag = "1")]
    pub(super) kind: i32,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub(super) value: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Column {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(super) family: Bytes,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(super) qualifier: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Get {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(super) row: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub(super) column: Vec<Column>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MultiRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) region_action: Vec<RegionAction>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionAction {
    #[prost(message, required, tag = "1")]
    pub(super) region: RegionSpecifier,
    #[prost(message, repeated, tag = "3")]
    pub(super) action: Vec<Action>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Action {
    #[prost(uint32, optional, tag = "1")]
    pub(super) index: Option<u32>,
    #[prost(message, optional, tag = "3")]
    pub(super) get: Option<Get>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MultiResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) region_action_result: Vec<RegionActionResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionActionResult {
    #[prost(message, repeated, tag = "1")]
    pub(super) result_or_exception: Vec<ResultOrException>,
    #[prost(message, optional, tag = "2")]
    pub(super) exception: Option<NameBytesPair>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResultOrException {
    #[prost(uint32, tag = "1")]
    pub(super) index: u32,
    #[prost(message, optional, tag = "2")]
    pub(super) result: Option<RowResult>,
    #[prost(message, optional, tag = "3")]
    pub(super) exception: Option<NameBytesPair>,
}

/// An exception's class, and its text.
#[derive(Clone, PartialEq, Message)]
pub(super) struct NameBytesPair {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: Bytes,
}

/// What was found in one row.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RowResult {
    #[prost(message, repeated, tag = "1")]
    pub(super) cell: Vec<Cell>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Cell {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) row: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) family: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) qualifier: Bytes,
    #[prost(bytes = "bytes", tag = "6")]
    pub(super) value: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScanRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) region: Option<RegionSpecifier>,
    #[prost(message, optional, tag = "2")]
    pub(super) scan: Option<Scan>,
    #[prost(uint32, tag = "4")]
    pub(super) number_of_rows: u32,
    #[prost(bool, tag = "5")]
    pub(super) close_scanner: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Scan {
    #[prost(message, repeated, tag = "1")]
    pub(super) column: Vec<Column>,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) start_row: Bytes,
    #[prost(bool, tag = "15")]
    pub(super) reversed: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScanResponse {
    #[prost(message, repeated, tag = "5")]
    pub(super) results: Vec<RowResult>,
}

/// A region, as the table of regions describes it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionInfo {
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) start_key: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    pub(super) end_key: Bytes,
    #[prost(bool, tag = "5")]
    pub(super) offline: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GetMetaRegionLocationsRequest {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GetMetaRegionLocationsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) meta_locations: Vec<RegionLocation>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionLocation {
    #[prost(message, optional, tag = "2")]
    pub(super) server_name: Option<ServerName>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ServerName {
    #[prost(string, tag = "1")]
    pub(super) host_name: String,
    #[prost(uint32, tag = "2")]
    pub(super) port: u32,
}
