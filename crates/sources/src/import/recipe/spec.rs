//! `FORMAT:FILE,key=value,…`, as a source is written on the command line, to the same value as in a recipe.
//!
//! All values are texts here. The type of an option's field determines how its text is read.

use knockout_base::error::Error;
use serde::de::value::{Error as ValueError, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Reads a source as it is written on the command line.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let (format, rest) = text.split_once(':').ok_or_else(|| {
        Error::request(format!(
            "{text:?} names no format; write FORMAT:FILE, for example sgd:SGD_features.tab.gz"
        ))
    })?;
    let (file, given) = split_options(rest);
    if file.is_empty() {
        return Err(Error::request(format!("{text:?} names no file; write {format}:FILE")));
    }
    let fail = |message: String| Error::request(format!("in {text:?}: {message}"));
    let mut options = vec![("file", OptionValue::Text { key: "file", text: file })];
    for (key, value) in given {
        insert(&mut options, key, value).map_err(fail)?;
    }
    let source = MapDeserializer::new(std::iter::once((format, OptionValue::Table(options))));
    T::deserialize(MapAccessDeserializer::new(source)).map_err(|error| fail(error.to_string()))
}

/// The file and the options behind it. A comma belongs to the file's name unless `key=` or `key.column=` follows it.
fn split_options(text: &str) -> (&str, Vec<(&str, &str)>) {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(',') {
        let rest = &text[at + 1..];
        let key = rest.split(['=', ',']).next().unwrap_or_default();
        let option = key.split('.').next().unwrap_or_default();
        let is_option = !option.is_empty() && option.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        if is_option && rest[key.len()..].starts_with('=') {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    let file = parts.remove(0);
    (file, parts.into_iter().filter_map(|part| part.split_once('=')).collect())
}

/// Adds an option; `thresholds.database=700` adds to the table `thresholds`.
fn insert<'a>(options: &mut OptionFields<'a>, key: &'a str, text: &'a str) -> Result<(), String> {
    let value = OptionValue::Text { key, text };
    let (name, inner) = key.split_once('.').map_or((key, None), |(name, inner)| (name, Some(inner)));
    let existing = options.iter_mut().find(|(existing, _)| *existing == name).map(|(_, value)| value);
    match (existing, inner) {
        (None, None) => options.push((name, value)),
        (None, Some(inner)) => options.push((name, OptionValue::Table(vec![(inner, value)]))),
        (Some(OptionValue::Table(table)), Some(inner)) if table.iter().all(|(key, _)| *key != inner) => {
            table.push((inner, value));
        }
        (Some(_), _) => return Err(format!("{key} is given twice")),
    }
    Ok(())
}

type OptionFields<'a> = Vec<(&'a str, OptionValue<'a>)>;

/// The value of an option: a text, or a text for each channel or column.
#[derive(Debug, Clone)]
enum OptionValue<'a> {
    Text { key: &'a str, text: &'a str },
    Table(OptionFields<'a>),
}

impl OptionValue<'_> {
    fn parsed<V: std::str::FromStr>(&self, expected: &str) -> Result<V, ValueError> {
        let Self::Text { key, text } = self else {
            return Err(ValueError::custom(format!("expected {expected}")));
        };
        text.parse().map_err(|_invalid| ValueError::custom(format!("{key} is {text:?}; expected {expected}")))
    }
}

impl<'de> IntoDeserializer<'de> for OptionValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! whole_numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            visitor.visit_u32(self.parsed("a whole number")?)
        }
    )*};
}

impl<'de> Deserializer<'de> for OptionValue<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self {
            Self::Text { text, .. } => visitor.visit_borrowed_str(text),
            Self::Table(options) => visitor.visit_map(MapDeserializer::new(options.into_iter())),
        }
    }

    /// Several values are separated by `+`.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let Self::Text { key, text } = self else { return self.deserialize_any(visitor) };
        visitor.visit_seq(SeqDeserializer::new(text.split('+').map(|text| Self::Text { key, text })))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_bool(self.parsed("true or false")?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let Self::Text { text, .. } = self else { return self.deserialize_any(visitor) };
        visitor.visit_enum(text.into_deserializer())
    }

    whole_numbers!(deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64);

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple tuple_struct map struct
        identifier ignored_any
    }
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
        let written = "duplicates = \"mean\"\nalleles = \"apart\"\nallow-missing = false\n\n[[networks]]\nformat = \"string\"\n\
                       file = \"a,b.txt.gz\"\nchannels = [\"fusion\", \"database\"]\nthreshold = 400\ntaxon = 4932\nentries = \"one\"\n\n\
                       [networks.thresholds]\ndatabase = 700\n";
        assert_eq!(recipe.to_toml(), written);
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
        let error = Recipe::from_toml("[[networks]]\nfile = \"x\"").unwrap_err().to_string();
        assert!(error.contains("missing field `format`") && error.contains("line 1"), "{error}");
        let error = Recipe::from_toml("nmae = \"x\"").unwrap_err().to_string();
        assert!(error.contains("unknown field `nmae`") && error.contains("line 1"), "{error}");
    }
}
