//! A goroutine that waits for its own end.
//!
//! Evidence: a body defers `x.wg.Done()`, or the close of `x.done`, and on some way calls in turn a method
//! of the same `x` which, itself or in what it calls for its receiver, waits for that counter, or receives
//! from that channel with nothing beside. What is deferred runs when the body is left, and it is not left
//! before the call is over. Where a parameter says whether to wait, or a field that was set or closed on the way there,
//! nothing is known.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Step, StepId};
use crate::index::{Builtin, Callee, Def, FuncId, LocalId, LocalKind, Type};
use crate::rules::conditions::condition;
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::fields;
use crate::rules::evidence::{confidence, first_line, wait_group};
use crate::rules::scene::{Scene, holds_any};
use crate::rules::{FunctionCx, PackageCx};
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A counter (`sync.WaitGroup`).
    Counter,
    /// The close of a channel.
    Close,
}

/// How many calls lie at most between the goroutine and the wait.
const MAX_CALLS: u32 = 2;

/// Reports the bodies that wait for their own end.
pub(super) fn check(package: &PackageCx<'_>, awaited: Awaited, findings: &mut Vec<Finding>) {
    let words: &[&str] = match awaited {
        Awaited::Counter => &[".Done()"],
        Awaited::Close => &["close("],
    };
    let funcs = package.index.package(package.package).funcs.iter();
    for func in funcs.filter(|func| package.counts_in(func)) {
        let cx = FunctionCx { package: *package, func: func.id };
        if holds_any(&cx, &["defer "])
            && holds_any(&cx, words)
            && let Some(scene) = Scene::new(cx)
        {
            for &node in scene.nodes.iter() {
                let Node::Expr(call) = node else { continue };
                if let Some(end) = End::of(&scene, call, awaited) {
                    findings.extend(end.waited_for(&scene, awaited));
                }
            }
        }
    }
}

/// The end of a body, which tells of itself.
struct End {
    /// The call that tells of it.
    told: ExprId,
    /// The literal whose end it is.
    literal: Option<ExprId>,
    /// What others reach the counter or channel by, and which field it is.
    root: LocalId,
    path: String,
    field: Location,
}

impl End {
    fn of(scene: &Scene<'_>, call: ExprId, awaited: Awaited) -> Option<End> {
        let subject = match awaited {
            Awaited::Counter => {
                let (base, name) = scene.method_call(call)?;
                (name.name.as_str() == "Done" && scene.args(call).is_empty()).then_some(base)?
            }
            Awaited::Close => {
                let closes = matches!(scene.info.callee(call), Callee::Builtin(Builtin::Close));
                *scene.args(call).first().filter(|_| closes)?
            }
        };
        let inner = scene.literal_around(Node::Expr(call));
        let literal = match scene.is_deferred(call) {
            true => inner,
            // At the top of a literal that is deferred.
            false => {
                let inner = inner?;
                let Some(Node::Expr(around)) = scene.parent(Node::Expr(inner)) else { return None };
                let top = scene.parent(Node::Expr(call)).and_then(|stmt| scene.parent(stmt));
                let is_top = top == Some(Node::Stmt(scene.body_of(Some(inner))));
                (scene.is_deferred(around) && is_top)
                    .then(|| scene.literal_around(Node::Expr(inner)))?
            }
        };
        let root = root_variable(scene, subject)??;
        let Def::Field(selection) = scene.info.resolve(scene.file.unparen(subject)) else {
            return None;
        };
        let field = selection.location?;
        Some(End { told: call, literal, root, path: fields(scene, subject), field })
    }

    /// The call in the body that waits for it.
    fn waited_for(&self, scene: &Scene<'_>, awaited: Awaited) -> Option<Finding> {
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let once = read.function.definitions_of(self.root).count() <= 1;
        let cfg = scene.graph(self.literal)?;
        let deferred = self.deferred_at(scene, &cfg)?;
        scene.methods_in_turn(self.literal).filter(|_| once).find_map(|(call, callee, base)| {
            let step = cfg.step_of_expr(call)?;
            if root_variable(scene, base)? != Some(self.root) || !cfg.reaches(deferred, step) {
                return None;
            }
            let rest = self.path.strip_prefix(&fields(scene, base))?;
            let wait = Wait { field: self.field, awaited };
            let told = told_before(scene, self.literal, call);
            let waits = wait.below(scene, (callee, rest), MAX_CALLS, &told)?;
            // Who is told that everything ends finds that the wait is left out.
            (!waits.may_be_left_out || !is_in_arm(scene, Node::Expr(call)))
                .then(|| self.tell(scene, call, awaited, &waits))
        })
    }

    fn deferred_at(&self, scene: &Scene<'_>, cfg: &Cfg) -> Option<StepId> {
        let inner = scene.literal_around(Node::Expr(self.told));
        match inner == self.literal {
            true => cfg.step_of_expr(self.told),
            false => match scene.parent(Node::Expr(inner?)) {
                Some(Node::Expr(call)) => cfg.step_of_expr(call),
                _ => None,
            },
        }
    }

