//! Terms: what is said about unknowns, each stored once, so that equal terms have equal ids.

use rustc_hash::FxHashMap;

use crate::explore::value::{Term, TermId, Unknown, Value};

/// All terms of an exploration.
#[derive(Debug, Default)]
pub(super) struct Terms {
    terms: Vec<Term>,
    /// Of each term the bits of the unknowns that it may speak of: see [`bit`].
    unknowns: Vec<u64>,
    ids: FxHashMap<Term, TermId>,
}

/// What stands for an unknown where many are told apart at once: others may have the same.
fn bit(unknown: u32) -> u64 {
    1 << (unknown % u64::BITS)
}

/// Deeper terms are forgotten: their value is simply unknown.
const MAX_DEPTH: u32 = 4;

impl Terms {
    pub fn get(&self, id: TermId) -> Term {
        self.terms[id.0 as usize]
    }

    pub fn intern(&mut self, term: Term) -> TermId {
        if let Some(&id) = self.ids.get(&term) {
            return id;
        }
        let id = TermId(self.terms.len() as u32);
        let bits = |value| match value {
            Value::Unknown(unknown) => bit(unknown.id),
            Value::Term(id) => self.unknowns[id.0 as usize],
            _ => 0,
        };
        let unknowns = term.operands().into_iter().flatten().map(bits).fold(0, |all, it| all | it);
        self.terms.push(term);
        self.unknowns.push(unknowns);
        self.ids.insert(term, id);
        id
    }

    /// How deep terms nest in `value`.
    pub fn depth(&self, value: Value) -> u32 {
        let Value::Term(id) = value else { return 0 };
        // Ids of operands are smaller than those of terms, and depth is bounded when terms are
        // made, so that this ends.
        1 + self.get(id).operands().into_iter().flatten().map(|v| self.depth(v)).max().unwrap_or(0)
    }

    /// Whether a term over these operands is still kept.
    pub fn keeps(&self, operands: &[Value]) -> bool {
        operands.iter().all(|&value| self.depth(value) < MAX_DEPTH)
    }

    /// Whether `value` is, or speaks of, the unknown `id`.
    pub fn mentions(&self, value: Value, id: u32) -> bool {
        match value {
            Value::Unknown(unknown) => unknown.id == id,
            Value::Term(term) if self.unknowns[term.0 as usize] & bit(id) == 0 => false,
            Value::Term(term) => {
                self.get(term).operands().into_iter().flatten().any(|v| self.mentions(v, id))
            }
            _ => false,
        }
    }

    /// Whether `value` is `part`, or says something about it.
    pub fn holds(&self, value: Value, part: Value) -> bool {
        value == part
            || match value {
                Value::Term(term) => {
                    self.get(term).operands().into_iter().flatten().any(|v| self.holds(v, part))
                }
                _ => false,
            }
    }

    /// `value` with the unknown `id` replaced by `by`. Where it is known not to be nil it does not become that: another
    /// goroutine has decided so since somebody stopped to decide.
    pub fn replace(&mut self, value: Value, id: u32, by: Value) -> Value {
        match value {
            Value::Unknown(Unknown { non_nil: true, .. }) if by == Value::Nil => value,
            Value::Unknown(unknown) if unknown.id == id => by,
            Value::Term(term) if self.mentions(value, id) => {
                let old = self.get(term);
                let new = old.map(|operand| self.replace(operand, id, by));
                Value::Term(self.intern(new))
            }
            other => other,
        }
    }
}
