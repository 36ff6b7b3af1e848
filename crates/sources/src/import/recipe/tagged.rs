//! Sources in a recipe: tables whose key `format` names the variant and whose other keys are its fields.
//!
//! serde's `tag` attribute reads the fields into untyped values first, so texts of the command line could not be read by type (`spec`).

use serde::de::{
    DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor, value::MapAccessDeserializer,
};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use toml::{Table, Value};

const TAG: &str = "format";

/// A source as a table of a recipe.
struct Tagged<T>(T);

impl<T: Serialize> Serialize for Tagged<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let variant = Value::try_from(self.0).map_err(S::Error::custom)?;
        let variant: BTreeMap<String, Table> = variant.try_into().map_err(S::Error::custom)?;
        let mut tagged = Table::new();
        for (format, options) in variant {
            tagged.insert(TAG.to_owned(), Value::String(format));
            tagged.extend(options);
        }
        tagged.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Tagged<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TaggedVisitor(PhantomData))
    }
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for TaggedVisitor<T> {
    type Value = Tagged<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table with the key {TAG}")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Tagged<T>, A::Error> {
        let mut options = Table::deserialize(MapAccessDeserializer::new(map))?;
        let format = options.remove(TAG).ok_or_else(|| A::Error::missing_field(TAG))?;
        let format: String = format.try_into().map_err(A::Error::custom)?;
        let variant = Table::from_iter([(format, Value::Table(options))]);
        variant.try_into().map(Tagged).map_err(|error: toml::de::Error| A::Error::custom(error.message()))
    }
}

/// Lists of sources.
pub(super) mod list {
    use super::{Deserialize, DeserializeOwned, Deserializer, Serialize, Serializer, Tagged};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        sources: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(sources.iter().map(Tagged))
    }

    pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        Ok(Vec::<Tagged<T>>::deserialize(deserializer)?.into_iter().map(|source| source.0).collect())
    }
}

/// A source that may be absent.
pub(super) mod option {
    use super::{Deserialize, DeserializeOwned, Deserializer, Serialize, Serializer, Tagged};

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        source: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        source.as_ref().map(Tagged).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<Tagged<T>>::deserialize(deserializer)?.map(|source| source.0))
    }
}
