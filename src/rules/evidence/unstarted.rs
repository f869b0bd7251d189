//! A wait for the end of a goroutine that was not started.
//!
//! Evidence: one function makes a channel, and starts the only goroutine that closes it, as that does on all
//! its ways; on another way the function returns without having started it, and says of no error. The channel is
//! a field of its receiver, or of what it returns there. A method of that receives from it with nothing beside,
//! and asks for nothing that the function speaks of: it waits for the end of what has never begun.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, Exit, Passing, Path, PathEnd, Start, StepId, Walk};
use crate::index::{FuncId, Type};
use crate::rules::FunctionCx;
use crate::rules::conditions::{Conditions, Decided, Way, condition};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::skipped::is_done_on_all_ways;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::summary::BodyId;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// Reports the waits for goroutines that may never have been started.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()) {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let make = group.only_make()?;
    let with = |act: Act| group.ops.iter().filter(move |op| op.act == act);
    let (mut closes, others) = (with(Act::Close), with(Act::Send).chain(with(Act::Notify)));
    let (Some(close), None, 0) = (closes.next(), closes.next(), others.count()) else {
        return None;
    };
    if make.literal.is_some() || !is_done_on_all_ways(&groups.scenes[close.scene], close) {
        return None;
    }
    let maker = &groups.scenes[make.scene];
    let started = start_of(groups, maker, close)?;
    let waiter = with(Act::Receive).find(|op| {
        let scene = &groups.scenes[op.scene];
        op.select.is_none()
            && op.scene != make.scene
            && op.scene != close.scene
            && is_own_field(scene, op.channel)
            && comes_to(scene, op)
            && !asks_what_is_spoken_of(scene, op, maker)
    })?;
    let read = maker.cx.summaries().read(maker.cx.func)?;
    let cfg = &read.function.body(BodyId::OWN).cfg;
    let (made, started) = (maker.step_of(cfg, make.node)?, cfg.step_of_stmt(started)?);
    let conditions = Conditions::new(&read.function, BodyId::OWN);
    let Type::Func(signature) = maker.cx.index().func_type(maker.cx.func) else { return None };
    let of_error = signature.results.last().is_some_and(|result| result.is_error());
    let keeps = is_kept(maker, make.node);
    let way = Way { conditions: &conditions, to: &|_| false, settled: &|step| step == started };
    let mut walk = Past { maker, make: make.node, keeps, of_error, way };
    let paths = cfg.search(Start::After(made), conditions.known_after(cfg, made), &mut walk);
    let path = paths.first()?;
    let started = cfg.step(started).span(maker.file);
    Some(tell(groups, (make, close, waiter), started, path))
}

/// The statement by which the maker of a channel starts who closes it, if nobody else runs that.
fn start_of(groups: &Groups<'_>, maker: &Scene<'_>, close: &Op) -> Option<StmtId> {
    let closer = &groups.scenes[close.scene];
    let Some(literal) = close.literal else {
        return only_start(maker, closer.cx.func);
    };
    let start = closer.go_around(literal)?;
    let own = closer.cx.func == maker.cx.func && closer.literal_around(Node::Stmt(start)).is_none();
    own.then_some(start)
}

/// The statement by which a function starts another one, if nothing else outside of tests names that.
fn only_start(maker: &Scene<'_>, func: FuncId) -> Option<StmtId> {
    let [(user, _)] = maker.cx.package.named_outside_tests(func)[..] else { return None };
    let (start, _) = maker.starts(func).next().filter(|_| user == maker.cx.func)?;
    maker.literal_around(Node::Stmt(start)).is_none().then_some(start)
}

/// Whether a function itself comes to a wait whatever is decided around it.
fn comes_to(scene: &Scene<'_>, wait: &Op) -> bool {
    let own = scene.body_of(None);
    let mut around = scene.around(wait.node).take_while(|&around| around != Node::Stmt(own));
    wait.literal.is_none()
        && around.all(|around| match around {
            Node::Stmt(stmt) => !matches!(
                scene.file.stmt(stmt).kind,
                StmtKind::If { .. } | StmtKind::Switch { .. } | StmtKind::Select(_)
            ),
            _ => true,
        })
}

/// Whether a condition in the function of a wait asks for a field that the maker speaks of, or whoever calls it
/// does: what decides there may be whether there is something to wait for.
fn asks_what_is_spoken_of(scene: &Scene<'_>, wait: &Op, maker: &Scene<'_>) -> bool {
    let spoken = fields(maker, |_| true);
    let asked = |scene: &Scene<'_>| {
        let is_asked = |expr: ExprId| {
            scene.around(Node::Expr(expr)).any(|around| match around {
                Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
                    StmtKind::If { cond, .. } => {
                        scene.span(Node::Expr(*cond)).contains(scene.span(Node::Expr(expr)))
                    }
                    _ => false,
                },
                _ => false,
            })
        };
        fields(scene, is_asked)
    };
    let own = scene.selector(wait.channel).map(|(_, name)| name.name);
    let is_spoken = |field: &Symbol| spoken.contains(field) || own == Some(*field);
    let uses = scene.cx.package.uses();
    let calls = uses.calls.get(&scene.cx.func).map_or(&[][..], Vec::as_slice);
    asked(scene).iter().any(is_spoken)
        || calls.iter().any(|&(func, _)| {
            let caller = Scene::new(FunctionCx { func, ..scene.cx });
            caller.is_none_or(|caller| asked(&caller).iter().any(is_spoken))
        })
}

