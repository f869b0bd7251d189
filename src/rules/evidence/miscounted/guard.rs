//! The conditions under which a group is counted up, as a goroutine may find them again.
//!
//! A goroutine for which nothing was counted has nothing to count down. Both sides ask the same of variables that
//! are given a value once, or of fields that the function does not set.

use crate::flow::EdgeKind;
use crate::index::{Constant, Def};
use crate::rules::conditions::{key, locals_in};
use crate::rules::scene::Scene;
use crate::summary::Function;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// What a way has found of the [questions](Guards::questions), by number.
pub(super) type Found = Vec<(u16, bool)>;

/// The conditions of some statements.
pub(super) struct Guards<'g, 'a> {
    scene: &'g Scene<'a>,
    function: &'g Function<'a>,
    /// For each of the statements the conditions of the `if` around it, and whether they hold there.
    all: Vec<Vec<(ExprId, bool)>>,
    questions: Vec<Question>,
}

/// A condition without `&&`, `||` and `!`.
struct Question {
    /// The words in which equal conditions are known.
    text: String,
    /// Of `x == c` the text of `x`, and the constant.
    equal: Option<(String, Constant)>,
}

impl<'g, 'a> Guards<'g, 'a> {
    /// The conditions of these calls.
    pub fn of(
        scene: &'g Scene<'a>,
        function: &'g Function<'a>,
        calls: impl Iterator<Item = ExprId>,
    ) -> Self {
        let mut guards = Guards { scene, function, all: Vec::new(), questions: Vec::new() };
        for call in calls {
            let around = guards.around(call);
            for &(condition, _) in &around {
                guards.ask(condition);
            }
            guards.all.push(around);
        }
        guards
    }

    /// Notes what an edge decides; a way that contradicts what was found before is left to the conditions of its
    /// own body.
    pub fn note(&self, found: &mut Found, edge: EdgeKind) {
        let Some((condition, holds)) = edge.condition() else { return };
        let Some((asked, opposite)) = self.question(condition) else { return };
        let holds = holds != opposite;
        for (number, question) in self.questions.iter().enumerate() {
            let told = match (&question.equal, &asked.equal) {
                _ if question.text == asked.text => holds,
                // What is equal to one constant is equal to no other one.
                (Some((of, one)), Some((also, other))) if holds && of == also && one != other => {
                    false
                }
                _ => continue,
            };
            let number = number as u16;
            match found.binary_search_by_key(&number, |&(number, _)| number) {
                Ok(place) => found[place].1 = told,
                Err(place) => found.insert(place, (number, told)),
            }
        }
    }

    /// Whether none of the statements was come to where this was found.
    pub fn rule_out_all(&self, found: &Found) -> bool {
        self.all.iter().all(|around| {
            around.iter().any(|&(condition, holds)| self.truth(condition, found) == Some(!holds))
        })
    }

    fn around(&self, call: ExprId) -> Vec<(ExprId, bool)> {
        let scene = self.scene;
        let span = scene.span(Node::Expr(call));
        let home = scene.literal_around(Node::Expr(call)).map(Node::Expr);
        let inside = scene.around(Node::Expr(call)).take_while(|&around| Some(around) != home);
        let conditions = inside.filter_map(|around| {
            let Node::Stmt(stmt) = around else { return None };
            let StmtKind::If { cond, then, .. } = scene.file.stmt(stmt).kind else { return None };
            let in_condition = scene.span(Node::Expr(cond)).contains(span);
            (!in_condition).then(|| (cond, scene.span(Node::Stmt(then)).contains(span)))
        });
        conditions.collect()
    }

    fn ask(&mut self, condition: ExprId) {
        match self.parts(condition) {
            Some((_, parts)) => parts.into_iter().for_each(|part| self.ask(part)),
            None => {
                if let Some((question, _)) = self.question(condition) {
                    self.questions.push(question);
                }
            }
        }
    }

    /// What `&&`, `||` and `!` join.
    fn parts(&self, condition: ExprId) -> Option<(Join, Vec<ExprId>)> {
        let file = self.scene.file;
        match file.expr(file.unparen(condition)).kind {
            ExprKind::Binary { op: BinaryOp::LogicalAnd, left, right, .. } => {
                Some((Join::And, vec![left, right]))
            }
            ExprKind::Binary { op: BinaryOp::LogicalOr, left, right, .. } => {
                Some((Join::Or, vec![left, right]))
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => Some((Join::Not, vec![operand])),
            _ => None,
        }
    }

    /// A condition that says the same wherever it is asked in the function, and whether it says the opposite.
    fn question(&self, condition: ExprId) -> Option<(Question, bool)> {
        let (scene, function) = (self.scene, self.function);
        let (text, opposite) = key(function, condition)?;
        let locals = locals_in(function, Node::Expr(condition));
        let is_fixed = locals.into_iter().all(|local| function.has_one_value(local));
        if !is_fixed || self.sets_part(condition) {
            return None;
        }
        let file = scene.file;
        let equal = match file.expr(file.unparen(condition)).kind {
            ExprKind::Binary { op: BinaryOp::Eq | BinaryOp::Ne, left, right, .. } => {
                let constant = scene.info.constant(right).cloned();
                constant.map(|constant| (scene.text(left), constant))
            }
            _ => None,
        };
        Some((Question { text, equal }, opposite))
    }

    /// Whether the function sets a field that a condition names, or the condition takes something out of a map or
    /// from behind a pointer.
    fn sets_part(&self, condition: ExprId) -> bool {
        let scene = self.scene;
        scene.file.descendants(Node::Expr(condition)).any(|node| {
            let Node::Expr(part) = node else { return false };
            match (&scene.file.expr(part).kind, scene.info.resolve(part)) {
                (ExprKind::Index { .. } | ExprKind::Star(_), _) => true,
                (ExprKind::Selector { .. }, Def::Field(selection)) => {
                    scene.assigns(|target| scene.field(target) == selection.location)
                }
                _ => false,
            }
        })
    }

    /// Whether a condition holds, as far as a way has found.
    fn truth(&self, condition: ExprId, found: &Found) -> Option<bool> {
        let Some((join, parts)) = self.parts(condition) else {
            let (asked, opposite) = self.question(condition)?;
            let number = self.questions.iter().position(|it| it.text == asked.text)? as u16;
            let place = found.binary_search_by_key(&number, |&(number, _)| number).ok()?;
            return Some(found[place].1 != opposite);
        };
        let known: Vec<Option<bool>> =
            parts.into_iter().map(|part| self.truth(part, found)).collect();
        let settles = match join {
            Join::Not => return known[0].map(|holds| !holds),
            Join::And => false,
            Join::Or => true,
        };
        match known.contains(&Some(settles)) {
            true => Some(settles),
            false => (!known.contains(&None)).then_some(!settles),
        }
    }
}

enum Join {
    And,
    Or,
    Not,
}
