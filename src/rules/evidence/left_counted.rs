//! A function that counts a goroutine in a `WaitGroup` that others wait for, and leaves before it starts it.
//!
//! Evidence: `x.wg.Add(1)`, and further down a `go` statement whose goroutine calls `Done` on that group; nothing
//! else of the package calls it. From the `Add` a way leads to a `return` past nothing that starts the goroutine,
//! names the group, or may do so. Somebody waits for the group, or it came from somebody.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Exit, PathEnd, Start, Step, StepId};
use crate::index::{Builtin, Callee, Constant, LocalKind, Type};
use crate::rules::PackageCx;
use crate::rules::conditions::{Conditions, Way, WayOut, condition};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{Object, fields, object};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::summary::Act;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// Reports the goroutines of the package that are counted and not started.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &[".Add(1)"]) {
        return;
    }
    for scene in outside_tests(package, &[".Add(1)"]).filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            if let Node::Expr(call) = node
                && let Some(added) = Added::of(&scene, call)
            {
                findings.extend(added.left(package));
            }
        }
    }
}

/// A call of `Add`, and the goroutine that it counts.
struct Added<'s, 'a> {
    scene: &'s Scene<'a>,
    add: ExprId,
    /// The group, as it is written, and the field that it is.
    group: ExprId,
    text: String,
    field: Option<Object>,
    starts: Vec<StmtId>,
}

impl<'s, 'a> Added<'s, 'a> {
    fn of(scene: &'s Scene<'a>, add: ExprId) -> Option<Added<'s, 'a>> {
        let (group, name) = scene.method_call(add)?;
        let one = |arg: ExprId| matches!(scene.info.constant(arg), Some(Constant::Int(1)));
        if name.name.as_str() != "Add" || !matches!(scene.args(add), &[arg] if one(arg)) {
            return None;
        }
        let ty = scene.info.type_of(group);
        // What the function declares itself is another form's.
        let own = scene.local(group).is_some_and(|local| {
            scene.info.local(local).kind == LocalKind::Var && !matches!(ty, Type::Pointer(_))
        });
        if own || !ty.strip_pointer().is_named("sync", "WaitGroup") {
            return None;
        }
        let literal = scene.literal_around(Node::Expr(add));
        let (text, field) = (scene.text(group), object(scene, group));
        let mut added = Added { scene, add, group, text, field, starts: Vec::new() };
        let starts = scene.nodes.iter().filter_map(|&node| match node {
            Node::Stmt(stmt) if scene.literal_around(node) == literal => Some(stmt),
            _ => None,
        });
        added.starts = starts.filter(|&start| added.is_counted(start)).collect();
        (!added.starts.is_empty()).then_some(added)
    }

    /// Whether a statement starts a goroutine that counts the group down.
    fn is_counted(&self, start: StmtId) -> bool {
        let scene = self.scene;
        let StmtKind::Go(call) = scene.file.stmt(start).kind else { return false };
        let call = scene.file.unparen(call);
        let done = format!("{}.Done()", self.text);
        let in_text = scene.file.source.text(scene.span(Node::Stmt(start))).contains(&done);
        let by_method = || {
            let Callee::Func(func) = *scene.info.callee(call) else { return false };
            let Some((base, _)) = scene.method_call(call) else { return false };
            let Some(started) = Scene::of(&scene.cx.package, func) else { return false };
            root_variable(scene, base) == root_variable(scene, self.group)
                && started.receiver().is_some()
                && dones(&started).any(|group| {
                    root_variable(&started, group) == Some(started.receiver())
                        && Some(&*fields(&started, group))
                            == fields(scene, self.group).strip_prefix(&fields(scene, base))
                })
        };
        in_text || by_method()
    }

    /// Where the function leaves without the goroutine.
    fn left(&self, package: &PackageCx<'_>) -> Option<Finding> {
        let scene = self.scene;
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let variable = root_variable(scene, self.group)?;
        let once = variable.is_none_or(|local| read.function.definitions_of(local).count() <= 1);
        let literal = scene.literal_around(Node::Expr(self.add));
        let cfg = scene.graph(literal)?;
        let at = cfg.step_of_expr(self.add)?;
        let starts: Vec<StepId> =
            self.starts.iter().filter_map(|&start| cfg.step_of_stmt(start)).collect();
        if !once || !starts.iter().any(|&start| cfg.reaches(at, start)) {
            return None;
        }
        let conditions = Conditions::new(&read.function, read.function.body_of(literal)?);
        let settled = |step: StepId| starts.contains(&step) || self.settles(cfg.step(step));
        let way = Way { conditions: &conditions, to: &|_| false, settled: &settled };
        let paths =
            cfg.search(Start::After(at), conditions.known_after(&cfg, at), &mut WayOut(way));
        let (path, returned) = paths.iter().find_map(|path| match path.end {
            PathEnd::Exit(_, Exit::Return(stmt)) => Some((path, stmt)),
            _ => None,
        })?;
        if !self.is_alone(package) {
            return None;
        }
        let last = path.decisions().filter_map(condition).next_back();
        Some(self.tell(returned, last))
    }