/// The names of the fields that a function speaks of in the expressions that are wanted.
fn fields(scene: &Scene<'_>, wanted: impl Fn(ExprId) -> bool) -> Vec<Symbol> {
    let mut names = Vec::new();
    for &node in scene.nodes.iter() {
        let Node::Expr(expr) = node else { continue };
        if !wanted(expr) {
            continue;
        }
        names.extend(scene.selector(expr).map(|(_, name)| name.name));
        if let ExprKind::CompositeLit { elements, .. } = &scene.file.expr(expr).kind {
            let keys = elements.iter().filter_map(|element| element.key);
            names.extend(keys.filter_map(|key| match scene.file.expr(key).kind {
                ExprKind::Ident(name) => Some(name),
                _ => None,
            }));
        }
    }
    names
}

/// Looks for a way out past the start of the goroutine, on which nothing is said to have failed.
struct Past<'p, 'a> {
    maker: &'p Scene<'a>,
    /// Where the channel is made, and whether the receiver keeps it.
    make: Node,
    keeps: bool,
    /// Whether the function gives an error.
    of_error: bool,
    /// Past the start.
    way: Way<'p>,
}

impl Walk for Past<'_, '_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        self.way.step(decided, step)
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        self.way.edge(decided, edge)
    }

    fn exit(&mut self, _: &Decided, exit: Exit) -> bool {
        let Exit::Return(stmt) = exit else { return matches!(exit, Exit::End) };
        let StmtKind::Return(results) = &self.maker.file.stmt(stmt).kind else { return false };
        let fails = || results.last().is_none_or(|&last| !self.maker.is_nil(last));
        if self.of_error && fails() {
            return false;
        }
        self.keeps || results.first().is_some_and(|&first| self.is_made_there(first))
    }
}

impl Past<'_, '_> {
    /// Whether a value is the one in whose definition the channel is made.
    fn is_made_there(&self, value: ExprId) -> bool {
        let made = self.maker.span(self.make);
        let holds = |value: ExprId| self.maker.span(Node::Expr(value)).contains(made);
        let defines = |&node: &Node| {
            let Some((targets, values)) = self.maker.assignment(node) else { return false };
            let mut pairs = targets.iter().zip(values);
            pairs.any(|(target, &given)| {
                target.is_some() && *target == self.maker.local(value) && holds(given)
            })
        };
        holds(value) || self.maker.nodes.iter().any(defines)
    }
}

/// Whether what a node makes is stored in a field of the receiver.
fn is_kept(maker: &Scene<'_>, make: Node) -> bool {
    let Some(Node::Stmt(stmt)) = maker.parent(make) else { return false };
    match &maker.file.stmt(stmt).kind {
        StmtKind::Assign { left, right, .. } => {
            let mut pairs = left.iter().zip(right);
            pairs.any(|(&field, &value)| Node::Expr(value) == make && is_own_field(maker, field))
        }
        _ => false,
    }
}

/// Whether an expression is a field of the receiver.
fn is_own_field(scene: &Scene<'_>, channel: ExprId) -> bool {
    let base = scene.selector(channel).and_then(|(base, _)| scene.local(base));
    base.is_some() && base == scene.receiver()
}

fn tell(
    groups: &Groups<'_>,
    (make, close, waiter): (&Op, &Op, &Op),
    started: Span,
    path: &Path<Decided>,
) -> Finding {
    let [maker, closer, scene] = [make, close, waiter].map(|op| &groups.scenes[op.scene]);
    let name = scene.text(waiter.channel);
    let message = format!(
        "nobody is left to close `{name}` when `{}` has returned without starting who does",
        maker.name.name
    );
    let span = first_line(scene, waiter.span(scene));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(maker);
    finding.defect = maker.cx.location(maker.span(make.node));
    let mut label = |scene: &Scene<'_>, span: Span, role: Role, message: &str| {
        let location = scene.cx.location(first_line(scene, span));
        finding.labels.push(Label { location, role, message: message.to_owned() });
    };
    label(maker, maker.span(make.node), Role::Made, "made here");
    if let Some(decided) = path.decisions().filter_map(condition).next_back() {
        label(maker, maker.span(Node::Expr(decided)), Role::Condition, "decided here");
    }
    label(maker, started, Role::Context, "on another way the goroutine is started here");
    if let PathEnd::Exit(_, Exit::Return(stmt)) = path.end {
        let left = maker.span(Node::Stmt(stmt));
        label(maker, left, Role::Left, "it returns here without having started it");
    }
    label(closer, close.span(closer), Role::Context, "that alone closes the channel");
    finding.why = format!("what closes `{name}` at its end has never begun");
    finding.help =
        "make the channel where the goroutine is started, and do not wait where there is \
                    none, or close it on the other way too"
            .to_owned();
    finding
}
