//! Ways out that nobody takes while the process lives: those behind a channel or a context that nothing in
//! the run ends before.
//!
//! A finding says who leaves, and what stays when he has. Where all that makes him leave is the end of the
//! process, or a `Stop` that nobody calls, what stays hurts nobody.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Builtin, Callee, Def, Func, FuncId, LocalKind, Selection, Type};
use crate::project::PackageId;
use crate::rules::endable::kept::is_in_variables;
use crate::rules::recurrence::{all_calls, is_called_by_nobody, is_once, is_same, never_runs};
use crate::rules::scene::Scene;
use crate::rules::{FunctionCx, PackageCx, endable, stuck};
use crate::source::{Location, Span};
use crate::summary::Source;
use crate::syntax::{ChanDir, ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// How many variables, parameters and results are followed to what a channel is kept in.
const MAX_DEPTH: u32 = 5;

/// Whether what a finding tells of does not come to pass while the process lives, or no more than once: the
/// function never runs, or those who leave do so in ways that nobody takes, or only once.
///
/// The ways out of what was found by exploring belong to one story, so that one of them that is not taken is
/// enough.
pub fn is_idle(cx: &PackageCx<'_>, finding: &Finding, explored: bool) -> bool {
    if declared(cx, finding.primary).is_some_and(|func| never_runs(cx, func)) {
        return true;
    }
    let left = finding.labels.iter().filter(|label| label.role == Role::Left);
    // Who stands there does not end anything meanwhile; what was explored knows that.
    let stuck = finding.labels.iter().find(|label| label.role == Role::Stuck);
    let stuck = stuck.map_or(finding.primary, |label| label.location);
    let search = Search { stuck: declared(cx, stuck).filter(|_| !explored) };
    let untaken = |label: &Label| {
        scene_of(cx, label.location)
            .is_some_and(|scene| search.is_untaken(&scene, label.location, &label.message))
    };
    if explored {
        return left.into_iter().any(untaken);
    }
    // What is told of at the way out itself.
    let at = finding.primary;
    let scene = || scene_of(cx, at);
    let is_way_out = || scene().is_some_and(|scene| returns(&scene, at));
    let (has_left, all_untaken) = (left.clone().next().is_some(), left.clone().all(untaken));
    let untaken_here = || scene().is_some_and(|scene| search.is_untaken(&scene, at, ""));
    let left_once = || {
        has_left
            && stuck::only_stays(finding.rule)
            && left.clone().all(|label| is_once_at(cx, label.location))
    };
    match is_way_out() {
        true => all_untaken && untaken_here(),
        false => has_left && all_untaken || left_once(),
    }
}

/// The declared function of the package around a place.
fn declared(cx: &PackageCx<'_>, place: Location) -> Option<FuncId> {
    let mut declared = cx.index.package(cx.package).funcs.iter();
    let around = declared.find(|func| {
        func.file == place.file
            && cx.index.file_of(func.id).decl(func.decl).span.contains(place.span)
    });
    around.map(|func| func.id)
}

/// The same, to ask of what stands in it.
pub fn scene_of<'a>(cx: &PackageCx<'a>, place: Location) -> Option<Scene<'a>> {
    in_function(cx, declared(cx, place)?)
}

/// Whether a place is come to once in the life of the process.
fn is_once_at(cx: &PackageCx<'_>, place: Location) -> bool {
    let Some(scene) = scene_of(cx, place) else { return false };
    innermost(&scene, place).is_some_and(|node| is_once(cx, scene.cx.func, node))
}

/// The innermost node around a place.
fn innermost(scene: &Scene<'_>, place: Location) -> Option<Node> {
    scene.nodes.iter().rfind(|&&node| scene.span(node).contains(place.span)).copied()
}

/// Whether a place is a `return`.
fn returns(scene: &Scene<'_>, place: Location) -> bool {
    match scene.outermost(place.span) {
        Some(Node::Stmt(stmt)) => matches!(scene.file.stmt(stmt).kind, StmtKind::Return(_)),
        _ => false,
    }
}

/// A question about ways out.
struct Search {
    /// The function whose goroutine stays, as far as it is known: what it does later does not come to pass.
    stuck: Option<FuncId>,
}