    fn tell(&self, scene: &Scene<'_>, call: ExprId, awaited: Awaited, waits: &Waits) -> Finding {
        let owner = match self.literal {
            None => format!("`{}`", scene.name.name),
            Some(_) => "this goroutine".to_owned(),
        };
        let what = match awaited {
            Awaited::Counter => "counts it down",
            Awaited::Close => "closes it",
        };
        let message = format!(
            "{owner} waits here for `{}`, and only its own end {what}: it never gets there",
            waits.text
        );
        let span = first_line(scene, scene.span(Node::Expr(call)));
        let mut finding = scene.cx.finding(span, "never returns", message);
        finding.confidence = confidence(scene);
        finding.labels.push(Label {
            location: scene.cx.location(first_line(scene, scene.span(Node::Expr(self.told)))),
            role: Role::Context,
            message: "this runs when it has returned".to_owned(),
        });
        finding.labels.push(Label {
            location: waits.location,
            role: Role::Stuck,
            message: "waits here".to_owned(),
        });
        finding.defect = waits.location;
        finding.why =
            "what is deferred runs when the goroutine is over, and it waits before".to_owned();
        finding.help =
            "start what ends everything in a goroutine of its own, or return and let others do it"
                .to_owned();
        finding
    }
}

/// A wait of a method for something that its receiver has.
struct Wait {
    field: Location,
    awaited: Awaited,
}

/// Where that is.
struct Waits {
    location: Location,
    text: String,
    /// Whether some way through the method passes no wait.
    may_be_left_out: bool,
}

impl Wait {
    /// Where a method waits for the field that `path` leads to from its receiver, in turn and whatever it is given, or
    /// is `told` by fields that its callers set or close before.
    fn below(
        &self,
        from: &Scene<'_>,
        (func, path): (FuncId, &str),
        depth: u32,
        told: &[Location],
    ) -> Option<Waits> {
        if func.package != from.cx.func.package || func == from.cx.func {
            return None;
        }
        let scene = Scene::new(FunctionCx { func, ..from.cx })?;
        let receiver = scene.receiver()?;
        let own = scene.nodes.iter().find_map(|&node| {
            let Node::Expr(expr) = node else { return None };
            let subject = self.subject(&scene, expr)?;
            let named = root_variable(&scene, subject)? == Some(receiver)
                && fields(&scene, subject) == path
                && matches!(scene.info.resolve(scene.file.unparen(subject)), Def::Field(selection)
                    if selection.location == Some(self.field));
            let runs = named && is_always_run(&scene, node) && !is_told(&scene, node, told);
            runs.then(|| Waits {
                location: scene.cx.location(first_line(&scene, scene.span(node))),
                text: scene.text(subject),
                may_be_left_out: may_be_left_out(&scene, node),
            })
        });
        let deeper = || {
            let depth = depth.checked_sub(1)?;
            let once = scene.nodes.iter().filter_map(|&node| match node {
                Node::Expr(literal) => once_given(&scene, literal).map(|_| Some(literal)),
                _ => None,
            });
            let bodies = [None].into_iter().chain(once);
            let mut called = bodies.flat_map(|literal| {
                scene.methods_in_turn(literal).map(move |called| (literal, called))
            });
            called.find_map(|(literal, (call, callee, base))| {
                let node = Node::Expr(call);
                let rest = path.strip_prefix(&fields(&scene, base))?;
                let of_receiver = root_variable(&scene, base)? == Some(receiver);
                let told = [told, &told_before(&scene, literal, call)].concat();
                let waits = (of_receiver && is_always_run(&scene, node))
                    .then(|| self.below(&scene, (callee, rest), depth, &told))??;
                let may_be_left_out = waits.may_be_left_out || may_be_left_out(&scene, node);
                Some(Waits { may_be_left_out, ..waits })
            })
        };
        own.or_else(deeper)
    }

    /// What an expression waits for.
    fn subject(&self, scene: &Scene<'_>, expr: ExprId) -> Option<ExprId> {
        match self.awaited {
            Awaited::Counter => {
                let group = wait_group::of_call(scene, expr, "Wait");
                group.filter(|_| scene.go_of(expr).is_none())
            }
            Awaited::Close => match scene.file.expr(expr).kind {
                ExprKind::Unary { op: UnaryOp::Recv, operand } => {
                    (!scene.is_arm(expr)).then(|| scene.file.unparen(operand))
                }
                _ => None,
            },
        }
    }
}

/// The fields that a body sets or closes before a call.
fn told_before(scene: &Scene<'_>, literal: Option<ExprId>, call: ExprId) -> Vec<Location> {
    let Some(cfg) = scene.graph(literal) else { return Vec::new() };
    let Some(at) = cfg.step_of_expr(call) else { return Vec::new() };
    let told = scene.nodes.iter().flat_map(|&node| {
        let targets: &[ExprId] = match node {
            Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
                StmtKind::Assign { left, .. } => left,
                _ => &[],
            },
            Node::Expr(call) => match scene.info.callee(call) {
                Callee::Builtin(Builtin::Close) => scene.args(call),
                _ => &[],
            },
            Node::Decl(_) => &[],
        };
        let before =
            || scene.step_of(&cfg, node).is_some_and(|step| step != at && cfg.reaches(step, at));
        let here = !targets.is_empty() && scene.literal_around(node) == literal && before();
        targets.iter().filter(move |_| here).filter_map(|&target| scene.field(target))
    });
    told.collect()
}

