//! Operators with the shapes and types of their inputs, numbered in order of appearance.

use crate::collect::cost::{Cost, Formula};
use crate::collect::id::{KindId, ShapeId};
use knockout_trace::{ArgKey, ArgValue, Symbol, TraceEvent};
use std::collections::HashMap;

/// Most shapes of a file; operators with further ones are counted as without a shape.
const MOST: usize = 1 << 16;

/// An operator with inputs of one shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) kind: KindId,
    /// `Input Dims`
    pub(crate) dims: Symbol,
    /// `Input type`
    pub(crate) types: Symbol,
    /// Work of one call, where it is known.
    pub(crate) cost: Option<Cost>,
}

/// Rule for the work of a kind, as far as it has been looked up.
#[derive(Debug, Clone, Copy)]
enum Rule {
    NotYet,
    Known(Option<Formula>),
}

/// Key of a shape: kind, sizes, types, and values where the work depends on them.
type Key = (KindId, Symbol, Symbol, Symbol);

/// The shapes of a file.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    pub(crate) list: Vec<Shape>,
    ids: HashMap<Key, ShapeId>,
    /// Rules by kind, as far as they have been looked up.
    formulas: Vec<Rule>,
    recent: Option<(Key, ShapeId)>,
    /// Events whose shape was one too many.
    pub(crate) left_out: u64,
}

impl Shapes {
    /// Returns the shape of an operator; `None` for an event without any.
    #[inline]
    pub(crate) fn id(&mut self, event: &TraceEvent<'_>, kind: KindId) -> Option<ShapeId> {
        let ArgValue::Text(dims) = event.args.get(ArgKey::InputDims)? else { return None };
        self.find(event, kind, dims)
    }

    fn find(&mut self, event: &TraceEvent<'_>, kind: KindId, dims: Symbol) -> Option<ShapeId> {
        let text = |key| match event.args.get(key) {
            Some(ArgValue::Text(symbol)) => symbol,
            _ => Symbol::EMPTY,
        };
        let formula = self.formula(event, kind);
        let has_values = formula.is_some_and(Formula::needs_values);
        let values = if has_values { text(ArgKey::ConcreteInputs) } else { Symbol::EMPTY };
        let key = (kind, dims, text(ArgKey::InputTypes), values);
        if let Some((recent, id)) = self.recent
            && recent == key
        {
            return Some(id);
        }
        let id = match self.ids.get(&key) {
            Some(&id) => id,
            None if event.symbols.text(dims).bytes().all(|byte| !byte.is_ascii_digit()) => return None,
            None if self.list.len() >= MOST => {
                self.left_out += 1;
                return None;
            }
            None => {
                let id = ShapeId::from_index(self.list.len());
                let [sizes, types, values] = [key.1, key.2, key.3].map(|symbol| event.symbols.text(symbol));
                let cost = formula.and_then(|formula| formula.cost(sizes, types, values));
                self.list.push(Shape { kind, dims, types: key.2, cost });
                self.ids.insert(key, id);
                id
            }
        };
        self.recent = Some((key, id));
        Some(id)
    }

    fn formula(&mut self, event: &TraceEvent<'_>, kind: KindId) -> Option<Formula> {
        let at = kind.index();
        if let Some(Rule::Known(known)) = self.formulas.get(at) {
            return *known;
        }
        let formula = Formula::of(event.symbols.text(event.name));
        if self.formulas.len() <= at {
            self.formulas.resize(at + 1, Rule::NotYet);
        }
        if let Some(slot) = self.formulas.get_mut(at) {
            *slot = Rule::Known(formula);
        }
        formula
    }
}
