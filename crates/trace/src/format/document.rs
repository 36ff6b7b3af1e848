//! Fields of a trace outside its list of events.

use serde_json::Value;

/// The document's own fields, in file order. Values above [`Document::MAX_FIELD_BYTES`] are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    fields: Vec<(String, Value)>,
}

impl Document {
    /// Longer values are skipped, so that memory is bounded.
    pub const MAX_FIELD_BYTES: usize = 256 << 10;
    /// Further fields are skipped.
    pub const MAX_FIELDS: usize = 1024;

    pub(crate) fn push(&mut self, key: String, value: Value) {
        if self.fields.len() < Self::MAX_FIELDS {
            self.fields.push((key, value));
        }
    }

    /// A field of the document; the last of equal names.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.iter().rev().find(|(have, _)| have == key).map(|(_, value)| value)
    }

    /// All fields, in file order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// `distributedInfo.rank`
    pub fn rank(&self) -> Option<i64> {
        self.get("distributedInfo")?.get("rank")?.as_i64()
    }

    /// `distributedInfo.world_size`
    pub fn world_size(&self) -> Option<i64> {
        self.get("distributedInfo")?.get("world_size")?.as_i64()
    }

    /// Names of `deviceProperties`, in file order.
    pub fn device_names(&self) -> Vec<&str> {
        let devices = self.get("deviceProperties").and_then(Value::as_array);
        devices.into_iter().flatten().filter_map(|device| device.get("name")?.as_str()).collect()
    }
}
