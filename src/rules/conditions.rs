//! Conditions that go together: a path that has found `err != nil` does not find `err == nil`
//! further on, unless `err` was assigned in between.

use rustc_hash::FxHashMap;

use crate::flow::{BlockId, Cfg, Edge, EdgeKind, Exit, Passing, StepId, Walk};
use crate::index::{Builtin, Callee, Def, LocalId};
use crate::summary::{BodyId, Function};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, UnaryOp};

/// What a path has decided: conditions by number, sorted, and whether they hold.
pub type Decided = Vec<(u16, bool)>;

/// The conditions of a body that are asked more than once.
pub struct Conditions {
    /// For each condition its number, and whether it says the opposite.
    by_expr: FxHashMap<ExprId, (u16, bool)>,
    /// What a step makes unknown again.
    forgotten: FxHashMap<StepId, Vec<u16>>,
    /// What may be asked again from the beginning of a block on before it is made unknown.
    asked_below: FxHashMap<BlockId, Numbers>,
}

impl Conditions {
    /// The conditions of a body.
    pub fn new(function: &Function<'_>, body: BodyId) -> Conditions {
        let cfg = &function.body(body).cfg;
        let mut asked: Vec<(ExprId, String, bool)> = Vec::new();
        for edge in cfg.blocks().flat_map(|block| cfg.edges_of(block)) {
            if let EdgeKind::True(condition) = edge.kind
                && let Some((text, negated)) = key(function, condition)
            {
                asked.push((condition, text, negated));
            }
        }
        let mut conditions = Conditions {
            by_expr: FxHashMap::default(),
            forgotten: FxHashMap::default(),
            asked_below: FxHashMap::default(),
        };
        let mut times: FxHashMap<&str, u32> = FxHashMap::default();
        for (_, text, _) in &asked {
            *times.entry(text).or_default() += 1;
        }
        let mut numbers: FxHashMap<&str, u16> = FxHashMap::default();
        for (condition, text, negated) in &asked {
            let next = numbers.len() as u16;
            if times[text.as_str()] < 2 || next == u16::MAX {
                continue;
            }
            let number = *numbers.entry(text).or_insert(next);
            conditions.by_expr.insert(*condition, (number, *negated));
            for local in locals_in(function, Node::Expr(*condition)) {
                for definition in function.definitions_of(local) {
                    if let Some(at) = definition.at.filter(|at| at.body == body) {
                        conditions.forgotten.entry(at.step).or_default().push(number);
                    }
                }
            }
        }
        conditions.asked_below = conditions.asked_below(cfg);
        conditions
    }

    /// Which conditions are live at the beginning of each block, as a compiler says of variables:
    /// asked from there on before a step makes them unknown.
    fn asked_below(&self, cfg: &Cfg) -> FxHashMap<BlockId, Numbers> {
        let mut live: FxHashMap<BlockId, Numbers> = FxHashMap::default();
        let mut changed = !self.by_expr.is_empty();
        while changed {
            changed = false;
            for block in cfg.blocks().rev() {
                let mut here = Numbers::default();
                for edge in cfg.edges_of(block) {
                    here.extend(live.get(&edge.to));
                    let asked = condition(edge.kind).and_then(|asked| self.by_expr.get(&asked));
                    if let Some(&(number, _)) = asked {
                        here.insert(number);
                    }
                }
                for forgotten in cfg.steps_of(block).filter_map(|step| self.forgotten.get(&step)) {
                    here.remove(forgotten);
                }
                if live.get(&block).is_none_or(|before| *before != here) {
                    changed |= !here.0.is_empty();
                    live.insert(block, here);
                }
            }
        }
        live
    }

    /// What is still known after a step.
    pub fn step(&self, decided: &mut Decided, step: StepId) {
        if let Some(forgotten) = self.forgotten.get(&step) {
            decided.retain(|(number, _)| !forgotten.contains(number));
        }
    }

    /// Takes an edge; whether what was decided allows it. What nobody asks again is dropped, so that
    /// paths which differ in it go on as one.
    pub fn edge(&self, decided: &mut Decided, edge: &Edge) -> bool {
        let allowed = self.decide(decided, edge);
        if allowed && !decided.is_empty() {
            let below = self.asked_below.get(&edge.to);
            decided.retain(|&(number, _)| below.is_some_and(|below| below.contains(number)));
        }
        allowed
    }

