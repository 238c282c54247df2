//! The parameters of a PostgreSQL query.

/// The same query with each `$1`, `$2` and so on written by `write`, which is given its number.
///
/// What stands in texts, quoted names and comments is left as it is.
pub(crate) fn replaced(sql: &str, write: impl Fn(usize) -> String) -> String {
    let mut replaced = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(character) = rest.chars().next() {
        let before = replaced.chars().next_back();
        let in_name = before.is_some_and(|before| before.is_alphanumeric() || before == '_' || before == '$');
        let length = match character {
            '\'' if before.is_some_and(|before| matches!(before, 'e' | 'E')) && !is_name_before_e(&replaced) => {
                text(rest, true)
            }
            '\'' => text(rest, false),
            '"' => quoted(rest, '"'),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '$' if !in_name => {
                let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                if let Ok(number) = rest[1..=digits].parse() {
                    replaced.push_str(&write(number));
                    rest = &rest[1 + digits..];
                    continue;
                }
                dollar_quoted(rest)
            }
            other => other.len_utf8(),
        };
        let (taken, after) = rest.split_at(length);
        replaced.push_str(taken);
        rest = after;
    }
    replaced
}

/// Whether the `e` at the end belongs to a longer name, and does not say that a text has escapes.
fn is_name_before_e(replaced: &str) -> bool {
    replaced.chars().rev().nth(1).is_some_and(|before| before.is_alphanumeric() || before == '_')
}

/// How long the text in single quotes is that `sql` begins with.
fn text(sql: &str, escapes: bool) -> usize {
    if !escapes {
        return quoted(sql, '\'');
    }
    let mut escaped = false;
    let mut characters = sql.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' if characters.peek().is_some_and(|(_, next)| *next == '\'') => drop(characters.next()),
            '\'' => return at + 1,
            _ => {}
        }
    }
    sql.len()
}

/// How long what stands in `quote`s is; a doubled one does not end it.
fn quoted(sql: &str, quote: char) -> usize {
    let mut characters = sql.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    sql.len()
}

/// How long the comment is; comments may hold comments.
fn comment(sql: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < sql.len() {
        let rest = &sql.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    sql.len()
}

/// How long the text between `$tag$` and `$tag$` is; 1 where the `$` begins none.
fn dollar_quoted(sql: &str) -> usize {
    let tag = sql[1..].find('$').map(|end| &sql[..end + 2]);
    match tag
        .filter(|tag| tag[1..tag.len() - 1].chars().all(|character| character.is_alphanumeric() || character == '_'))
    {
        Some(tag) => sql[tag.len()..].find(tag).map_or(sql.len(), |end| end + 2 * tag.len()),
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn parameters_are_replaced_and_nothing_else() {
        for (sql, expected) in [
            ("select * from t where a = $1 and b=$12", "select * from t where a = <1> and b=<12>"),
            ("select '$1', 'it''s $1', $1", "select '$1', 'it''s $1', <1>"),
            (r"select e'\'$1', E'$1\\', $1", r"select e'\'$1', E'$1\\', <1>"),
            (r"select type'\', $1", r"select type'\', <1>"),
            (r#"select "a$1", "a""$1", a$1, $1"#, r#"select "a$1", "a""$1", a$1, <1>"#),
            ("select 1 -- $1\n, $1", "select 1 -- $1\n, <1>"),
            ("select /* $1 /* $1 */ $1 */ $1", "select /* $1 /* $1 */ $1 */ <1>"),
            ("select $$ $1 $$, $q$ $1 $$ $q$, $1", "select $$ $1 $$, $q$ $1 $$ $q$, <1>"),
            ("select '$1", "select '$1"),
            ("select 'é' || $1", "select 'é' || <1>"),
        ] {
            assert_eq!(replaced(sql, |number| format!("<{number}>")), expected);
        }
    }
}
