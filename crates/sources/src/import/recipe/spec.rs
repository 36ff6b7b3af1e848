//! `FORMAT:FILE,key=value,…`, as a source is written on the command line, to the same value as in a recipe.

use knockout_base::error::Error;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Options that hold several values, separated by `+`.
const LISTS: [&str; 10] =
    ["alias", "aspect", "channels", "columns", "genes", "orders", "qualifiers", "splits", "types", "without"];
/// Options that do so in one format, and hold one value in others.
const LISTS_OF: [(&str, &str); 1] = [("gaf", "evidence")];
/// Options that hold whole numbers.
const NUMBERS: [&str; 7] = ["max-genes", "min-genes", "orders", "organism", "query", "taxon", "threshold"];
/// Options that are true or false.
const FLAGS: [&str; 2] = ["directed", "header"];
/// Options with a value per channel or column: `thresholds.database=700`, `where.mode=binding`.
const TABLES: [&str; 2] = ["thresholds", "where"];

/// Reads a source as it is written on the command line.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let (format, rest) = text.split_once(':').ok_or_else(|| {
        Error::request(format!(
            "{text:?} names no format; write FORMAT:FILE, for example sgd:SGD_features.tab.gz"
        ))
    })?;
    let (file, options) = split_options(rest);
    if file.is_empty() {
        return Err(Error::request(format!("{text:?} names no file; write {format}:FILE")));
    }
    let mut table = Table::new();
    table.insert("format".to_owned(), Value::String(format.to_owned()));
    table.insert("file".to_owned(), Value::String(file.to_owned()));
    for (key, value) in options {
        insert(&mut table, format, key, value)
            .map_err(|message| Error::request(format!("in {text:?}: {message}")))?;
    }
    table.try_into().map_err(|error: toml::de::Error| {
        let message = error.to_string();
        Error::request(format!("in {text:?}: {}", message.lines().next().unwrap_or_default().trim()))
    })
}

/// The file and the options behind it. A comma belongs to the file's name unless `key=` follows it.
fn split_options(text: &str) -> (&str, Vec<(&str, &str)>) {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(',') {
        let rest = &text[at + 1..];
        let key = rest.split(['=', ',']).next().unwrap_or_default();
        let is_key = !key.is_empty()
            && rest[key.len()..].starts_with('=')
            && (key.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
                || TABLES.iter().any(|table| key.starts_with(&format!("{table}."))));
        if is_key {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    let file = parts.remove(0);
    (file, parts.into_iter().filter_map(|part| part.split_once('=')).collect())
}

fn insert(table: &mut Table, format: &str, key: &str, value: &str) -> Result<(), String> {
    if let Some((outer, inner)) = key.split_once('.') {
        let value = if outer == "thresholds" { number(key, value)? } else { Value::String(value.to_owned()) };
        let nested = table.entry(outer).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(nested) = nested {
            nested.insert(inner.to_owned(), value);
        }
        return Ok(());
    }
    let single = |word: &str| -> Result<Value, String> {
        if NUMBERS.contains(&key) {
            number(key, word)
        } else if FLAGS.contains(&key) {
            word.parse()
                .map(Value::Boolean)
                .map_err(|_neither| format!("{key} is {word:?}; expected true or false"))
        } else {
            Ok(Value::String(word.to_owned()))
        }
    };
    let value = if LISTS.contains(&key) || LISTS_OF.contains(&(format, key)) {
        Value::Array(value.split('+').map(single).collect::<Result<_, _>>()?)
    } else {
        single(value)?
    };
    match table.insert(key.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(format!("{key} is given twice")),
    }
}

fn number(key: &str, word: &str) -> Result<Value, String> {
    let number =
        word.parse::<u32>().map_err(|_no_number| format!("{key} is {word:?}; expected a whole number"))?;
    Ok(Value::Integer(number.into()))
}

macro_rules! from_str {
    ($($kind:ty),*) => {$(
        impl std::str::FromStr for $kind {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                parse(text)
            }
        }
    )*};
}
from_str!(
    super::GeneSource,
    super::AliasSource,
    super::NetworkSource,
    super::MetabolismSource,
    super::FeatureSource,
    super::AnnotationSource
);

impl std::str::FromStr for super::ScreenSource {
    type Err = Error;

    /// A file without a format is a table of scores.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (file, _) = split_options(text);
        if file.contains(':') { parse(text) } else { parse(&format!("table:{text}")) }
    }
}