    /// Whether a step may count the group down, or see to it that others do.
    fn settles(&self, step: Step) -> bool {
        let scene = self.scene;
        if scene.file.source.text(step.span(scene.file)).contains(&self.text) {
            return true;
        }
        let Some(call) = step.call(scene.file) else { return false };
        match *scene.info.callee(call) {
            Callee::Builtin(builtin) => builtin == Builtin::Panic,
            Callee::Conversion(_) | Callee::External(_) | Callee::InterfaceMethod(_) => false,
            // What is declared elsewhere would have to be given the group.
            Callee::Func(func) if func.package != scene.cx.func.package => false,
            Callee::Func(func) => {
                let summary = scene.cx.summaries().of(func);
                summary.is_none_or(|summary| {
                    summary.deeds.iter().any(|deed| match deed.act {
                        Act::Method(name) => name.as_str() == "Done",
                        _ => false,
                    })
                })
            }
            // Whose value it is may be a literal that names the group.
            _ => !matches!(scene.file.expr(call).kind, ExprKind::Call { callee, .. }
                if scene.selector(callee).is_some()),
        }
    }

    /// Whether what counts down is what the function starts, and somebody waits.
    fn is_alone(&self, package: &PackageCx<'_>) -> bool {
        let Some(field) = self.field else { return true };
        let scene = self.scene;
        let started: Vec<_> = self
            .starts
            .iter()
            .filter_map(|&start| match scene.file.stmt(start).kind {
                StmtKind::Go(call) => match *scene.info.callee(scene.file.unparen(call)) {
                    Callee::Func(func) => Some(func),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        let others = outside_tests(package, &[".Done()", ".Add(-"]).filter_map(Scene::new);
        let mut others = others
            .filter(|other| other.cx.func != scene.cx.func && !started.contains(&other.cx.func));
        let counts = |other: Scene<'_>| {
            dones(&other).any(|group| object(&other, group).is_none_or(|other| other == field))
        };
        let waits = |other: Scene<'_>| {
            other.nodes.iter().any(|&node| {
                let Node::Expr(call) = node else { return false };
                let Some((group, name)) = other.method_call(call) else { return false };
                name.name.as_str() == "Wait" && object(&other, group) == Some(field)
            })
        };
        !others.any(counts)
            && outside_tests(package, &[".Wait()"]).filter_map(Scene::new).any(waits)
    }

    fn tell(&self, returned: StmtId, last: Option<ExprId>) -> Finding {
        let (scene, name) = (self.scene, &self.text);
        let message = format!(
            "`{name}` counts a goroutine here that is not started on every way: who waits for it waits for ever"
        );
        let span = first_line(scene, scene.span(Node::Expr(self.add)));
        let mut finding = scene.cx.finding(span, "counted up here", message);
        finding.confidence = confidence(scene);
        let mut label = |node: Node, role: Role, message: &str| {
            finding.labels.push(Label {
                location: scene.cx.location(first_line(scene, scene.span(node))),
                role,
                message: message.to_owned(),
            });
        };
        if let Some(last) = last {
            label(Node::Expr(last), Role::Condition, "decided here");
        }
        label(Node::Stmt(returned), Role::Left, "left without the goroutine that counts it down");
        label(Node::Stmt(self.starts[0]), Role::Started, "only this goroutine counts it down");
        finding.why = format!("nobody else calls `{name}.Done()`");
        finding.help = format!("call `{name}.Add(1)` right before the goroutine is started");
        finding
    }
}

/// The groups that a function counts down, as they are written.
fn dones(scene: &Scene<'_>) -> impl Iterator<Item = ExprId> {
    scene.nodes.iter().filter_map(|&node| {
        let Node::Expr(call) = node else { return None };
        let (group, name) = scene.method_call(call)?;
        let is_group = || match scene.info.type_of(group).strip_pointer() {
            Type::Unknown => true,
            ty => ty.is_named("sync", "WaitGroup"),
        };
        let is_down = match (name.name.as_str(), scene.args(call)) {
            ("Done", []) => true,
            ("Add", &[delta]) => {
                !matches!(scene.info.constant(delta), Some(Constant::Int(delta)) if *delta > 0)
            }
            _ => false,
        };
        (is_down && is_group()).then_some(group)
    })
}