/// Whether a wait may be left out, and the function looks before at something that it was told by.
fn is_told(scene: &Scene<'_>, wait: Node, told: &[Location]) -> bool {
    let start = scene.span(wait).start;
    let looks = |node: Node| {
        let Node::Expr(read) = node else { return false };
        scene.span(node).start < start
            && scene.field(read).is_some_and(|field| told.contains(&field))
            && !scene.is_target(read)
    };
    !told.is_empty() && may_be_left_out(scene, wait) && scene.nodes.iter().any(|&node| looks(node))
}

/// Whether a node runs in turn, also as what is done once, and no condition on it looks at a parameter.
fn is_always_run(scene: &Scene<'_>, node: Node) -> bool {
    is_unconditional(scene, once_of(scene, node).unwrap_or(node)) && asks_no_parameter(scene, node)
}

/// The call of `Do` of a `sync.Once` that runs the literal in which a node stands. Who comes second waits there for
/// the first.
fn once_of(scene: &Scene<'_>, node: Node) -> Option<Node> {
    once_given(scene, scene.literal_around(node)?)
}

/// The call of `Do` of a `sync.Once` that is given a literal.
fn once_given(scene: &Scene<'_>, literal: ExprId) -> Option<Node> {
    if !matches!(scene.file.expr(literal).kind, ExprKind::FuncLit(_)) {
        return None;
    }
    let Node::Expr(call) = scene.parent(Node::Expr(literal))? else { return None };
    let (base, name) = scene.method_call(call)?;
    let is_once = scene.info.type_of(base).strip_pointer().is_named("sync", "Once");
    (is_once && name.name.as_str() == "Do").then_some(Node::Expr(call))
}

/// Whether a way through a function passes none that stands at a node.
fn may_be_left_out(scene: &Scene<'_>, node: Node) -> bool {
    let left_out = |node: Node| {
        let Some(cfg) = scene.graph(scene.literal_around(node)) else { return true };
        let Some(at) = scene.step_of(&cfg, node) else { return true };
        cfg.leaves_without(&|step| step == at)
    };
    left_out(node) || once_of(scene, node).is_some_and(left_out)
}

/// Whether a node stands in an arm of a `select` that may hear of an end: a timer tells of none.
fn is_in_arm(scene: &Scene<'_>, node: Node) -> bool {
    let home = scene.literal_around(node);
    let is_timer = |channel: ExprId| match scene.cx.index().underlying(scene.info.type_of(channel))
    {
        Type::Chan(_, element) => element.is_named("time", "Time"),
        _ => false,
    };
    scene.around(node).any(|around| {
        let Node::Stmt(stmt) = around else { return false };
        let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind else { return false };
        let arm = clauses.iter().find(|clause| clause.span.contains(scene.span(node)));
        let heard = arm.and_then(|arm| Step::Comm(arm.comm?).received_from(scene.file));
        scene.literal_around(around) == home && !heard.is_some_and(is_timer)
    })
}

/// Whether a node runs in turn, and no condition on it looks at a parameter.
pub(super) fn is_unconditional(scene: &Scene<'_>, node: Node) -> bool {
    scene.literal_around(node).is_none() && asks_no_parameter(scene, node)
}

/// Whether no condition on a node looks at a parameter, also one that leaves before, and none is a `switch` or
/// `select`.
fn asks_no_parameter(scene: &Scene<'_>, node: Node) -> bool {
    let is_param = |local: LocalId| matches!(scene.info.local(local).kind, LocalKind::Param(_));
    let asks = |cond: ExprId| {
        scene.file.descendants(Node::Expr(cond)).any(|part| match part {
            Node::Expr(part) => scene.local(part).is_some_and(is_param),
            _ => false,
        })
    };
    let leaves_before = || {
        let cfg = scene.graph(scene.literal_around(node))?;
        let at = scene.step_of(&cfg, node)?;
        Some(cfg.blocks().any(|block| {
            let edges = cfg.edges_of(block).iter();
            let mut asking = edges.filter(|edge| condition(edge.kind).is_some_and(asks));
            let first = asking.next().map(|edge| cfg.leads(edge, at));
            first.is_some_and(|leads_on| asking.any(|edge| cfg.leads(edge, at) != leads_on))
        }))
    };
    scene.around(node).all(|around| match around {
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::If { cond, .. } => !asks(cond),
            StmtKind::Switch { .. } | StmtKind::Select(_) => false,
            _ => true,
        },
        _ => true,
    }) && !leaves_before().unwrap_or(false)
}
