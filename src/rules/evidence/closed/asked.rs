//! A channel that is closed behind a question which two may have asked before either of them closes it.
//!
//! Evidence: a method that others call asks a field of its receiver, closes a channel of that, and sets the field
//! so that whoever asks then closes nothing: so it may come twice. But no lock keeps the second one out between the
//! question and the close. Either the lock is taken after the question, and nothing is asked behind it; or it is the
//! lock of readers throughout, which lets two of them go on side by side. What no lock is taken for at all may have
//! one caller only, who comes once at a time.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::EdgeKind;
use crate::index::{Constant, FuncId, LocalKind};
use crate::rules::evidence::caught::catches;
use crate::rules::evidence::claimed::conditions_above;
use crate::rules::evidence::closed::finding;
use crate::rules::evidence::first_line;
use crate::rules::evidence::groups::{Groups, Op};
use crate::rules::evidence::locks::{Locking, Locks, Taken, held_at, held_by, taken};
use crate::rules::scene::{Graph, Scene, compared_with_nil, holds_any};
use crate::source::Location;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtId, StmtKind};

/// Reports a close behind a question that no lock binds to it.
pub(super) fn too_early(groups: &Groups<'_>, close: &Op) -> Option<Finding> {
    let scene = &groups.scenes[close.scene];
    let is_deferred = matches!(close.node, Node::Expr(call) if scene.is_deferred(call));
    if close.literal.is_some()
        || is_deferred
        || !scene.name.name.is_exported()
        || !scene.is_of_receiver(close.channel)
        || !holds_any(&scene.cx, &["Lock()"])
        || catches(scene, None)
    {
        return None;
    }
    let graph = scene.graph(None)?;
    let at = scene.step_of(&graph, close.node)?;
    let questions: Vec<Question> = conditions_above(&graph, at)
        .filter_map(EdgeKind::condition)
        .filter_map(|(asked, holds)| Question::of(scene, asked, holds))
        .collect();
    let settled = |question: &Question| Some((question.clone(), question.settled(scene, &graph)?));
    let (question, set) = questions.iter().find_map(settled)?;
    let locks = Locking::locks(&scene.cx.package);
    let held = |node: Node| -> Vec<Taken> {
        let at = scene.step_of(&graph, node);
        at.map_or_else(Vec::new, |at| held_at(scene, &locks, None, &graph, at))
    };
    let (asking, closing) = (held(Node::Expr(question.asked)), held(close.node));
    let setting = held(Node::Stmt(set));
    let both = |lock: &&Taken| setting.iter().any(|other| other.call == lock.call);
    let throughout = |lock: &Taken| asking.iter().any(|other| other.call == lock.call);
    if closing.iter().any(|lock| !lock.reads && throughout(lock))
        || has_other_locks(scene)
        || are_callers_locked(scene, &locks)
        || comes_once(scene)
    {
        return None;
    }
    let end = scene.span(Node::Expr(question.asked)).end;
    let late = |lock: &&Taken| !lock.reads && scene.span(Node::Expr(lock.call)).start > end;
    let exclusive = closing.iter().filter(both).find(late);
    let shared = closing.iter().filter(both).find(|lock| lock.reads && throughout(lock));
    let name = scene.text(close.channel);
    let (lock, message, held) = match (exclusive, shared) {
        (Some(lock), _) if !is_asked_again(scene, lock, close) => (
            lock,
            format!(
                "two who asked before the lock was taken both close `{name}` here: the second close panics"
            ),
            "who asked meanwhile waits here, and does not ask again",
        ),
        (None, Some(lock)) if closing.iter().all(|lock| lock.reads) => (
            lock,
            format!(
                "two who read at the same time both close `{name}` here: the second close panics"
            ),
            "others may have the lock too, since all who have it read",
        ),
        _ => return None,
    };
    let mut finding = finding(groups, close, message);
    let told = |node: Node, role: Role, message: &str| Label {
        location: scene.cx.location(first_line(scene, scene.span(node))),
        role,
        message: message.to_owned(),
    };
    finding.labels = vec![
        told(Node::Expr(question.asked), Role::Condition, "both get the same answer"),
        told(Node::Expr(lock.call), Role::Context, held),
        told(Node::Stmt(set), Role::Context, "only here is the answer changed"),
    ];
    if exclusive.is_none() {
        finding.labels.swap(0, 1);
    }
    finding.why = "closing a closed channel panics, and so does closing one that is nil".to_owned();
    finding.help = "ask, close and change the answer under one lock that lets nobody else in, or \
                    close it in the function of a `sync.Once`"
        .to_owned();
    Some(finding)
}

/// Whether a method of a type that others cannot name is called in one place only, once by a function that makes such
/// a value for itself.
fn comes_once(scene: &Scene<'_>) -> bool {
    let cx = &scene.cx;
    let Some(owner) = cx.owner() else { return false };
    let named = cx.package.named_outside_tests(cx.func);
    let [(user, _)] = named[..] else { return false };
    let Some(user) = Scene::of(&cx.package, user) else { return false };
    let Some(call) = user.calls(cx.func).next() else { return false };
    let variable = user.method_call(call).and_then(|(base, _)| user.local(base));
    let is_own = variable.is_some_and(|variable| {
        let variable = user.info.local(variable);
        variable.kind == LocalKind::Var || variable.owner.is_some()
    });
    let makes = |&node: &Node| match node {
        Node::Expr(made) => {
            matches!(user.file.expr(made).kind, ExprKind::CompositeLit { .. })
                && user.info.type_of(made).declared() == Some(owner)
        }
        _ => false,
    };
    !cx.index().object(owner).name.is_exported()
        && is_own
        && user.loops_around(Node::Expr(call)).is_empty()
        && user.nodes.iter().any(makes)
}

