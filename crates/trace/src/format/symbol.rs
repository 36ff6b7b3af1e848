//! Names, categories and other texts of a trace as small numbers.

use crate::intern::ByteTable;

/// A text of a trace: equal texts have equal symbols. Assigned in the order of first occurrence in the file,
/// so it does not depend on the number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

impl Symbol {
    /// The empty text, also used for an absent one.
    pub const EMPTY: Self = Self(0);

    /// Returns the index into a table with one row per symbol.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the symbol of an index that [`Symbol::index`] returned.
    #[inline]
    pub fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
}

/// The texts behind the symbols.
#[derive(Debug)]
pub struct Symbols {
    table: ByteTable,
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbols {
    /// Creates a table with only the empty text.
    pub fn new() -> Self {
        let mut table = ByteTable::new();
        table.insert(b"");
        Self { table }
    }

    /// Returns the symbol of `text`, and adds it if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> Symbol {
        Symbol(self.table.insert(text.as_bytes()).0)
    }

    /// Returns the symbol of `text` if the table has it.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.table.find(text.as_bytes()).map(Symbol)
    }

    /// Returns the text of a symbol; empty for a symbol of another table.
    pub fn text(&self, symbol: Symbol) -> &str {
        if symbol.index() >= self.table.len() {
            return "";
        }
        // Only valid texts are added, so this never fails.
        std::str::from_utf8(self.table.get(symbol.0)).unwrap_or("")
    }

    /// Returns the number of symbols; every index is below it.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns `false`: the table always has the empty text.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// Iterates over all symbols in order, with their texts.
    pub fn iter(&self) -> impl Iterator<Item = (Symbol, &str)> {
        (0..self.table.len()).map(|index| {
            let symbol = Symbol::from_index(index);
            (symbol, self.text(symbol))
        })
    }
}
