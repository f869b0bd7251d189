//! A goroutine that is counted in a `WaitGroup` only after it has been started.
//!
//! Evidence: a `go` statement starts a literal that calls `Done` on a group and waits for no channel itself, and the
//! very next statement calls `Add` on it; the package adds to the group nowhere else. The goroutine may come to its `Done` first: "if the counter
//! goes negative, Add panics" (<https://pkg.go.dev/sync#WaitGroup.Add>); and a `Wait` in between waits for nobody.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::{FuncId, LocalId, Type};
use crate::rules::PackageCx;
use crate::rules::evidence::first_line;
use crate::rules::evidence::locks::{Object, object};
use crate::rules::scene::{Scene, counts_where, is_beside_tests, outside_tests};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// Reports the goroutines of the package that are counted too late.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &[".Add("]) {
        return;
    }
    let scenes: Vec<Scene<'_>> =
        outside_tests(package, &[".Add(", ".Go("]).filter_map(Scene::new).collect();
    for scene in scenes.iter().filter(|scene| package.counts_in(scene.cx.declared())) {
        let late: Vec<Late> = scene.nodes.iter().flat_map(|&node| Late::of(scene, node)).collect();
        for one in &late {
            let adds = |other: &Scene<'_>| {
                let calls = other.nodes.iter().filter(|&&node| adds_to(other, node, one.group));
                calls.count()
            };
            let of_this = late.iter().filter(|other| other.group == one.group).count();
            if scenes.iter().map(adds).sum::<usize>() == of_this {
                findings.push(one.tell(scene));
            }
        }
    }
}

/// A goroutine that is counted too late.
struct Late {
    group: Group,
    go: StmtId,
    add: ExprId,
    done: ExprId,
}

/// A group: a field, or a variable of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Shared(Object),
    Local(FuncId, LocalId),
}

impl Late {
    /// Those of a block.
    fn of(scene: &Scene<'_>, block: Node) -> Vec<Late> {
        let Node::Stmt(block) = block else { return Vec::new() };
        let StmtKind::Block(stmts) = &scene.file.stmt(block).kind else { return Vec::new() };
        let pairs = stmts.windows(2).filter_map(|pair| {
            let &[go, next] = pair else { return None };
            let StmtKind::Go(started) = scene.file.stmt(go).kind else { return None };
            let ExprKind::Call { callee, .. } = scene.file.expr(started).kind else { return None };
            let literal = scene.file.unparen(callee);
            let StmtKind::Expr(add) = scene.file.stmt(next).kind else { return None };
            let group = counter(scene, add, "Add")?;
            if scene.file.descendants(Node::Expr(literal)).any(|node| waits(scene, node)) {
                return None;
            }
            let is_literal = matches!(scene.file.expr(literal).kind, ExprKind::FuncLit(_));
            let mut inside =
                scene.file.descendants(Node::Expr(literal)).filter_map(|node| match node {
                    Node::Expr(call) => Some(call),
                    _ => None,
                });
            let done = inside.find(|&call| counter(scene, call, "Done") == Some(group))?;
            is_literal.then_some(Late { group, go, add, done })
        });
        pairs.collect()
    }

    fn tell(&self, scene: &Scene<'_>) -> Finding {
        let add = scene.text(self.add);
        let message = format!(
            "`{add}` comes after the goroutine that it counts has been started, which may call `{}` first",
            scene.text(self.done)
        );
        let span = first_line(scene, scene.span(Node::Stmt(self.go)));
        let mut finding = scene.cx.finding(span, "started before it is counted", message);
        // The panic comes whatever ends with the process.
        finding.confidence = match is_beside_tests(&scene.cx) {
            true => Confidence::Low,
            false => Confidence::High,
        };
        for (expr, told) in [(self.add, "counted here"), (self.done, "counted down here")] {
            finding.labels.push(Label {
                location: scene.cx.location(scene.span(Node::Expr(expr))),
                role: Role::Context,
                message: told.to_owned(),
            });
        }
        finding.why = "a counter that becomes negative panics, and a `Wait` that comes before the `Add` waits for \
                       nobody"
            .to_owned();
        finding.help = format!("put `{add}` before the `go` statement");
        finding
    }
}

/// Whether a node receives, or may: whoever counts the goroutine may be who lets it go on.
fn waits(scene: &Scene<'_>, node: Node) -> bool {
    match node {
        Node::Expr(expr) => {
            matches!(scene.file.expr(expr).kind, ExprKind::Unary { op: UnaryOp::Recv, .. })
        }
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::Select(_) => true,
            StmtKind::Range { subject, .. } => {
                let ty = scene.cx.index().underlying(scene.info.type_of(subject));
                matches!(ty, Type::Chan(..) | Type::Unknown)
            }
            _ => false,
        },
        Node::Decl(_) => false,
    }
}

fn adds_to(scene: &Scene<'_>, node: Node, group: Group) -> bool {
    let Node::Expr(call) = node else { return false };
    ["Add", "Go"].iter().any(|method| counter(scene, call, method) == Some(group))
}

/// The group of a call of this method.
fn counter(scene: &Scene<'_>, call: ExprId, method: &str) -> Option<Group> {
    let ExprKind::Call { .. } = scene.file.expr(call).kind else { return None };
    let (base, name) = scene.method_call(call)?;
    let ty = scene.info.type_of(base);
    if name.name.as_str() != method || !ty.strip_pointer().is_named("sync", "WaitGroup") {
        return None;
    }
    match (scene.local(base), ty) {
        // Another function may have counted up what a pointer leads to.
        (Some(_), Type::Pointer(_)) => None,
        (Some(local), _) => Some(Group::Local(scene.cx.func, local)),
        (None, _) => object(scene, base).map(Group::Shared),
    }
}
