//! Scopes of one lane, and the operators and functions of autograd in them.
//!
//! A *scope* is a call of a module or an annotation, inside the same stack of others on its lane.

use crate::collect::id::{KindId, ScopeId};
use crate::collect::record::Span;
use std::collections::BTreeMap;

/// Most scopes of a lane; events of further ones belong to the scope around them.
const MOST_SCOPES: usize = 1 << 16;
/// Most forward operators and functions kept of a lane; a lane with more has no backward pass by scope.
const MOST: usize = 1 << 20;

/// One scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) parent: Option<ScopeId>,
    pub(crate) kind: KindId,
    depth: u32,
}

/// The scopes of a lane; parents come before their children.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    pub(crate) list: Vec<Scope>,
    ids: BTreeMap<(Option<ScopeId>, KindId), ScopeId>,
}

impl Scopes {
    /// Returns the scope of a kind inside another one, made if new.
    pub(crate) fn child(&mut self, parent: Option<ScopeId>, kind: KindId) -> Option<ScopeId> {
        let next = ScopeId::from_index(self.list.len());
        match self.ids.get(&(parent, kind)) {
            Some(&id) => return Some(id),
            None if self.list.len() >= MOST_SCOPES => return parent,
            None => {}
        }
        let depth =
            parent.and_then(|parent| self.list.get(parent.index())).map_or(0, |above| above.depth + 1);
        self.list.push(Scope { parent, kind, depth });
        self.ids.insert((parent, kind), next);
        Some(next)
    }

    /// Returns the innermost scope around both.
    pub(crate) fn common(&self, a: ScopeId, b: ScopeId) -> Option<ScopeId> {
        let (mut a, mut b) = (Some(a), Some(b));
        while a != b {
            let [first, second] = [a, b].map(|id| id.and_then(|id| self.list.get(id.index())));
            let (depth_a, depth_b) = (first.map(|scope| scope.depth), second.map(|scope| scope.depth));
            if depth_a >= depth_b {
                a = first?.parent;
            }
            if depth_b >= depth_a {
                b = second?.parent;
            }
        }
        a
    }
}

/// A function that autograd is evaluating.
#[derive(Debug, Clone, Copy)]
struct Open {
    end: i64,
    sequence: Option<u32>,
    scope: Option<ScopeId>,
    nanos: i64,
}

/// Time of a function that autograd evaluated, without functions and scopes inside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionTime {
    pub(crate) sequence: u32,
    /// The scope in which it was evaluated.
    pub(crate) scope: Option<ScopeId>,
    pub(crate) nanos: i64,
}

/// Forward operators and functions of autograd on one lane.
#[derive(Debug, Default)]
pub(crate) struct Autograd {
    open: Vec<Open>,
    pub(crate) functions: Vec<FunctionTime>,
    /// The scope of the last operator with each sequence number.
    forward: Vec<(u32, Option<ScopeId>)>,
    /// Times in which the lane waits for autograd's threads, and the scope it waits in.
    pub(crate) waits: Vec<(i64, i64, ScopeId)>,
    is_full: bool,
}

impl Autograd {
    /// Records a forward operator. An operator that creates no function has the number of the next one that does, so the last one counts.
    #[inline]
    pub(crate) fn operator(&mut self, sequence: u32, scope: Option<ScopeId>) {
        if let Some(last) = self.forward.last_mut().filter(|last| last.0 == sequence) {
            last.1 = scope;
        } else if self.forward.len() < MOST {
            self.forward.push((sequence, scope));
        } else {
            self.is_full = true;
        }
    }

    /// Records a function.
    pub(crate) fn enter(&mut self, span: &Span, (from, to): (i64, i64), scope: Option<ScopeId>) {
        self.leave_until(from);
        let sequence = span.is(Span::SEQUENCED).then_some(span.sequence);
        self.open.push(Open { end: to, sequence, scope, nanos: 0 });
    }

    /// Records that the lane waits for autograd's threads.
    pub(crate) fn wait(&mut self, from: i64, to: i64, scope: ScopeId) {
        if self.waits.len() < MOST {
            self.waits.push((from, to, scope));
        } else {
            self.is_full = true;
        }
    }

    fn leave_until(&mut self, time: i64) {
        while let Some(open) = self.open.pop_if(|open| open.end <= time) {
            let (sequence, scope) = (open.sequence, open.scope);
            // The span of the engine and the function inside it have one number.
            let is_same = |last: &&mut FunctionTime| Some(last.sequence) == sequence && last.scope == scope;
            if let Some(last) = self.functions.last_mut().filter(is_same) {
                last.nanos += open.nanos;
                continue;
            }
            match sequence {
                Some(_) if self.functions.len() >= MOST => self.is_full = true,
                Some(sequence) => {
                    self.functions.push(FunctionTime { sequence, scope, nanos: open.nanos });
                }
                None => {}
            }
        }
    }

    /// Adds time of the innermost function.
    pub(crate) fn run(&mut self, from: i64, to: i64) {
        self.leave_until(from);
        if let Some(open) = self.open.last_mut() {
            open.nanos += to - from;
        }
    }

    /// Returns the sequence number of the innermost function at a time.
    pub(crate) fn sequence_at(&mut self, time: i64) -> Option<u32> {
        self.leave_until(time);
        self.open.last().and_then(|open| open.sequence)
    }

    /// Ends the lane.
    pub(crate) fn finish(mut self) -> Self {
        self.leave_until(i64::MAX);
        if self.is_full {
            // A part would look like the whole.
            return Self { is_full: true, ..Self::default() };
        }
        // Stable, so that the last operator of a number stays the last.
        self.forward.sort_by_key(|&(sequence, _)| sequence);
        self.forward.shrink_to_fit();
        self.functions.shrink_to_fit();
        self.waits.shrink_to_fit();
        self
    }

    /// Whether the lane has so many operators or functions that its scopes have no backward pass.
    pub(crate) fn is_left_out(&self) -> bool {
        self.is_full
    }

    /// Whether there is any forward operator in a scope.
    pub(crate) fn has_operators(&self) -> bool {
        !self.forward.is_empty()
    }

    /// Returns the scope of the operator that created a function.
    pub(crate) fn scope_of(&self, sequence: u32) -> Option<ScopeId> {
        let after = self.forward.partition_point(|&(own, _)| own <= sequence);
        let &(own, scope) = self.forward.get(after.checked_sub(1)?)?;
        scope.filter(|_| own == sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_with_too_many_operators_has_no_backward_pass_and_is_counted() {
        let of = |operators: usize| {
            let mut autograd = Autograd::default();
            (0..operators as u32).for_each(|sequence| autograd.operator(sequence, None));
            autograd.finish()
        };
        let most = of(MOST);
        assert!(most.has_operators() && !most.is_left_out());
        let more = of(MOST + 1);
        assert!(!more.has_operators() && more.is_left_out());
    }
}
