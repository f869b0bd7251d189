//! Ways out that nobody takes while the process lives: those behind a channel or a context that nothing in
//! the run ends before.
//!
//! A finding says who leaves, and what stays when he has. Where all that makes him leave is the end of the
//! process, or a `Stop` that nobody calls, what stays hurts nobody.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Callee, Def, Func, FuncId, LocalId, LocalKind};
use crate::rules::comments::say_it_is_meant;
use crate::rules::fatal::ends_process;
use crate::rules::recurrence::{all_calls, is_once, is_same, never_runs};
use crate::rules::scene::{Scene, declared_at};
use crate::rules::stuck::only_stays;
use crate::rules::unended::{Deed, deed, nobody_ends};
use crate::rules::{PackageCx, endable};
use crate::source::{Location, Span};
use crate::summary::Source;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// How many variables, parameters and results are followed to what a channel is kept in.
const MAX_DEPTH: u32 = 5;

/// Whether what a finding tells of does not come to pass while the process lives, or no more than once: the
/// function never runs, or those who leave do so in ways that nobody takes, or only once.
/// Or who leaves does so with an error with which the process ends; or a comment says that it is meant.
///
/// The ways out of what was found by exploring belong to one story, so that one of them that is not taken is
/// enough.
pub fn is_idle(cx: &PackageCx<'_>, finding: &Finding, explored: bool) -> bool {
    let at = finding.primary;
    if declared_at(cx, at).is_some_and(|func| never_runs(cx, func)) {
        return true;
    }
    let scene = Scene::at(cx, at);
    if scene.as_ref().is_some_and(|scene| is_meant(scene, at) || lasts_once(scene, finding)) {
        return true;
    }
    // What is told of at the way out itself.
    let own = scene.filter(|scene| returns(scene, at));
    if ends_with_process(cx, finding, own.is_some(), explored) {
        return true;
    }
    let left = || finding.labels.iter().filter(|label| label.role == Role::Left);
    // Who stands there does not end anything meanwhile; what was explored knows that.
    let stuck = finding.labels.iter().find(|label| label.role == Role::Stuck);
    let stuck = stuck.map_or(at, |label| label.location);
    let stuck = declared_at(cx, stuck).map(|func| (func, stuck)).filter(|_| !explored);
    let search = Search { stuck };
    let untaken = |label: &Label| {
        Scene::at(cx, label.location)
            .is_some_and(|scene| search.is_untaken(&scene, label.location, &label.message))
    };
    if explored {
        return left().any(untaken);
    }
    if let Some(scene) = own {
        return left().all(untaken) && search.is_untaken(&scene, at, "");
    }
    let left_once =
        || only_stays(finding.rule) && left().all(|label| is_once_at(cx, label.location));
    left().next().is_some() && (left().all(untaken) || left_once())
}

/// Whether what a rule tells of does no more than to last longer than it should: where that begins once, it ends
/// with the process.
fn only_lasts(rule: &str) -> bool {
    matches!(
        rule,
        "body-not-closed"
            | "callee-cannot-be-cancelled"
            | "done-arm-does-not-leave"
            | "goroutine-ignores-context"
            | "lifecycle-not-ended"
            | "part-not-ended"
            | "pipe-end-not-closed"
            | "stop-channel-never-closed"
            | "timer-not-stopped"
            | "wait-ignores-context"
    )
}

/// Whether a comment says that what stands at a place is meant.
fn is_meant(scene: &Scene<'_>, place: Location) -> bool {
    say_it_is_meant(scene.file, scene.file.source.line(place.span.start))
}

/// Whether what a finding tells of only lasts, and begins once in the life of the process.
fn lasts_once(scene: &Scene<'_>, finding: &Finding) -> bool {
    let Some(node) = innermost(scene, finding.primary).filter(|_| only_lasts(finding.rule)) else {
        return false;
    };
    let begins = match finding.rule {
        // However many turns a loop has, it is one.
        "done-arm-does-not-leave" | "goroutine-ignores-context" => match scene.literal_around(node)
        {
            Some(literal) => scene.go_around(literal).map(Node::Stmt),
            None => Some(Node::Decl(scene.cx.declared().decl)),
        },
        _ => Some(node),
    };
    begins.is_some_and(|node| is_once(&scene.cx.package, scene.cx.func, node))
}

/// Whether the ways out of what a finding tells of, or one of them where it was explored, end the process; `own`
/// says that its place is one.
fn ends_with_process(cx: &PackageCx<'_>, finding: &Finding, own: bool, explored: bool) -> bool {
    let left = finding.labels.iter().filter(|label| label.role == Role::Left);
    let own = own.then_some(finding.primary);
    let mut ways = left.map(|label| label.location).chain(own).peekable();
    let is_last = |place: Location| ends_process(cx, place);
    (only_lasts(finding.rule) || only_stays(finding.rule))
        && ways.peek().is_some()
        && if explored { ways.any(is_last) } else { ways.all(is_last) }
}