#[cfg(test)]
mod tests {
    use crate::import::recipe::{AnnotationSource, NetworkSource, Recipe, ScreenSource};

    fn message(text: &str) -> String {
        text.parse::<NetworkSource>().unwrap_err().to_string()
    }

    #[test]
    fn an_option_and_a_recipe_say_the_same() {
        let option: NetworkSource =
            "string:a,b.txt.gz,channels=fusion+database,threshold=400,thresholds.database=700,entries=one"
                .parse()
                .unwrap();
        let recipe = Recipe::from_toml(
            "[[networks]]\nformat = \"string\"\nfile = \"a,b.txt.gz\"\nchannels = [\"fusion\", \"database\"]\n\
             threshold = 400\nthresholds = { database = 700 }\nentries = \"one\"\n",
        )
        .unwrap();
        assert_eq!(recipe.networks, [option]);
        assert_eq!(Recipe::from_toml(&recipe.to_toml()).unwrap(), recipe);
    }

    #[test]
    fn a_screen_takes_columns_with_spaces() {
        let screen: ScreenSource =
            "table:x.tsv,genes=Gene 1+Gene 2,score=S score,query=1,where.Type x=a b".parse().unwrap();
        let ScreenSource::Table { genes, score, query, filter, .. } = screen else { panic!("a table") };
        assert_eq!((genes.len(), score.as_str(), query, filter["Type x"].as_str()), (2, "S score", 1, "a b"));
    }

    #[test]
    fn a_file_without_a_format_is_a_table_of_scores() {
        let bare: ScreenSource = "screens/k562.tsv.gz,score=GI".parse().unwrap();
        assert_eq!(bare, "table:screens/k562.tsv.gz,score=GI".parse().unwrap());
        let ScreenSource::Table { genes, score, .. } = bare else { panic!("a table") };
        assert!(genes.is_empty() && score == "GI");
        let error = "emapp:x.tsv".parse::<ScreenSource>().unwrap_err().to_string();
        assert!(error.contains("unknown variant `emapp`"), "{error}");
    }

    #[test]
    fn evidence_is_a_list_of_codes_and_a_word_of_networks() {
        let option: AnnotationSource =
            "gaf:sgd.gaf.gz,aspect=P+C,evidence=IDA+IMP,max-genes=300,name=go".parse().unwrap();
        let recipe = Recipe::from_toml(
            "[[annotations]]\nformat = \"gaf\"\nfile = \"sgd.gaf.gz\"\naspect = [\"P\", \"C\"]\n\
             evidence = [\"IDA\", \"IMP\"]\nmin-genes = 2\nmax-genes = 300\nname = \"go\"\n",
        )
        .unwrap();
        assert_eq!(recipe.annotations, [option]);
        assert_eq!(Recipe::from_toml(&recipe.to_toml()).unwrap(), recipe);
        assert!("sgd:interaction_data.tab,evidence=genetic".parse::<NetworkSource>().is_ok());
        let message = |text: &str| text.parse::<AnnotationSource>().unwrap_err().to_string();
        assert!(message("gaf:x,aspect=X").contains("unknown variant `X`, expected one of `P`, `F`, `C`"));
        assert!(message("gmt:x,min-genes=few").contains("expected a whole number"));
        assert!(message("gmt:x,aspect=P").contains("unknown field `aspect`"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(message("string").contains("names no format"));
        assert!(message("string:").contains("names no file"));
        assert!(message("strin:x").contains("unknown variant `strin`, expected one of `string`"));
        assert!(message("string:x,chanels=a").contains("unknown field `chanels`"));
        assert!(
            message("string:x,threshold=high").contains("threshold is \"high\"; expected a whole number")
        );
        assert!(message("edges:x,directed=maybe").contains("expected true or false"));
        assert!(message("string:x,taxon=1,taxon=2").contains("taxon is given twice"));
        assert!(message("dango:x").contains("missing field `gene-list`"));
        let error = Recipe::from_toml("nmae = \"x\"").unwrap_err().to_string();
        assert!(error.contains("unknown field `nmae`") && error.contains("line 1"), "{error}");
    }
}