/// What is asked of a field of the receiver.
#[derive(Clone)]
struct Question {
    asked: ExprId,
    field: Location,
    answer: Answer,
}

/// The answer that leads to the close.
#[derive(Clone, PartialEq)]
enum Answer {
    /// The field is not nil.
    Set,
    /// It is this constant.
    Is(Constant),
    /// It is another one.
    IsNot(Constant),
}

impl Question {
    fn of(scene: &Scene<'_>, asked: ExprId, holds: bool) -> Option<Question> {
        let (operand, answer) = match scene.file.expr(asked).kind {
            ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } => {
                match compared_with_nil(scene.file, &scene.info, asked) {
                    Some((operand, is_set)) => (operand, (is_set == holds).then_some(Answer::Set)?),
                    None => {
                        let value = scene.info.constant(right)?.clone();
                        let is_equal = (op == BinaryOp::Eq) == holds;
                        (left, if is_equal { Answer::Is(value) } else { Answer::IsNot(value) })
                    }
                }
            }
            _ => (asked, Answer::Is(Constant::Bool(holds))),
        };
        let operand = scene.file.unparen(operand);
        // Of an atomic value, too.
        let operand = match scene.method_call(operand) {
            Some((base, name)) if name.name.as_str() == "Load" => base,
            _ => operand,
        };
        let own = scene.is_of_receiver(operand).then(|| scene.field(operand))?;
        Some(Question { asked, field: own?, answer })
    }

    /// Where the function sees to it that the answer is another one, having asked.
    fn settled(&self, scene: &Scene<'_>, graph: &Graph<'_>) -> Option<StmtId> {
        let changes = |value: ExprId| match (&self.answer, scene.info.constant(value)) {
            (Answer::Set, _) => scene.is_nil(value),
            (Answer::Is(asked), Some(value)) => value != asked,
            (Answer::IsNot(asked), Some(value)) => value == asked,
            _ => false,
        };
        scene.nodes.iter().find_map(|&node| {
            let Node::Stmt(stmt) = node else { return None };
            let is_own =
                |expr: ExprId| scene.field(expr) == Some(self.field) && scene.is_of_receiver(expr);
            let sets = match &scene.file.stmt(stmt).kind {
                StmtKind::Assign { left, op: None, right } if left.len() == right.len() => {
                    left.iter().zip(right).any(|(&left, &right)| is_own(left) && changes(right))
                }
                StmtKind::Expr(call) => scene.method_call(*call).is_some_and(|(base, name)| {
                    let value = scene.args(*call).first();
                    name.name.as_str() == "Store"
                        && is_own(base)
                        && value.is_some_and(|&value| changes(value))
                }),
                _ => false,
            };
            let asks = || {
                let at = scene.step_of(graph, node)?;
                let mut above = conditions_above(graph, at).filter_map(EdgeKind::condition);
                above.any(|(asked, _)| asked == self.asked).then_some(stmt)
            };
            (sets && scene.literal_around(node).is_none()).then(asks)?
        })
    }
}

/// Whether something decides between a lock and a close whether to go on: whatever that is, it may know.
fn is_asked_again(scene: &Scene<'_>, lock: &Taken, close: &Op) -> bool {
    let (from, to) = (scene.span(Node::Expr(lock.call)).end, scene.span(close.node));
    let leaves = |stmt: StmtId| {
        scene.file.descendants(Node::Stmt(stmt)).any(|node| match node {
            Node::Stmt(inner) => {
                let kind = &scene.file.stmt(inner).kind;
                matches!(kind, StmtKind::Return(_) | StmtKind::Branch { .. })
            }
            _ => false,
        })
    };
    scene.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let decides = matches!(
            scene.file.stmt(stmt).kind,
            StmtKind::If { .. }
                | StmtKind::Switch { .. }
                | StmtKind::TypeSwitch { .. }
                | StmtKind::Select(_)
                | StmtKind::For { .. }
                | StmtKind::Range { .. }
        );
        let span = scene.span(node);
        let between = span.start > from && span.start < to.start;
        decides && between && (span.contains(to) || leaves(stmt))
    })
}

/// Whether a function takes something that is called a lock and is not known, or runs a function once: that may
/// keep others out.
fn has_other_locks(scene: &Scene<'_>) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        let Some((_, name)) = scene.method_call(call) else { return false };
        let name = name.name.as_str().to_ascii_lowercase();
        let locks = name.contains("lock") && !name.contains("unlock") || name.contains("acquire");
        locks && taken(scene, call).is_none() || name == "do"
    })
}

/// Whether some of the package call a method by its name, and all of them hold a lock then.
fn are_callers_locked(scene: &Scene<'_>, locks: &Locks) -> bool {
    let uses = scene.cx.package.uses();
    let calls = uses.calls.get(&scene.cx.func).map_or(&[][..], Vec::as_slice);
    let is_locked = |&(caller, call): &(FuncId, ExprId)| {
        Scene::of(&scene.cx.package, caller)
            .is_some_and(|caller| !held_by(&caller, locks, call).is_empty())
    };
    !calls.is_empty() && calls.iter().all(is_locked)
}
