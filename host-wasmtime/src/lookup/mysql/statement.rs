//! The statement that finds the rows of a batch of keys.

use bytes::Bytes;
use lookaside_core::LookupError;
use sqlx::{
    AssertSqlSafe, Either, Executor, SqlSafeStr, Statement as _,
    mysql::{MySqlArguments, MySqlConnection, MySqlRow},
};

use super::{columns::RowColumn, key_columns::KeyColumn};
use crate::{
    json,
    lookup::{
        KeyValue, OpenError,
        open::Errors,
        sql::{self, Find},
        write_key,
    },
};

/// Keys that one statement with `union all` asks for at most: each branch costs the server much
/// more than a row of a join.
pub(super) const UNITED: usize = 64;

pub(super) type Query<'a> = sqlx::query::Query<'a, sqlx::MySql, MySqlArguments>;

/// A prepared statement; the first column of its rows is the number of the key, from 0.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) lookups: Lookups,
    row: Vec<RowColumn>,
    names: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Lookups {
    /// A join of a table with the keys, which are its only parameter.
    Joined { sql: String, key: Vec<KeyColumn> },
    /// A query for one key, to be repeated for each.
    United { query: String, shown: String },
}

impl Statement {
    pub(super) async fn prepare(
        connection: &mut MySqlConnection,
        find: &Find,
        key_values: usize,
        json: &[&str],
        errors: &Errors,
    ) -> Result<Self, OpenError> {
        let refused = |error: sqlx::Error| match error {
            sqlx::Error::Database(error) => errors.selection(error.to_string()),
            error => errors.unreachable(error.to_string()),
        };
        let query = match find {
            Find::Query(query) => query.clone(),
            Find::Table { name, .. } => format!("select * from {}", sql::quoted(name, '`')),
        };
        let described = connection.prepare(AssertSqlSafe(query.clone()).into_sql_str()).await.map_err(refused)?;
        let row: Vec<RowColumn> = described.columns().iter().map(|column| RowColumn::new(column, json)).collect();
        let names: Vec<String> = row.iter().map(|column| column.name.clone()).collect();
        sql::check_columns(&names, errors)?;
        if let Some(missing) = json.iter().find(|name| !names.iter().any(|column| column == *name)) {
            return Err(
                errors.address(format!("json={missing}: there is no such column; there are {}", names.join(", ")))
            );
        }
        let shown = row.iter().map(RowColumn::sql).collect::<Vec<_>>().join(", ");
        let lookups = match find {
            Find::Table { name, key_columns } => {
                let key =
                    KeyColumn::of_table(connection, name, described.columns(), key_columns).await.map_err(refused)?;
                if let Some(missing) =
                    key_columns.iter().find(|wanted| !key.iter().any(|column| column.name.eq_ignore_ascii_case(wanted)))
                {
                    return Err(
                        errors.selection(format!("there is no column {missing}; there are {}", names.join(", ")))
                    );
                }
                Lookups::Joined { sql: joined(&sql::quoted(name, '`'), &shown, &key), key }
            }
            Find::Query(_) => {
                let parameters = match described.parameters() {
                    Some(Either::Right(count)) => count,
                    Some(Either::Left(types)) => types.len(),
                    None => 0,
                };
                sql::check_parameters(parameters, key_values, errors)?;
                Lookups::United { query, shown }
            }
        };
        let statement = Self { lookups, row, names };
        let sql = match &statement.lookups {
            Lookups::Joined { sql, .. } => sql.clone(),
            Lookups::United { .. } => statement.united(1).0,
        };
        connection.prepare(AssertSqlSafe(sql).into_sql_str()).await.map_err(refused)?;
        Ok(statement)
    }

    /// The statement for `keys` keys, and how many it has room for: sizes are powers of two, so
    /// that few statements are prepared.
    pub(super) fn united(&self, keys: usize) -> (String, usize) {
        let Lookups::United { query, shown } = &self.lookups else { return (String::new(), 0) };
        let branches = keys.next_power_of_two();
        let branch = |number| format!("select {number}, {shown} from ({query}\n) as q");
        ((0..branches).map(branch).collect::<Vec<_>>().join(" union all "), branches)
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.names
    }

    /// The values of a key as they are asked for; none where no row can have them.
    pub(super) fn values(&self, key: Vec<KeyValue>) -> Result<Option<Vec<KeyValue>>, LookupError> {
        match &self.lookups {
            Lookups::United { .. } => Ok(Some(key)),
            Lookups::Joined { key: columns, .. } => {
                columns.iter().zip(key).map(|(column, value)| column.value(value)).collect()
            }
        }
    }

    /// A row as a JSON object.
    pub(super) fn row(&self, row: &MySqlRow) -> Result<Bytes, sqlx::Error> {
        let mut fields = Vec::with_capacity(self.row.len());
        for (place, column) in self.row.iter().enumerate() {
            fields.push((column.name.as_str(), column.json(row, place + 1)?));
        }
        Ok(json::object(fields.into_iter()).into())
    }
}

/// The join of a table with the keys in a JSON array of arrays.
fn joined(table: &str, shown: &str, key: &[KeyColumn]) -> String {
    let columns: Vec<String> = (key.iter().enumerate())
        .map(|(number, column)| format!("p{number} {} path '$[{number}]'", column.sql_type()))
        .collect();
    let conditions: Vec<String> = (key.iter().enumerate())
        .map(|(number, column)| format!("q.{} = k.p{number}", sql::quoted_part(&column.name, '`')))
        .collect();
    format!(
        "select k.n - 1, {shown} from json_table(?, '$[*]' columns(n for ordinality, {})) as k straight_join {table} as q on {}",
        columns.join(", "),
        conditions.join(" and "),
    )
}

/// The keys as the only parameter of [`joined`].
pub(super) fn keys_as_json(keys: &[Vec<KeyValue>]) -> String {
    let mut json = String::from("[");
    for (number, key) in keys.iter().enumerate() {
        if number > 0 {
            json.push(',');
        }
        json.push_str(&String::from_utf8_lossy(&write_key(key)));
    }
    json.push(']');
    json
}

/// Binds a value as the type that it has.
pub(super) fn bind<'a>(query: Query<'a>, value: &KeyValue) -> Query<'a> {
    match value {
        KeyValue::Boolean(value) => query.bind(*value),
        KeyValue::Text(text) => query.bind(text.clone()),
        KeyValue::Number(digits) => match (digits.parse::<i64>(), digits.parse::<u64>()) {
            (Ok(number), _) => query.bind(number),
            (_, Ok(number)) => query.bind(number),
            // The database reads a decimal out of it.
            _ => query.bind(digits.clone()),
        },
    }
}