    fn decide(&self, decided: &mut Decided, edge: &Edge) -> bool {
        let (condition, holds) = match edge.kind {
            EdgeKind::True(condition) => (condition, true),
            EdgeKind::False(condition) => (condition, false),
            _ => return true,
        };
        let Some(&(number, negated)) = self.by_expr.get(&condition) else { return true };
        let holds = holds != negated;
        match decided.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(at) => decided[at].1 == holds,
            Err(at) => {
                decided.insert(at, (number, holds));
                true
            }
        }
    }
}

/// Looks for a way to a step past none of some others, on which conditions that go together are
/// answered alike.
pub struct Way<'w> {
    /// The conditions of the body.
    pub conditions: &'w Conditions,
    /// Whether a step is one that is looked for.
    pub to: &'w dyn Fn(StepId) -> bool,
    /// Whether a way that passes a step is of no interest.
    pub settled: &'w dyn Fn(StepId) -> bool,
}

impl Walk for Way<'_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        if (self.to)(step) {
            return Passing::Found;
        }
        if (self.settled)(step) {
            return Passing::Drop;
        }
        let mut decided = decided.clone();
        self.conditions.step(&mut decided, step);
        Passing::On(decided)
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        let mut next = decided.clone();
        self.conditions.edge(&mut next, edge).then_some(next)
    }

    fn exit(&mut self, _: &Decided, _: Exit) -> bool {
        false
    }
}

/// A set of numbers, as bits. The last word is never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Numbers(Vec<u64>);

impl Numbers {
    fn contains(&self, number: u16) -> bool {
        let (word, bit) = place(number);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    fn insert(&mut self, number: u16) {
        let (word, bit) = place(number);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bit;
    }

    fn extend(&mut self, others: Option<&Numbers>) {
        let Some(others) = others else { return };
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (bits, more) in self.0.iter_mut().zip(&others.0) {
            *bits |= more;
        }
    }

    fn remove(&mut self, numbers: &[u16]) {
        for &number in numbers {
            let (word, bit) = place(number);
            if let Some(bits) = self.0.get_mut(word) {
                *bits &= !bit;
            }
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

/// The word that holds the bit of a number, and the bit.
fn place(number: u16) -> (usize, u64) {
    (usize::from(number / 64), 1 << (number % 64))
}

/// The text by which equal conditions are known, and whether this one says the opposite; `None`
/// for one that may say something else each time it is asked.
fn key(function: &Function<'_>, condition: ExprId) -> Option<(String, bool)> {
    let file = function.file;
    let condition = file.unparen(condition);
    let pure = file.descendants(Node::Expr(condition)).all(|node| match node {
        Node::Expr(expr) => match &file.expr(expr).kind {
            ExprKind::Call { .. } => matches!(
                function.info.callee(expr),
                Callee::Builtin(Builtin::Len | Builtin::Cap) | Callee::Conversion(_)
            ),
            ExprKind::Unary { op, .. } => *op != UnaryOp::Recv,
            ExprKind::FuncLit(_) | ExprKind::Missing => false,
            _ => true,
        },
        _ => false,
    });
    if !pure {
        return None;
    }
    let text = |expr: ExprId| -> String {
        function.text(expr).chars().filter(|c| !c.is_whitespace()).collect()
    };
    match file.expr(condition).kind {
        ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } => {
            Some((format!("{}=={}", text(left), text(right)), op == BinaryOp::Ne))
        }
        _ => Some((text(condition), false)),
    }
}

/// The variables that a node names.
pub fn locals_in(function: &Function<'_>, node: Node) -> Vec<LocalId> {
    let mut locals = Vec::new();
    for node in function.file.descendants(node) {
        if let Node::Expr(expr) = node
            && let ExprKind::Ident(_) = function.file.expr(expr).kind
            && let Def::Local(local) = function.info.resolve(expr)
            && !locals.contains(local)
        {
            locals.push(*local);
        }
    }
    locals
}

/// The condition that an edge decides.
pub fn condition(kind: EdgeKind) -> Option<ExprId> {
    match kind {
        EdgeKind::True(condition) | EdgeKind::False(condition) => Some(condition),
        _ => None,
    }
}
