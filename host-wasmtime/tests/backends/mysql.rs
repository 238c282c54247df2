//! MySQL, as MariaDB speaks it.

use lookaside::lookup::{KeyValue, OpenError};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};

use crate::{
    contract::{self, Contract, find, open, query, refused, table},
    servers::Server,
};

async fn run(address: &str, sql: &str) {
    let mut connection = MySqlConnection::connect(address).await.unwrap();
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
}

async fn contract(server: &Server, name: &str) -> Contract {
    let address = server.address("MYSQL_URL");
    let columns =
        "k longtext character set utf8mb4 collate utf8mb4_nopad_bin, v text character set utf8mb4, index (k(50))";
    run(&address, &format!("drop table if exists {name}; create table {name} ({columns})")).await;
    let mut connection = MySqlConnection::connect(&address).await.unwrap();
    for rows in contract::rows().chunks(2_000) {
        let places = vec!["(?, ?)"; rows.len()].join(", ");
        let insert = format!("insert into {name} values {places}");
        let mut insert = sqlx::query(AssertSqlSafe(insert));
        for (key, value) in rows {
            insert = insert.bind(key).bind(value);
        }
        insert.execute(&mut connection).await.unwrap();
    }
    Contract { address, selection: table(name, &["k"]), field: "v", holds: |_| true }
}

fn text(text: &str) -> KeyValue {
    KeyValue::Text(text.into())
}

