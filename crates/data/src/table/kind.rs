//! Column types, of Parquet and of this module.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescriptor, Type};
use std::sync::Arc;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    U32,
    U64,
    F32,
    F64,
    Text,
    /// Text of few distinct words: a dictionary to Arrow's readers.
    Words,
    /// Lists of `u32`.
    Lists,
}

impl ColumnType {
    /// Its Parquet type under a name.
    pub(crate) fn parquet_type(self, name: &str, is_nullable: bool) -> Result<Type, ParquetError> {
        let repetition = if is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let (physical, logical) = match self {
            Self::U32 => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Self::U64 => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Self::F32 => (Physical::FLOAT, None),
            Self::F64 => (Physical::DOUBLE, None),
            Self::Text | Self::Words => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Lists => {
                let item = Self::U32.parquet_type("item", false)?;
                let list = Type::group_type_builder("list")
                    .with_fields(vec![Arc::new(item)])
                    .with_repetition(Repetition::REPEATED)
                    .build()?;
                return Type::group_type_builder(name)
                    .with_fields(vec![Arc::new(list)])
                    .with_logical_type(Some(LogicalType::List))
                    .with_repetition(repetition)
                    .build();
            }
        };
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
    }

    /// Whether a column of a file holds this.
    pub(crate) fn is_of(self, column: &ColumnDescriptor) -> bool {
        let holds =
            |physical, converted| column.physical_type() == physical && column.converted_type() == converted;
        let is_flat = column.max_rep_level() == 0 && column.path().parts().len() == 1;
        match self {
            Self::U32 => is_flat && holds(Physical::INT32, ConvertedType::UINT_32),
            Self::U64 => is_flat && holds(Physical::INT64, ConvertedType::UINT_64),
            Self::F32 => is_flat && holds(Physical::FLOAT, ConvertedType::NONE),
            Self::F64 => is_flat && holds(Physical::DOUBLE, ConvertedType::NONE),
            Self::Text | Self::Words => is_flat && holds(Physical::BYTE_ARRAY, ConvertedType::UTF8),
            // Of items that are all there.
            Self::Lists => {
                column.max_rep_level() == 1
                    && !column.self_type().is_optional()
                    && holds(Physical::INT32, ConvertedType::UINT_32)
            }
        }
    }

    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Text | Self::Words => "text",
            Self::Lists => "list of u32",
        }
    }
}

/// Returns the type of a file's column, as pandas and Arrow name it.
pub(crate) fn name_of(column: &ColumnDescriptor) -> String {
    let name = match (column.physical_type(), column.converted_type()) {
        (_, ConvertedType::UINT_8) => "UInt8",
        (_, ConvertedType::UINT_16) => "UInt16",
        (_, ConvertedType::UINT_32) => "UInt32",
        (_, ConvertedType::UINT_64) => "UInt64",
        (_, ConvertedType::INT_8) => "Int8",
        (_, ConvertedType::INT_16) => "Int16",
        (Physical::INT32, ConvertedType::NONE | ConvertedType::INT_32) => "Int32",
        (Physical::INT64, ConvertedType::NONE | ConvertedType::INT_64) => "Int64",
        (Physical::FLOAT, _) => "Float32",
        (Physical::DOUBLE, _) => "Float64",
        (Physical::BOOLEAN, _) => "Boolean",
        (Physical::BYTE_ARRAY, ConvertedType::UTF8) => "Utf8",
        (physical, ConvertedType::NONE) => return physical.to_string(),
        (_, converted) => return converted.to_string(),
    };
    if column.max_rep_level() > 0 { format!("List({name})") } else { name.to_owned() }
}
