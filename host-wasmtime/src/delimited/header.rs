//! The names of columns.

/// Names of which no two are equal, and what was renamed to get there.
///
/// A column without a name is called by its number, such as `column_3`. The second column called `name` is `name_2`, the
/// third `name_3`, each with the next number that no other column has.
pub(crate) fn unique_names(names: Vec<String>) -> (Vec<String>, Vec<String>) {
    let given = names.clone();
    let mut renamed = Vec::new();
    let mut unique: Vec<String> = Vec::with_capacity(names.len());
    for (place, name) in names.into_iter().enumerate() {
        let base = if name.trim().is_empty() { format!("column_{}", place + 1) } else { name.clone() };
        let is_taken = |candidate: &String, unique: &[String]| {
            unique.contains(candidate) || given[place + 1..].contains(candidate)
        };
        let mut chosen = base.clone();
        let mut number = 2;
        while unique.contains(&chosen) || (chosen != name && is_taken(&chosen, &unique)) {
            chosen = format!("{base}_{number}");
            number += 1;
        }
        if chosen != name {
            renamed.push(if name.trim().is_empty() {
                format!("column {} has no name and is called {chosen}", place + 1)
            } else {
                format!("column {} is called {name}, as one before it is; it becomes {chosen}", place + 1)
            });
        }
        unique.push(chosen);
    }
    (unique, renamed)
}

/// The name that is most like `wanted`, if one is: by letter case and white space first, then by spelling.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let plain = |name: &str| name.trim().to_lowercase();
    names.clone().find(|name| plain(name) == plain(wanted)).or_else(|| {
        names
            .map(|name| (strsim::jaro_winkler(&plain(name), &plain(wanted)), name))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|(one, _), (other, _)| one.total_cmp(other))
            .map(|(_, name)| name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_and_missing_names_get_numbers() {
        let unique = |names: &[&str]| unique_names(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(unique(&["a", "b"]), (vec!["a".into(), "b".into()], vec![]));
        assert_eq!(unique(&["a", "a", "a"]).0, ["a", "a_2", "a_3"]);
        assert_eq!(unique(&["a", "a", "a_2"]).0, ["a", "a_3", "a_2"], "a name that was given stays");
        assert_eq!(unique(&["a", "a_2", "a"]).0, ["a", "a_2", "a_3"]);
        assert_eq!(unique(&["id", "", " "]).0, ["id", "column_2", "column_3"]);
        assert_eq!(unique(&["", "column_1"]).0, ["column_1_2", "column_1"]);
        assert_eq!(unique(&["id", "id", ""]).1.len(), 2);
    }

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["id", "name ", "airport_code"];
        let near = |wanted: &str| nearest(wanted, names.into_iter());
        assert_eq!(near("Id"), Some("id"));
        assert_eq!(near("name"), Some("name "));
        assert_eq!(near("airport-code"), Some("airport_code"));
        assert_eq!(near("zzz"), None);
    }
}
