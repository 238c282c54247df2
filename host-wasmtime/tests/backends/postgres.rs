//! PostgreSQL.

use lookaside::{
    Outcome,
    lookup::{KeyValue, OpenError},
};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::{
    contract::{self, Contract, find, open, query, refused, table},
    servers::Server,
};

async fn run(address: &str, sql: &str) {
    let mut connection = PgConnection::connect(address).await.unwrap();
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
}

fn holds(key: &str) -> bool {
    !key.contains('\0')
}

async fn contract(server: &Server, name: &str) -> Contract {
    let address = server.address("POSTGRES_URL");
    run(
        &address,
        &format!(
            "drop table if exists {name}; create table {name} (k text, v text); create index on {name} using hash (k)"
        ),
    )
    .await;
    let (keys, values): (Vec<String>, Vec<String>) = contract::rows().into_iter().filter(|(key, _)| holds(key)).unzip();
    let mut connection = PgConnection::connect(&address).await.unwrap();
    let insert = format!("insert into {name} select * from unnest($1::text[], $2::text[])");
    sqlx::query(AssertSqlSafe(insert)).bind(keys).bind(values).execute(&mut connection).await.unwrap();
    Contract { address, selection: table(name, &["k"]), field: "v", holds }
}

fn text(text: &str) -> [KeyValue; 1] {
    [KeyValue::Text(text.into())]
}