/// Whether a place is come to once in the life of the process.
fn is_once_at(cx: &PackageCx<'_>, place: Location) -> bool {
    let Some(scene) = Scene::at(cx, place) else { return false };
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
    /// The function whose goroutine stays, and where, as far as it is known: what it does later does not come
    /// to pass.
    stuck: Option<(FuncId, Location)>,
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
            let is_of_stuck = |cx: &PackageCx<'_>, func: &Func| self.is_of_stuck(cx, func);
            return nobody_ends(&scene.cx.package, field, &is_of_stuck);
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
                        Scene::of(&scene.cx.package, caller).is_some_and(|scene| {
                            let arg = scene.args(call).get(index as usize);
                            arg.is_some_and(|&arg| self.is_silent(&scene, arg, depth))
                        })
                    })
            }
            LocalKind::Var
                if self.comes_too_late(scene, local) || self.is_for_stuck(scene, local) =>
            {
                true
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
        let Some(scene) = Scene::of(cx, func) else { return false };
        let Some(read) = cx.summaries.read(func) else { return false };
        let mut returned = read.function.returns().peekable();
        returned.peek().is_some()
            && returned.all(|(_, values)| match values[..] {
                [value] => self.is_silent(&scene, value, depth),
                _ => false,
            })
    }

    /// Whether all that ends what a variable keeps is done by the goroutine which stays, behind the place
    /// where it does.
    fn comes_too_late(&self, scene: &Scene<'_>, local: LocalId) -> bool {
        let Some((func, stuck)) = self.stuck else { return false };
        if func != scene.cx.func {
            return false;
        }
        let Some(stays) = innermost(scene, stuck) else { return false };
        let is_loop = |around: &Node| match *around {
            Node::Stmt(stmt) => {
                matches!(scene.file.stmt(stmt).kind, StmtKind::For { .. } | StmtKind::Range { .. })
            }
            _ => false,
        };
        let in_body = |node: Node| scene.literal_around(node) == scene.literal_around(stays);
        let is_behind = |node: Node| {
            let span = scene.span(node);
            let again = scene.around(stays).filter(is_loop);
            in_body(node)
                && span.start >= stuck.span.end
                && !again.into_iter().any(|around| scene.span(around).contains(span))
        };
        let mut ends = false;
        scene.uses(local).filter(|&usage| !scene.is_target(usage)).all(|usage| {
            match deed(scene, usage) {
                Deed::Harmless | Deed::Makes => true,
                Deed::Closes | Deed::Ends => {
                    ends = true;
                    let Some(done) = scene.parent(Node::Expr(usage)) else { return false };
                    let is_deferred = match done {
                        Node::Expr(call) => scene.is_deferred(call),
                        _ => false,
                    };
                    is_behind(done) || is_deferred && in_body(done)
                }
                Deed::Unknown => false,
            }
        }) && ends
    }

    /// Whether what a variable keeps is given to nobody but the goroutine which stays, and that ends it only
    /// when it does not come to that place any more.
    fn is_for_stuck(&self, scene: &Scene<'_>, local: LocalId) -> bool {
        let Some((func, stuck)) = self.stuck else { return false };
        let mut given = None;
        for usage in scene.uses(local).filter(|&usage| !scene.is_target(usage)) {
            match (deed(scene, usage), scene.given_to(usage)) {
                (Deed::Harmless, _) => {}
                (_, Some(call)) if given.is_none() => {
                    let place = scene.args(call).iter().position(|&arg| arg == usage);
                    given = Some((call, place));
                }
                _ => return false,
            }
        }
        let Some((call, Some(place))) = given else { return false };
        if !matches!(scene.info.callee(call), Callee::Func(callee) if *callee == func) {
            return false;
        }
        let Some(stays) = Scene::of(&scene.cx.package, func) else { return false };
        let Some(node) = innermost(&stays, stuck) else { return false };
        let literal = stays.literal_around(node);
        let Some(cfg) = stays.graph(literal) else { return false };
        let Some(at) = stays.step_of(&cfg, node) else { return false };
        let locals = (0..stays.info.locals().len() as u32).map(LocalId);
        let params = locals.filter(|&local| {
            let declared = stays.info.local(local);
            declared.owner.is_none() && declared.kind == LocalKind::Param(place as u32)
        });
        params.into_iter().all(|param| {
            stays.uses(param).all(|usage| {
                let done = stays.parent(Node::Expr(usage));
                let step = done.and_then(|done| stays.step_of(&cfg, done));
                matches!(deed(&stays, usage), Deed::Ends | Deed::Closes)
                    && stays.literal_around(Node::Expr(usage)) == literal
                    && step.is_some_and(|step| !cfg.reaches(step, at))
            })
        })
    }

    /// Whether a function is that of the goroutine which stays, or called by it alone.
    fn is_of_stuck(&self, cx: &PackageCx<'_>, func: &Func) -> bool {
        let Some((stuck, _)) = self.stuck else { return false };
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
