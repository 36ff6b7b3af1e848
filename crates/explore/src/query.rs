//! Names and values of an address, in both directions.

/// The query of an address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// Names and values of a query that are read; a query has few of them.
const MOST: usize = 64;

impl Query {
    /// Reads the text behind the question mark.
    pub(crate) fn read(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().take(MOST).collect())
    }

    /// Returns the first value of a name, without spaces around it; empty if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default().trim()
    }

    /// Returns whether the name occurs.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// Returns all values of a name.
    pub(crate) fn all<'q>(&'q self, name: &str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| &value[..])
    }

    /// Returns a finite number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.get(name).parse().ok().filter(|value: &f64| value.is_finite())
    }
}

/// Returns an address relative to the application. Empty values are left out.
pub(crate) fn address(view: &str, query: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
        text.append_pair(name, value);
    }
    match text.finish() {
        query if query.is_empty() => view.to_owned(),
        query => format!("{view}?{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let text = address("gene", &[("of", "a b/ü&<\">"), ("name", "'YAL001C'"), ("none", "")]);
        let query = Query::read(text.strip_prefix("gene?").unwrap());
        assert_eq!((query.get("of"), query.get("name")), ("a b/ü&<\">", "'YAL001C'"));
        assert!(!query.has("none") && !text.contains(['<', '"', ' ']));
        assert_eq!(address("runs", &[]), "runs");
    }

    #[test]
    fn wrong_queries_are_read_as_far_as_they_go() {
        let query = Query::read("a=%ff%zz&&=&b&n=nan&m=-0.5&a=2");
        assert_eq!((query.number("n"), query.number("m"), query.get("b")), (None, Some(-0.5), ""));
        assert_eq!(query.all("a").count(), 2);
        assert_eq!(Query::read(&"x=1&".repeat(1000)).all("x").count(), MOST);
    }
}