fn number(number: &str) -> [KeyValue; 1] {
    [KeyValue::Number(number.into())]
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_queries_keep_the_contract() {
    let server = Server::shared("postgres");
    let contract = contract(&server, "contract").await;
    contract.holds().await;
    let by_query = Contract { selection: query("select v from contract where k = $1;", 1), ..contract };
    by_query.holds().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_times_out() {
    let server = Server::shared("postgres");
    let contract = contract(&server, "slow").await;
    let mut locking = PgConnection::connect(&contract.address).await.unwrap();
    let mut transaction = locking.begin().await.unwrap();
    contract
        .is_slow(
            async {
                transaction.execute("lock table slow in access exclusive mode").await.unwrap();
            },
            async {
                run(&server.address("POSTGRES_URL"), "select pg_terminate_backend(pid) from pg_locks join pg_class on pg_class.oid = relation where relname = 'slow' and mode = 'AccessExclusiveLock' and granted").await;
            },
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_waited_for() {
    let server = std::sync::Arc::new(Server::own("postgres"));
    let contract = contract(&server, "contract").await;
    let contract = Contract { address: format!("{}?connect-timeout=1s", contract.address), ..contract };
    let (killed, started) = (server.clone(), server.clone());
    contract.dies_and_comes_back(move || killed.kill(), move || started.start()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_type_has_its_json() {
    let server = Server::shared("postgres");
    let address = server.address("POSTGRES_URL");
    run(
        &address,
        "drop table if exists types; drop type if exists mood;
         create type mood as enum ('sad', 'it''s');
         create table types (id int primary key, b boolean, s smallint, i integer, l bigint, n numeric(40,10), big numeric, r real, d double precision,
           nan double precision, c char(5), vc varchar(10), t text, bin bytea, date date, time time, ts timestamp, tz timestamptz, iv interval,
           u uuid, j json, jb jsonb, ints int[], nums numeric[], m mood, ip inet, money money, empty text);
         insert into types values (1, true, -32768, 2147483647, 9223372036854775807, 12345678901234567890.0000000001, 1e30, 0.1, 0.1,
           'NaN', 'ab', 'vär', E'line\\n\"q\"', '\\x00ff', '2024-02-29', '12:30:00.5', '2024-02-29 12:30:00.123456', '2024-02-29 12:30:00+02', '1 day 2 hours',
           'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{ \"a\": 1.10,\n \"b\": [1] }', '{\"b\": 1}', '{1,null,3}', '{1.10}', 'it''s', '10.0.0.1/8', 1234.5, null)",
    )
    .await;
    let provider = open(&address, &table("types", &["id"])).await;
    let row = find(&provider, &number("1")).await.unwrap().remove(0);
    let expected = concat!(
        r#"{"id":1,"b":true,"s":-32768,"i":2147483647,"l":9223372036854775807,"n":"12345678901234567890.0000000001","#,
        r#""big":"1000000000000000000000000000000","r":0.1,"d":0.1,"nan":"NaN","c":"ab   ","vc":"vär","t":"line\n\"q\"","bin":"AP8=","#,
        r#""date":"2024-02-29","time":"12:30:00.5","ts":"2024-02-29T12:30:00.123456","tz":"2024-02-29T10:30:00+00:00","iv":"P1DT2H","#,
        r#""u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","j":{"a":1.10,"b":[1]},"jb":{"b":1},"ints":[1,null,3],"nums":[1.10],"#,
        r#""m":"it's","ip":"10.0.0.1/8","money":"$1,234.50","empty":null}"#,
    );
    assert_eq!(row.replace("\"jb\":{\"b\": 1}", "\"jb\":{\"b\":1}"), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_compared_by_the_databases_own_equality() {
    let server = Server::shared("postgres");
    let address = server.address("POSTGRES_URL");
    run(
        &address,
        "drop table if exists equality; create table equality (i int, n numeric(10,2), c char(5), u uuid, d date, b boolean, v text);
         insert into equality values (7, 1.50, 'ab', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2024-02-29', true, 'x')",
    )
    .await;
    let by = async |column: &str, key: KeyValue| {
        let provider = open(&address, &table("equality", &[column])).await;
        find(&provider, &[key]).await.map(|rows| rows.len())
    };
    let (text, number) = (|text: &str| KeyValue::Text(text.into()), |number: &str| KeyValue::Number(number.into()));
    for (column, key, found) in [
        ("i", number("7"), Ok(1)),
        ("i", text("7"), Ok(1)),
        ("i", number("7.5"), Ok(0)),
        ("i", number("99999999999999999999"), Ok(0)),
        ("i", text("x"), Err("\"x\" is no integer")),
        ("n", number("1.5"), Ok(1)),
        ("n", text("1.500"), Ok(1)),
        ("n", text("x"), Err("invalid input syntax for type numeric")),
        ("c", text("ab"), Ok(1)),
        ("c", text("ab  "), Ok(1)),
        ("c", text("a"), Ok(0)),
        ("u", text("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"), Ok(1)),
        ("u", text("7"), Err("invalid input syntax for type uuid")),
        ("d", text("2024-02-29"), Ok(1)),
        ("d", text("2023-02-29"), Err("date/time field value out of range")),
        ("b", KeyValue::Boolean(true), Ok(1)),
        ("b", text("yes"), Ok(1)),
    ] {
        match (by(column, key.clone()).await, found) {
            (Ok(count), Ok(expected)) => assert_eq!(count, expected, "{column} {key}"),
            (Err(message), Err(expected)) => assert!(message.contains(expected), "{column} {key}: {message}"),
            (result, _) => panic!("{column} {key}: {result:?}"),
        }
    }
    // One bad key of a batch fails alone.
    let provider = open(&address, &table("equality", &["u"])).await;
    let keys =
        ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "bad", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"].map(contract::text_key);
    let joined = contract::ask(provider, &contract::options(), keys.iter().cycle().take(99).cloned().collect()).await;
    for (number, joined) in joined.iter().enumerate() {
        assert_eq!(joined.outcome, [Outcome::Found, Outcome::Failed, Outcome::Missing][number % 3]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_have_many_rows_several_values_and_limits() {
    let server = Server::shared("postgres");
    let address = server.address("POSTGRES_URL");
    run(&address, "drop table if exists parts; create table parts (item int, part text, made date); insert into parts select 1, 'p' || s, '2024-01-01' from generate_series(1, 20) s").await;
    let provider = open(
        &address,
        &query("select k.part as q, r.part as r from parts k join parts r using (part) where k.item = $1 limit 1", 1),
    )
    .await;
    assert_eq!(find(&provider, &number("1")).await.unwrap(), [r#"{"q":"p1","r":"p1"}"#]);
    let sql = "select part, '$1' as \"a $2\" from parts where item = $1 and made >= $2 order by part limit 3 -- $3";
    let provider = open(&address, &query(sql, 2)).await;
    let key = [KeyValue::Number("1".into()), KeyValue::Text("2023-12-31".into())];
    assert_eq!(
        find(&provider, &key).await.unwrap(),
        [r#"{"part":"p1","a $2":"$1"}"#, r#"{"part":"p10","a $2":"$1"}"#, r#"{"part":"p11","a $2":"$1"}"#]
    );
    assert_eq!(provider.columns().unwrap(), ["part", "a $2"]);

    let limited = |more: &str| format!("{address}?max-rows=5{more}");
    let error = find(&open(&limited(""), &table("parts", &["item"])).await, &number("1")).await.unwrap_err();
    assert!(error.contains("over max-rows=5"), "{error}");
    let cut = open(&limited("&over-limit=cut"), &table("parts", &["item"])).await;
    assert_eq!(find(&cut, &number("1")).await.unwrap().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_when_it_is_opened() {
    let server = Server::shared("postgres");
    let address = server.address("POSTGRES_URL");
    run(&address, "create table if not exists present (id int, v text)").await;
    for (selection, reason) in [
        (table("absent", &["id"]), "relation \"absent\" does not exist"),
        (table("present", &["nothing"]), "column t.nothing does not exist"),
        (query("select 1", 1), "the query has 0 parameters and the key has 1 values"),
        (query("select v, v from present where id = $1", 1), "two columns are called v"),
        (query("selec 1", 1), "syntax error"),
        (query("delete from present where id = $1 returning id", 1), "syntax error"),
        (contract::by_address(1), "needs a table or a query"),
    ] {
        let error = refused(&address, &selection).await;
        assert!(matches!(error, OpenError::BadSelection { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let host = address.rsplit_once('@').unwrap().1;
    let error = refused(&format!("postgres://project:wrong-secret@{host}"), &table("present", &["id"])).await;
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    assert!(
        error.to_string().contains("password authentication failed") && !error.to_string().contains("secret"),
        "{error}"
    );
    let error = refused("postgres://127.0.0.1:1/x?connect-timeout=1s", &table("present", &["id"])).await;
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_cannot_write() {
    let server = Server::shared("postgres");
    let address = server.address("POSTGRES_URL");
    run(&address, "drop table if exists written; create table written (id int); create or replace function write_it(i int) returns int language sql as 'insert into written values (i) returning id'").await;
    let provider = open(&address, &query("select write_it($1) as id", 1)).await;
    let error = find(&provider, &number("1")).await.unwrap_err();
    assert!(error.contains("read-only transaction"), "{error}");
    let error = find(&open(&address, &query("select 1 / $1::int as x", 1)).await, &text("0")).await.unwrap_err();
    assert!(error.contains("division by zero"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_not_sent_to_a_server_that_cannot_prove_itself() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let folder = tempfile::tempdir().unwrap();
    let (certificate, _) = crate::servers::certificate(folder.path());
    // It says that it has no encryption, and then listens to what it is told all the same.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = [0; 8];
        stream.read_exact(&mut asked).await.unwrap();
        stream.write_all(b"N").await.unwrap();
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard).await;
        heard
    });
    let address = format!("postgres://me:secret@127.0.0.1:{port}/x?tls-ca={certificate}");
    refused(&address, &table("t", &["id"])).await;
    assert_eq!(heard.await.unwrap(), b"", "not even the user's name");
}