impl Search {
    /// Whether a place stands in an arm of a `select`, or behind a wait, that nobody ends; or is a `select`, of which
    /// what is `told` says which arm is meant.
    fn is_untaken(&self, scene: &Scene<'_>, place: Location, told: &str) -> bool {
        let awaited = awaited_before(scene, place.span);
        if let Some(channel) = awaited.or_else(|| arm_told(scene, place, told)) {
            return self.is_silent(scene, channel, MAX_DEPTH);
        }
        let Some(innermost) = innermost(scene, place) else { return false };
        let is_literal = |node: &Node| match *node {
            Node::Expr(expr) => matches!(scene.file.expr(expr).kind, ExprKind::FuncLit(_)),
            _ => false,
        };
        let around = std::iter::once(innermost).chain(scene.around(innermost));
        let in_body = around.take_while(|node| !is_literal(node));
        let mut arms = in_body.filter_map(|node| {
            let Node::Stmt(stmt) = node else { return None };
            let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind else { return None };
            let clause = clauses.iter().find(|clause| clause.span.contains(place.span))?;
            Step::Comm(clause.comm?).received_from(scene.file)
        });
        arms.any(|channel| self.is_silent(scene, channel, MAX_DEPTH))
    }

    /// Whether nobody sends on a channel or closes it before the process ends.
    fn is_silent(&self, scene: &Scene<'_>, channel: ExprId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        if endable::is_of_endless(scene, channel) == Some(true) {
            return true;
        }
        let channel = scene.file.unparen(channel);
        if let Def::Field(field) = scene.info.resolve(channel) {
            return self.nobody_ends(&scene.cx.package, field);
        }
        if let Callee::Func(func) = *scene.info.callee(channel) {
            return self.gives_silent(&scene.cx.package, func, depth);
        }
        let Some(local) = scene.local(channel) else { return false };
        let declared = scene.info.local(local);
        match declared.kind {
            LocalKind::Param(index) if declared.owner.is_none() => {
                let given = all_calls(&scene.cx.package, scene.cx.declared()).unwrap_or_default();
                !given.is_empty()
                    && given.into_iter().all(|(caller, call)| {
                        in_function(&scene.cx.package, caller).is_some_and(|scene| {
                            let arg = scene.args(call).get(index as usize);
                            arg.is_some_and(|&arg| self.is_silent(&scene, arg, depth))
                        })
                    })
            }
            LocalKind::Var => {
                let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
                match read.function.only_definition_of(local).map(|definition| definition.source) {
                    Some(Source::Expr(value) | Source::Result(value, 0)) => {
                        self.is_silent(scene, value, depth)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether all channels that a function gives are silent.
    fn gives_silent(&self, cx: &PackageCx<'_>, func: FuncId, depth: u32) -> bool {
        let Some(scene) = in_function(cx, func) else { return false };
        let Some(read) = cx.summaries.read(func) else { return false };
        let mut returned = read.function.returns().peekable();
        returned.peek().is_some()
            && returned.all(|(_, values)| match values[..] {
                [value] => self.is_silent(&scene, value, depth),
                _ => false,
            })
    }

    /// Whether the run makes what it keeps in a field, a channel or cancel function, and none of those who end
    /// it (by a send, a close or a call) ever runs.
    fn nobody_ends(&self, cx: &PackageCx<'_>, field: &Selection) -> bool {
        let Some(location) = field.location else { return false };
        let mut made = false;
        // Only the package that declares it can name what is not exported.
        let may_name = |package: &PackageId| {
            field.name.is_exported() || cx.index.package(*package).file(location.file).is_some()
        };
        cx.packages_with(field.name).filter(may_name).all(|package| {
            let of_package = cx.index.package(package);
            // What the initial value of a variable has is not followed.
            if is_in_variables(of_package, field.name) {
                return false;
            }
            of_package.funcs.iter().all(|func| {
                if !cx.index.may_name(func.id, field.name) || cx.index.is_in_test_file(func.id) {
                    return true;
                }
                let cx = PackageCx { package, ..*cx };
                let Some(scene) = in_function(&cx, func.id) else { return false };
                let deeds = deeds(&scene, field, location);
                made |= deeds.contains(&Deed::Makes);
                let closes = deeds.contains(&Deed::Closes);
                let ends = deeds.contains(&Deed::Ends);
                !deeds.contains(&Deed::Unknown)
                    && (!ends && (!closes || self.is_of_stuck(&cx, func))
                        || is_called_by_nobody(&cx, func.id))
            })
        }) && made
    }

    /// Whether a function is that of the goroutine which stays, or called by it alone.
    fn is_of_stuck(&self, cx: &PackageCx<'_>, func: &Func) -> bool {
        let Some(stuck) = self.stuck else { return false };
        let only_calls = || {
            let calls = all_calls(cx, func).unwrap_or_default();
            !calls.is_empty()
                && calls
                    .into_iter()
                    .all(|(caller, _)| is_same(cx.index, stuck, cx.index.func(caller)))
        };
        is_same(cx.index, stuck, func) || only_calls()
    }
}

/// What the arm of a `select` receives from that a label at the `select` speaks of.
fn arm_told(scene: &Scene<'_>, place: Location, told: &str) -> Option<ExprId> {
    let clauses = scene.nodes.iter().find_map(|&node| match node {
        Node::Stmt(stmt) if scene.span(node).start == place.span.start => {
            match &scene.file.stmt(stmt).kind {
                StmtKind::Select(clauses) => Some(clauses),
                _ => None,
            }
        }
        _ => None,
    })?;
    let taken = clauses.iter().filter_map(|clause| clause.comm).find(|&comm| {
        let text = scene.file.source.text(scene.span(Node::Stmt(comm)));
        told.contains(&format!("`{text}`"))
    })?;
    Step::Comm(taken).received_from(scene.file)
}

/// What a method gave (`ctx.Done()`), if the block around a place has waited at that last, and alone, when it
/// comes there.
fn awaited_before(scene: &Scene<'_>, place: Span) -> Option<ExprId> {
    let mut before = scene.nodes.iter().rev().filter_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let is_before = scene.span(node).end <= place.start;
        let channel = Step::Comm(stmt).received_from(scene.file).filter(|_| is_before)?;
        let block = scene.parent(node).filter(|&block| scene.span(block).contains(place))?;
        let Node::Stmt(block) = block else { return None };
        matches!(scene.file.stmt(block).kind, StmtKind::Block(_)).then_some(channel)
    });
    before.next().filter(|&channel| scene.method_call(channel).is_some())
}

fn in_function<'a>(cx: &PackageCx<'a>, func: FuncId) -> Option<Scene<'a>> {
    Scene::new(FunctionCx { package: PackageCx { package: func.package, ..*cx }, func })
}