fn number(number: &str) -> KeyValue {
    KeyValue::Number(number.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_queries_keep_the_contract() {
    let server = Server::shared("mysql");
    let contract = contract(&server, "contract").await;
    contract.holds().await;
    let by_query = Contract { selection: query("select v from contract where k = ?;", 1), ..contract };
    by_query.holds().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_times_out() {
    let server = Server::shared("mysql");
    let contract = contract(&server, "slow").await;
    let mut locking = MySqlConnection::connect(&contract.address).await.unwrap();
    let mut unlocking = MySqlConnection::connect(&contract.address).await.unwrap();
    let id: u64 = sqlx::query_scalar("select connection_id()").fetch_one(&mut locking).await.unwrap();
    contract
        .is_slow(
            async {
                locking.execute("lock tables slow write").await.unwrap();
            },
            async {
                unlocking.execute(sqlx::raw_sql(AssertSqlSafe(format!("kill {id}")))).await.unwrap();
            },
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_waited_for() {
    let server = std::sync::Arc::new(Server::own("mysql"));
    let contract = contract(&server, "contract").await;
    let contract = Contract { address: format!("{}?connect-timeout=1s", contract.address), ..contract };
    let (killed, started) = (server.clone(), server.clone());
    contract.dies_and_comes_back(move || killed.kill(), move || started.start()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_type_has_its_json() {
    let server = Server::shared("mysql");
    let address = server.address("MYSQL_URL");
    run(
        &address,
        r#"drop table if exists types;
         create table types (id int primary key, b boolean, b2 tinyint(1), ti tinyint, s smallint unsigned, m mediumint, l bigint, lu bigint unsigned,
           n decimal(40,10), r float, d double, bits bit(12), c char(5), vc varchar(10) collate utf8mb4_bin, t text, vb varbinary(10), bl blob,
           dt date, ti2 time, ts datetime(3), tz timestamp null, y year, j json, e enum('sad', 'it''s'), st set('a', 'b'), empty text);
         insert into types values (1, true, 7, -128, 65535, -8388608, 9223372036854775807, 18446744073709551615,
           12345678901234567890.0000000001, 0.1, 0.1, b'101', 'ab', 'vär', 'line
"q"', x'00ff', x'00ff', '2024-02-29', '-12:30:00', '2024-02-29 12:30:00.125', '2024-02-29 12:30:00', 2024,
           '{ "a": 1.10 }', 'it''s', 'a,b', null)"#,
    )
    .await;
    let provider = open(&format!("{address}?json=j"), &table("types", &["id"])).await;
    let row = find(&provider, &[number("1")]).await.unwrap().remove(0);
    let expected = concat!(
        r#"{"id":1,"b":true,"b2":7,"ti":-128,"s":65535,"m":-8388608,"l":9223372036854775807,"lu":18446744073709551615,"#,
        r#""n":"12345678901234567890.0000000001","r":0.1,"d":0.1,"bits":5,"c":"ab","vc":"vär","t":"line\n\"q\"","vb":"AP8=","bl":"AP8=","#,
        r#""dt":"2024-02-29","ti2":"-12:30:00","ts":"2024-02-29T12:30:00.125","tz":"2024-02-29T12:30:00Z","y":2024,"#,
        r#""j":{ "a": 1.10 },"e":"it's","st":"a,b","empty":null}"#,
    );
    assert_eq!(row, expected);
    let plain = open(&address, &query("select j from types where id = ?", 1)).await;
    assert_eq!(find(&plain, &[number("1")]).await.unwrap(), [r#"{"j":"{ \"a\": 1.10 }"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_compared_by_the_databases_own_equality() {
    let server = Server::shared("mysql");
    let address = server.address("MYSQL_URL");
    run(
        &address,
        "drop table if exists equality;
         create table equality (i int, lu bigint unsigned, n decimal(10,2), d double, ci varchar(5) collate utf8mb4_general_ci,
           latin varchar(5) character set latin1, bin varbinary(5), dt date, ts datetime(3), e enum('sad', 'glad'), index (ci), index (i));
         insert into equality values (7, 18446744073709551615, 1.50, 0.5, 'Abcde', 'é', 'ab', '2024-02-29', '2024-02-29 12:30:00.125', 'glad')",
    )
    .await;
    for (column, key, found) in [
        ("i", number("7"), Ok(1)),
        ("i", text("7"), Ok(1)),
        ("i", number("7.5"), Ok(0)),
        ("i", number("99999999999"), Ok(0)),
        ("i", text("7x"), Err("\"7x\" is no whole number")),
        ("i", text("é"), Err("is no whole number")),
        ("lu", number("18446744073709551615"), Ok(1)),
        ("lu", number("-1"), Ok(0)),
        ("n", number("1.5"), Ok(1)),
        ("n", number("1.501"), Ok(0)),
        ("n", text("x"), Err("is no decimal")),
        ("d", number("0.5"), Ok(1)),
        ("d", number("5e-1"), Ok(1)),
        ("ci", text("aBCDE"), Ok(1)),
        ("ci", text("Abcdef"), Ok(0)),
        ("ci", text("Abcde "), Ok(1)),
        ("latin", text("é"), Ok(1)),
        ("bin", text("ab"), Ok(1)),
        ("bin", text("AB"), Ok(0)),
        ("dt", text("2024-02-29"), Ok(1)),
        ("dt", text("2024-02-29T12:00:00"), Ok(0)),
        ("dt", text("2023-02-29"), Err("is no date or time")),
        ("ts", text("2024-02-29T14:30:00.125+02:00"), Ok(1)),
        ("e", text("glad"), Ok(1)),
        ("i", KeyValue::Boolean(true), Ok(0)),
    ] {
        let provider = open(&address, &table("equality", &[column])).await;
        match (find(&provider, std::slice::from_ref(&key)).await, found) {
            (Ok(rows), Ok(expected)) => assert_eq!(rows.len(), expected, "{column} {key}"),
            (Err(message), Err(expected)) => assert!(message.contains(expected), "{column} {key}: {message}"),
            (result, _) => panic!("{column} {key}: {result:?}"),
        }
    }
    let provider = open(&address, &table("project.equality", &["i", "CI"])).await;
    assert_eq!(find(&provider, &[number("7"), text("abcde")]).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_have_many_rows_several_values_and_limits() {
    let server = Server::shared("mysql");
    let address = server.address("MYSQL_URL");
    run(&address, "drop table if exists parts; create table parts (item int, part varchar(9)); insert into parts select 1, concat('p', seq) from seq_1_to_20").await;
    let provider = open(
        &address,
        &query("select part, '?' as q from parts where item = ? and part > ? order by part limit 3 -- ?", 2),
    )
    .await;
    let rows = find(&provider, &[number("1"), text("p1")]).await.unwrap();
    assert_eq!(rows, [r#"{"part":"p10","q":"?"}"#, r#"{"part":"p11","q":"?"}"#, r#"{"part":"p12","q":"?"}"#]);
    assert_eq!(provider.columns().unwrap(), ["part", "q"]);

    let limited = |more: &str| format!("{address}?max-rows=5{more}");
    let error = find(&open(&limited(""), &table("parts", &["item"])).await, &[number("1")]).await.unwrap_err();
    assert!(error.contains("over max-rows=5"), "{error}");
    let cut = open(&limited("&over-limit=cut"), &table("parts", &["item"])).await;
    assert_eq!(find(&cut, &[number("1")]).await.unwrap().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_when_it_is_opened() {
    let server = Server::shared("mysql");
    let address = server.address("MYSQL_URL");
    run(&address, "create table if not exists present (id int, v text)").await;
    for (selection, reason) in [
        (table("absent", &["id"]), "absent' doesn't exist"),
        (table("present", &["nothing"]), "there is no column nothing; there are id, v"),
        (query("select 1", 1), "the query has 0 parameters and the key has 1 values"),
        (query("select v, v from present where id = ?", 1), "two columns are called v"),
        (query("selec 1", 1), "error in your SQL syntax"),
        (query("delete from present where id = ?", 1), "READ ONLY transaction"),
    ] {
        let error = refused(&address, &selection).await;
        assert!(matches!(error, OpenError::BadSelection { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let host = address.rsplit_once('@').unwrap().1;
    let error = refused(&format!("mysql://project:wrong-secret@{host}"), &table("present", &["id"])).await;
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("Access denied") && !error.to_string().contains("secret"), "{error}");
    let error = refused(&format!("{address}?json=w"), &table("present", &["id"])).await;
    assert!(error.to_string().contains("json=w: there is no such column; there are id, v"), "{error}");
}
