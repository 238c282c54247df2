//! Redis.

use std::time::Duration;

use lookaside::lookup::{KeyValue, OpenError};
use redis::{AsyncCommands, aio::MultiplexedConnection};

use crate::{
    contract::{self, Contract, by_address, find, open, refused},
    servers::Server,
};

async fn connect(address: &str) -> MultiplexedConnection {
    let client = redis::Client::open(address).unwrap();
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

/// Stores the contract's rows; each test has its own prefix.
async fn contract(server: &Server, prefix: &str) -> Contract {
    let address = server.address("REDIS_URL");
    let mut connection = connect(&address).await;
    let mut pipeline = redis::pipe();
    for (key, value) in contract::rows() {
        pipeline.set(format!("{prefix}{key}"), serde_json::json!({ "v": value }).to_string()).ignore();
    }
    let () = pipeline.query_async(&mut connection).await.unwrap();
    Contract {
        address: format!("{address}?key={prefix}{{key}}"),
        selection: by_address(1),
        field: "v",
        holds: |_| true,
    }
}

fn text(text: &str) -> [KeyValue; 1] {
    [KeyValue::Text(text.into())]
}

#[tokio::test(flavor = "multi_thread")]
async fn strings_keep_the_contract() {
    let server = Server::shared("redis");
    contract(&server, "contract:").await.holds().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hashes_keep_the_contract() {
    let server = Server::shared("redis");
    let address = server.address("REDIS_URL");
    let mut pipeline = redis::pipe();
    for (key, value) in contract::rows() {
        pipeline.hset(format!("hash:{key}"), "v", value).ignore();
    }
    let () = pipeline.query_async(&mut connect(&address).await).await.unwrap();
    for more in ["&type=hash", "&type=hash&fields=v,none&batch=7&connections=3"] {
        let contract = Contract {
            address: format!("{address}?key=hash:{{key}}{more}"),
            selection: by_address(1),
            field: "v",
            holds: |_| true,
        };
        contract.holds().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_times_out() {
    let server = Server::own("redis");
    let contract = contract(&server, "").await;
    contract.is_slow(async { server.signal("-STOP") }, async { server.signal("-CONT") }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_waited_for() {
    let server = std::sync::Arc::new(Server::own("redis"));
    let contract = contract(&server, "").await;
    // What was written is on the disk once a second.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let (killed, started) = (server.clone(), server.clone());
    contract.dies_and_comes_back(move || killed.kill(), move || started.start()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn types_of_values() {
    let server = Server::shared("redis");
    let address = server.address("REDIS_URL");
    let mut connection = connect(&address).await;
    let values: &[(&str, &[u8])] = &[
        ("json", b"{ \"n\": 9007199254740993,\n \"d\": 1.10}"),
        ("number", b"9223372036854775808"),
        ("text", b"caf\xc3\xa9 \"x\""),
        ("padded", b"007"),
        ("binary", b"\x00\xff"),
        ("empty", b""),
    ];
    for (name, value) in values {
        let () = connection.set(format!("types:{name}"), *value).await.unwrap();
    }
    let row = async |encoding: &str, name: &str| {
        let provider = open(&format!("{address}?key=types:{{key}}&value={encoding}"), &by_address(1)).await;
        find(&provider, &text(name)).await.map(|mut rows| rows.remove(0))
    };
    for (name, auto, as_text, base64) in [
        (
            "json",
            r#"{"n":9007199254740993,"d":1.10}"#,
            Some(r#""{ \"n\": 9007199254740993,\n \"d\": 1.10}""#),
            "eyAibiI6IDkwMDcxOTkyNTQ3NDA5OTMsCiAiZCI6IDEuMTB9",
        ),
        ("number", "9223372036854775808", Some(r#""9223372036854775808""#), "OTIyMzM3MjAzNjg1NDc3NTgwOA=="),
        ("text", r#""café \"x\"""#, Some(r#""café \"x\"""#), "Y2Fmw6kgIngi"),
        ("padded", r#""007""#, Some(r#""007""#), "MDA3"),
        ("binary", r#""AP8=""#, None, "AP8="),
        ("empty", r#""""#, Some(r#""""#), ""),
    ] {
        assert_eq!(row("auto", name).await.unwrap(), auto);
        assert_eq!(row("text", name).await.ok().as_deref(), as_text);
        assert_eq!(row("base64", name).await.unwrap(), format!("\"{base64}\""));
    }
    let error = row("json", "text").await.unwrap_err();
    assert!(error.contains("the value is no JSON") && error.starts_with(&address), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_made_of_several_values() {
    let server = Server::shared("redis");
    let address = server.address("REDIS_URL");
    let mut connection = connect(&address).await;
    let () = connection.set("pair:7:true:x", "1").await.unwrap();
    let provider = open(&format!("{address}?key=pair:{{key.2}}:{{key.3}}:{{key.1}}"), &by_address(3)).await;
    let key = [KeyValue::Text("x".into()), KeyValue::Number("7".into()), KeyValue::Boolean(true)];
    assert_eq!(find(&provider, &key).await.unwrap(), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_otherwise_fails_alone() {
    let server = Server::shared("redis");
    let address = server.address("REDIS_URL");
    let mut connection = connect(&address).await;
    let () = connection.set("mixed:string", "{}").await.unwrap();
    let () = connection.hset("mixed:hash", "a", 1).await.unwrap();
    let provider = open(&format!("{address}?key=mixed:{{key}}&type=hash"), &by_address(1)).await;
    let keys = ["string", "hash", "none"].map(contract::text_key).to_vec();
    let joined = contract::ask(provider, &contract::options(), keys).await;
    assert!(contract::failure(&joined[0]).unwrap().1.contains("WRONGTYPE"), "{joined:?}");
    assert_eq!(joined[1].rows.as_slice()[0], r#"{"a":1}"#);
    assert!(joined[2].rows.as_slice().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_in_is_told_so_without_the_password() {
    let server = Server::shared("redis");
    let address = server.address("REDIS_URL");
    let mut connection = connect(&address).await;
    let mut command = redis::cmd("ACL");
    let () = command
        .arg(&["SETUSER", "reader", "on", ">right", "~*", "+@read", "+@connection"])
        .query_async(&mut connection)
        .await
        .unwrap();
    let host = address.strip_prefix("redis://").unwrap();
    open(&format!("redis://reader:right@{host}"), &by_address(1)).await;
    let error = refused(&format!("redis://reader:wrong-secret@{host}"), &by_address(1)).await;
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    assert!(
        error.to_string().contains("AuthenticationFailed") && !error.to_string().contains("wrong-secret"),
        "{error}"
    );
    let error = refused("redis://127.0.0.1:1", &by_address(1)).await;
    assert!(error.to_string().starts_with("cannot use redis://127.0.0.1:1"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_asked_at_all_its_nodes() {
    let nodes: Vec<Server> =
        (0..3).map(|_| Server::own_with("redis", "--cluster-enabled yes --cluster-announce-ip 127.0.0.1")).collect();
    let hosts: Vec<String> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    let create = std::process::Command::new("redis-cli")
        .args(["--cluster", "create"])
        .args(&hosts)
        .args(["--cluster-yes", "--cluster-replicas", "0"])
        .output()
        .unwrap();
    assert!(create.status.success(), "{}", String::from_utf8_lossy(&create.stdout));
    let client = redis::cluster::ClusterClient::new(hosts.iter().map(|host| format!("redis://{host}"))).unwrap();
    let mut connection = client.get_async_connection().await.unwrap();
    for number in 0..300 {
        let () = connection.set(format!("string:k{number}"), number).await.unwrap();
        let () = connection.hset(format!("hash:k{number}"), "n", number).await.unwrap();
    }
    let keys = || (0..310).map(|number| contract::text_key(&format!("k{number}"))).collect::<Vec<_>>();
    for (kind, row) in [("string", "N"), ("hash&type=hash", r#"{"n":N}"#)] {
        let (prefix, settings) = kind.split_once('&').unwrap_or((kind, ""));
        let address = format!("redis://{}?cluster=true&key={prefix}:{{key}}&{settings}", hosts[1]);
        let joined = contract::ask(open(&address, &by_address(1)).await, &contract::options(), keys()).await;
        for (number, joined) in joined.iter().enumerate() {
            assert_eq!(contract::failure(joined), None);
            let expected: &[String] = if number < 300 { &[row.replace('N', &number.to_string())] } else { &[] };
            assert_eq!(joined.rows.as_slice(), expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_connection_checks_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = crate::servers::certificate(folder.path());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options = format!(
        "--tls-port {port} --tls-cert-file {certificate} --tls-key-file {key} --tls-ca-cert-file {certificate} --tls-auth-clients no"
    );
    let server = Server::own_with("redis", &options);
    let () = connect(&server.address("REDIS_URL")).await.set("a", "1").await.unwrap();
    let provider = open(&format!("rediss://localhost:{port}?tls-ca={certificate}"), &by_address(1)).await;
    assert_eq!(find(&provider, &text("a")).await.unwrap(), ["1"]);
    let error = refused(&format!("rediss://localhost:{port}"), &by_address(1)).await;
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_make_no_sense_are_refused() {
    for (address, reason) in [
        ("redis://127.0.0.1?key=users", "has no {key}"),
        ("redis://127.0.0.1?fields=a", "add type=hash"),
        ("redis://127.0.0.1?value=xml", "choose one of auto, json, text, base64"),
        ("redis://127.0.0.1/users", "no number of a database"),
        ("redis://127.0.0.1?tls-ca=x", "is for rediss://"),
        ("redis://a,b", "add cluster=true"),
        ("redis://127.0.0.1?batch=0", "no number from 1"),
        ("redis://:${env:LOOKASIDE_NOT_SET}@127.0.0.1", "no variable LOOKASIDE_NOT_SET"),
    ] {
        let error = refused(address, &by_address(1)).await;
        assert!(matches!(error, OpenError::BadAddress { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let error = refused("redis://127.0.0.1", &contract::table("users", &["id"])).await;
    assert!(error.to_string().contains("neither tables nor queries"), "{error}");
}