/// What is done with a channel or cancel function that is kept in a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// It is made, or set to nil.
    Makes,
    /// It is closed.
    Closes,
    /// It is sent on or called.
    Ends,
    /// It is received from, compared, or handed to who can only receive.
    Harmless,
    Unknown,
}

/// What a function does with a field.
fn deeds(scene: &Scene<'_>, field: &Selection, location: Location) -> Vec<Deed> {
    let is_field = |expr: ExprId| match scene.info.resolve(expr) {
        Def::Field(selection) => selection.location == Some(location),
        Def::Unknown => match scene.file.expr(expr).kind {
            ExprKind::Selector { name, .. } => name.name == field.name,
            _ => false,
        },
        _ => false,
    };
    let mut deeds = Vec::new();
    for &node in scene.nodes.iter() {
        let Node::Expr(expr) = node else { continue };
        match &scene.file.expr(expr).kind {
            ExprKind::Selector { .. } if is_field(expr) => deeds.push(deed(scene, expr)),
            ExprKind::CompositeLit { elements, .. } => {
                let ty = scene.info.type_of(expr).strip_pointer();
                let has_field = match scene.cx.index().underlying(ty) {
                    Type::Struct(of) => of.fields.iter().any(|field| field.location == location),
                    _ => false,
                };
                let given = elements.iter().filter_map(|element| match element.key {
                    None => Some(Deed::Unknown),
                    Some(key) => match scene.file.expr(scene.file.unparen(key)).kind {
                        ExprKind::Ident(key) if key == field.name => {
                            Some(made_by(scene, element.value))
                        }
                        _ => None,
                    },
                });
                if has_field {
                    deeds.extend(given);
                }
            }
            _ => {}
        }
    }
    deeds
}

