//! A goroutine that is counted in a `WaitGroup` only after it has been started.
//!
//! Evidence: a `go` statement starts a literal that calls `Done` on a group and waits for no channel itself, and the
//! very next statement calls `Add` on it; the package adds to the group nowhere else. The goroutine may come to its
//! `Done` first: "if the counter goes negative, Add panics" (<https://pkg.go.dev/sync#WaitGroup.Add>); and a `Wait`
//! in between waits for nobody.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::{Callee, FuncId, LocalId, Type};
use crate::rules::PackageCx;
use crate::rules::evidence::locks::{Object, object};
use crate::rules::evidence::{first_line, wait_group};
use crate::rules::scene::{Scene, counts_where, is_beside_tests, outside_tests};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// Reports the goroutines of the package that are counted too late.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &[".Add("]) {
        return;
    }
    for cx in outside_tests(package, &[".Add("]).filter(|cx| package.counts_in(cx.declared())) {
        let Some(scene) = Scene::new(cx) else { continue };
        let late: Vec<Late> = scene.nodes.iter().flat_map(|&node| Late::of(&scene, node)).collect();
        for one in &late {
            let of_this = late.iter().filter(|other| other.group == one.group).count();
            if adds_to(package, one.group) == of_this {
                findings.push(one.tell(&scene));
            }
        }
    }
}

/// How often the package adds to a group.
fn adds_to(package: &PackageCx<'_>, group: Group) -> usize {
    let adds = |scene: Scene<'_>| {
        let is_add = |&&node: &&Node| match node {
            Node::Expr(call) => {
                ["Add", "Go"].iter().any(|method| counter(&scene, call, method) == Some(group))
            }
            _ => false,
        };
        scene.nodes.iter().filter(is_add).count()
    };
    outside_tests(package, &[".Add(", ".Go("]).filter_map(Scene::new).map(adds).sum()
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
        let pairs = scene.file.block(block).windows(2);
        pairs.filter_map(|pair| Late::of_pair(scene, pair[0], pair[1])).collect()
    }

    /// The goroutine that a statement starts, if the next one counts it.
    fn of_pair(scene: &Scene<'_>, go: StmtId, next: StmtId) -> Option<Late> {
        let StmtKind::Go(started) = scene.file.stmt(go).kind else { return None };
        let StmtKind::Expr(add) = scene.file.stmt(next).kind else { return None };
        let group = counter(scene, add, "Add")?;
        let Callee::Literal(literal) = *scene.info.callee(started) else { return None };
        let inside = || scene.file.descendants(Node::Expr(literal));
        if inside().any(|node| waits(scene, node)) {
            return None;
        }
        let done = inside().find_map(|node| match node {
            Node::Expr(call) => (counter(scene, call, "Done")? == group).then_some(call),
            _ => None,
        })?;
        Some(Late { group, go, add, done })
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

/// The group of a call of this method.
fn counter(scene: &Scene<'_>, call: ExprId, method: &str) -> Option<Group> {
    let base = wait_group::of_call(scene, call, method)?;
    match (scene.local(base), scene.info.type_of(base)) {
        // Another function may have counted up what a pointer leads to.
        (Some(_), Type::Pointer(_)) => None,
        (Some(local), _) => Some(Group::Local(scene.cx.func, local)),
        (None, _) => object(scene, base).map(Group::Shared),
    }
}
