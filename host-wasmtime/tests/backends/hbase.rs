//! HBase.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lookaside::lookup::{KeyValue, OpenError};

use crate::{
    contract::{self, Contract, by_address, find, open, refused, table},
    servers::Server,
};

/// The longest row that HBase takes.
const LONGEST: usize = 32_767;

fn holds(key: &str) -> bool {
    !key.is_empty() && key.len() <= LONGEST
}

fn create(server: &Server, name: &str) {
    server.script(&["create-table", &server.port().to_string(), name, "cf"]);
}

/// Puts cells: row, qualifier and value of each.
async fn put(server: &Server, name: &str, cells: &[(String, &str, Vec<u8>)]) {
    for cells in cells.chunks(2_000) {
        let rows: Vec<serde_json::Value> = cells
            .iter()
            .map(|(row, qualifier, value)| {
                let column = STANDARD.encode(format!("cf:{qualifier}"));
                serde_json::json!({ "key": STANDARD.encode(row), "Cell": [{ "column": column, "$": STANDARD.encode(value) }] })
            })
            .collect();
        let url = format!("{}/{name}/many-rows", server.address("HBASE_REST"));
        let body = serde_json::json!({ "Row": rows }).to_string();
        let response = client().put(url).header("content-type", "application/json").body(body).send().await.unwrap();
        assert!(response.status().is_success(), "{}", response.text().await.unwrap());
    }
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

async fn contract(server: &Server, name: &str) -> Contract {
    create(server, name);
    let cells: Vec<_> = contract::rows()
        .into_iter()
        .filter(|(key, _)| holds(key))
        .map(|(key, value)| (key, "v", value.into_bytes()))
        .collect();
    put(server, name, &cells).await;
    Contract {
        address: format!("hbase://{}/{name}", server.address("HBASE_REGIONSERVER")),
        selection: by_address(1),
        field: "cf:v",
        holds,
    }
}

fn text(text: &str) -> [KeyValue; 1] {
    [KeyValue::Text(text.into())]
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_keep_the_contract() {
    let server = Server::shared("hbase");
    let contract = contract(&server, "contract").await;
    contract.holds().await;
    let chosen = Contract {
        address: format!("{}?columns=cf:v:text,cf:none&batch=13&concurrency=3", contract.address),
        ..contract
    };
    // The places of a backend are freed once nobody has it open.
    chosen.holds().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_type_has_its_json() {
    let server = Server::shared("hbase");
    create(&server, "types");
    let cell = |qualifier: &'static str, value: &[u8]| ("row".to_owned(), qualifier, value.to_vec());
    put(
        &server,
        "types",
        &[
            cell("i", &(-7_i32).to_be_bytes()),
            cell("l", &i64::MAX.to_be_bytes()),
            cell("d", &0.1_f64.to_be_bytes()),
            cell("b", &[255]),
            cell("t", "é\"".as_bytes()),
            cell("j", b"{ \"a\": 1.10 }"),
            cell("x", &[0, 255]),
            cell("a:b", b"7"),
        ],
    )
    .await;
    let address = format!("hbase://{}/types", server.address("HBASE_REGIONSERVER"));
    let row = async |columns: &str| {
        let provider = open(&format!("{address}?columns={columns}"), &by_address(1)).await;
        find(&provider, &text("row")).await.map(|mut rows| rows.remove(0))
    };
    assert_eq!(
        row("cf:i:int32,cf:l:int64,cf:d:float64,cf:b:boolean,cf:t,cf:j:json,cf:x:base64,cf:a:b:text,cf:none")
            .await
            .unwrap(),
        r#"{"cf:i":-7,"cf:l":9223372036854775807,"cf:d":0.1,"cf:b":true,"cf:t":"é\"","cf:j":{ "a": 1.10 },"cf:x":"AP8=","cf:a:b":"7","cf:none":null}"#
    );
    assert!(row("cf").await.unwrap().contains(r#""cf:x":"AP8=""#));
    assert!(row("cf:t:json").await.unwrap_err().contains("cf:t: the value is no JSON"));
    assert!(row("cf:i:int64").await.unwrap_err().contains("cf:i: the value has 4 bytes"));
    let provider = open(&format!("{address}?row=r{{key.2}}{{key.1}}&value=base64"), &by_address(2)).await;
    assert!(
        find(&provider, &[KeyValue::Text("w".into()), KeyValue::Text("o".into())]).await.unwrap()[0]
            .contains("\"cf:t\":\"w6ki\"")
    );
    let provider = open(&format!("{address}?row-bytes=base64&columns=cf:t"), &by_address(1)).await;
    assert_eq!(find(&provider, &text(&STANDARD.encode("row"))).await.unwrap().len(), 1);
    assert!(find(&provider, &text("!")).await.unwrap_err().contains("the row is no base64"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_region_is_looked_up_again() {
    let server = Server::shared("hbase");
    // What was divided stays so; each run has a table of its own.
    let name = &format!("divided-{}", std::process::id());
    create(&server, name);
    let keys: Vec<String> = (0..2_000).map(|number| format!("{number:05}")).collect();
    let cells: Vec<_> = keys.iter().map(|key| (key.clone(), "v", key.clone().into_bytes())).collect();
    put(&server, name, &cells).await;
    let address = format!("hbase://{}/{name}", server.address("HBASE_REGIONSERVER"));
    let provider = open(&address, &by_address(1)).await;
    let all = async || {
        let asked = keys.iter().map(|key| contract::text_key(key)).collect();
        let joined = contract::ask(provider.clone(), &contract::options(), asked).await;
        for (key, joined) in keys.iter().zip(joined) {
            assert_eq!(contract::failure(&joined), None);
            assert_eq!(joined.rows.as_slice()[0], format!("{{\"cf:v\":\"{key}\"}}"));
        }
    };
    all().await;
    let before = regions(&server, name).await;
    server.script(&["split", &server.port().to_string(), name, "01000"]);
    // The old region answers until it is closed: all the while, every lookup finds its row.
    let begin = std::time::Instant::now();
    let mut after = before.clone();
    while after.len() < 2 || !after.is_disjoint(&before) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{before:?} was not split: {after:?}");
        all().await;
        after = regions(&server, name).await;
    }
    all().await;
}

async fn regions(server: &Server, name: &str) -> BTreeSet<String> {
    let url = format!("{}/{name}/regions", server.address("HBASE_REST"));
    let text = client().get(url).header("accept", "application/json").send().await.unwrap().text().await.unwrap();
    let regions: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    regions["Region"].as_array().unwrap().iter().map(|region| region["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stalls_dies_and_comes_back_is_waited_for() {
    let server = Arc::new(Server::own("hbase"));
    let contract = contract(&server, "contract").await;
    contract.is_slow(async { server.signal("-STOP") }, async { server.signal("-CONT") }).await;
    let (killed, started) = (server.clone(), server.clone());
    contract.dies_and_comes_back(move || killed.kill(), move || started.start()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_when_it_is_opened() {
    let server = Server::shared("hbase");
    create(&server, "present");
    let host = server.address("HBASE_REGIONSERVER");
    for (path, reason) in
        [("absent", "there is no such table"), ("present?columns=nothing:a", "Column family nothing does not exist")]
    {
        let error = refused(&format!("hbase://{host}/{path}"), &by_address(1)).await;
        assert!(matches!(error, OpenError::BadSelection { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    for (address, reason) in [
        (format!("hbase://{host}"), "names no table"),
        (format!("hbase://{host}/present?row=x"), "has no {key}"),
        (format!("hbase://{host}/present?columns=:a"), "has no family"),
    ] {
        let error = refused(&address, &by_address(1)).await;
        assert!(matches!(error, OpenError::BadAddress { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let error = refused(&format!("hbase://{host}/present"), &table("present", &["id"])).await;
    assert!(error.to_string().contains("the table stands in the address"), "{error}");
    let error = refused("hbase://127.0.0.1:1,127.0.0.1:2/present", &by_address(1)).await;
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    // One of several hosts is enough.
    open(&format!("hbase://127.0.0.1:1,{host}/present"), &by_address(1)).await;
}