/// What is done with what an expression reads or sets.
fn deed(scene: &Scene<'_>, expr: ExprId) -> Deed {
    let file = scene.file;
    match scene.parent(Node::Expr(expr)) {
        Some(Node::Expr(around)) => match file.expr(around).kind {
            ExprKind::Unary { op: UnaryOp::Recv, .. } | ExprKind::Binary { .. } => Deed::Harmless,
            ExprKind::Call { callee, ref args, .. } => {
                let arg = args.iter().position(|&arg| file.unparen(arg) == expr);
                match (scene.info.callee(around), arg) {
                    (Callee::Builtin(Builtin::Close), Some(_)) => Deed::Closes,
                    (Callee::Builtin(Builtin::Len | Builtin::Cap), Some(_)) => Deed::Harmless,
                    (_, None) => Deed::Ends,
                    (_, Some(arg)) => match scene.info.type_of(callee) {
                        Type::Func(signature)
                            if signature.params.get(arg).is_some_and(only_receives) =>
                        {
                            Deed::Harmless
                        }
                        _ => Deed::Unknown,
                    },
                }
            }
            _ => Deed::Unknown,
        },
        Some(Node::Stmt(stmt)) => match &file.stmt(stmt).kind {
            StmtKind::Send { .. } => Deed::Ends,
            StmtKind::Range { .. } | StmtKind::Expr(_) => Deed::Harmless,
            StmtKind::Return(_) => {
                let literal = scene.literal_around(Node::Expr(expr));
                let ty = match literal {
                    Some(literal) => scene.info.type_of(literal).clone(),
                    None => scene.cx.index().func_type(scene.cx.func).clone(),
                };
                match &ty {
                    Type::Func(signature) if signature.results.iter().any(only_receives) => {
                        Deed::Harmless
                    }
                    _ => Deed::Unknown,
                }
            }
            StmtKind::Assign { left, op: None, right } => {
                let at = left.iter().position(|&left| file.unparen(left) == expr);
                match (at, left.len() == right.len()) {
                    (Some(at), true) => made_by(scene, right[at]),
                    // As in `x.ctx, x.cancel = context.WithCancel(parent)`.
                    (Some(_), false) => Deed::Makes,
                    (None, _) => Deed::Unknown,
                }
            }
            _ => Deed::Unknown,
        },
        _ => Deed::Unknown,
    }
}

fn only_receives(ty: &Type) -> bool {
    matches!(ty, Type::Chan(ChanDir::Recv, _))
}

/// Whether a value that is kept in a field is made for it: nobody else has it.
fn made_by(scene: &Scene<'_>, value: ExprId) -> Deed {
    let value = scene.file.unparen(value);
    let is_made = match scene.info.callee(value) {
        Callee::Builtin(Builtin::Make) => true,
        _ => {
            scene.is_nil(value)
                || scene.local(value).is_some_and(|local| {
                    // Of a cancel function that is kept nothing else may be done here.
                    scene.uses(local).count() == 2
                        && matches!(scene.info.local(local).ty, Type::Func(_) | Type::Named(..))
                })
        }
    };
    if is_made { Deed::Makes } else { Deed::Unknown }
}

/// Whether the cancel function that a call gives as this result is kept in a field, and called by nobody who
/// ever runs but a `defer` of the function around it.
pub fn is_kept_for_nobody(cx: &FunctionCx<'_>, call: ExprId, cancel: u32) -> bool {
    let Some(scene) = Scene::new(*cx) else { return false };
    let field_of = |expr: ExprId| match scene.info.resolve(scene.file.unparen(expr)) {
        Def::Field(field) => Some(field),
        _ => None,
    };
    let none = Search { stuck: None };
    let is_left =
        |left: ExprId| field_of(left).is_some_and(|field| none.nobody_ends(&cx.package, field));
    let Some(Node::Stmt(stmt)) = scene.parent(Node::Expr(call)) else { return false };
    let (StmtKind::Assign { left, .. } | StmtKind::Define { left, .. }) =
        &scene.file.stmt(stmt).kind
    else {
        return false;
    };
    let Some(&cancel) = left.get(cancel as usize) else { return false };
    let Some(local) = scene.local(cancel) else { return is_left(cancel) };
    let mut uses = scene.uses(local).filter(|&used| used != scene.file.unparen(cancel)).peekable();
    uses.peek().is_some()
        && uses.all(|used| match scene.parent(Node::Expr(used)) {
            Some(Node::Expr(around)) => scene.is_deferred(around),
            Some(Node::Stmt(stmt)) => match &scene.file.stmt(stmt).kind {
                StmtKind::Assign { left, op: None, right } if left.len() == right.len() => {
                    let at = right.iter().position(|&right| scene.file.unparen(right) == used);
                    at.is_some_and(|at| is_left(left[at]))
                }
                _ => false,
            },
            _ => false,
        })
}
