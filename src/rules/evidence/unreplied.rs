//! A request that the loop which serves it forgets to answer on one way round.
//!
//! Evidence: who asks makes a channel for the answer, sends it along in a request, and waits for
//! nothing else but the end of the whole service; one body receives the requests and sends all the
//! answers; a way leads from the receive of a request to the next one that passes no answer, and
//! the request is in no other hands by then.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Path, Start, Step, StepId, Walk};
use crate::index::{LocalId, LocalKind};
use crate::rules::conditions::{Conditions, Decided, Way, asked, condition};
use crate::rules::evidence::consumer::bound;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Reports the requests that are not answered on every way.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open) {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    // Several may ask in the same way: each waits for an answer to its own request.
    let waits: Vec<&Op> = group.ops.iter().filter(|op| is_wait(groups, group, op)).collect();
    let &wait = waits.first()?;
    let asks = |op: &Op| waits.iter().any(|wait| wait.scene == op.scene);
    let receives = group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range));
    let mut receives = receives.filter(|op| !asks(op));
    let answers: Vec<&Op> =
        group.ops.iter().filter(|op| matches!(op.act, Act::Send | Act::Close)).collect();
    let (&answer, rest) = answers.split_first()?;
    let alone = receives.next().is_none()
        && !asks(answer)
        && rest.iter().all(|other| other.same_body(answer))
        && !group.ops.iter().any(|op| op.act == Act::Notify);
    if !alone {
        return None;
    }
    let scene = &groups.scenes[answer.scene];
    let request = root_variable(scene, answer.channel)??;
    let same = |op: &&Op| root_variable(scene, op.channel) == Some(Some(request));
    let served = groups.all().iter().flat_map(|group| &group.ops).find(|op| {
        matches!(op.act, Act::Receive | Act::Range)
            && op.same_body(answer)
            && bound(scene, op).0 == Some(request)
    })?;
    if !answers.iter().all(same) || !only_answered(scene, request, &answers) {
        return None;
    }
    let read = scene.cx.summaries().read(scene.cx.func)?;
    if read.function.definitions_of(request).count() != 1 {
        return None;
    }
    let body = read.function.body_of(served.literal)?;
    let cfg = &read.function.body(body).cfg;
    let start = served.step(scene, cfg)?;
    let conditions = Conditions::new(&read.function, body);
    let mut answered: Vec<StepId> =
        answers.iter().map(|op| op.step(scene, cfg)).collect::<Option<_>>()?;
    // Who answers in a `select` has tried; beside that is what ends one of the two.
    let selects = answers.iter().filter_map(|op| op.select);
    answered.extend(selects.filter_map(|(select, _)| cfg.step_of_stmt(select)));
    let (_, came) = bound(scene, served);
    let way = Way {
        conditions: &conditions,
        to: &|step| step == start,
        settled: &|step| answered.contains(&step),
    };
    let mut walk = Unanswered { scene, came, way };
    let paths = cfg.search(Start::After(start), conditions.known_after(cfg, start), &mut walk);
    let path = paths.first()?;
    // Who asks says in the request whether there is an answer to it.
    if path.edges.iter().any(|edge| asks_request(scene, request, edge.kind)) {
        return None;
    }
    Some(tell(groups, wait, served, answer, path))
}

/// Whether an edge is decided by a field of the request alone: a flag, or one that is compared with a constant.
fn asks_request(scene: &Scene<'_>, request: LocalId, edge: EdgeKind) -> bool {
    let (file, info) = (scene.file, &scene.info);
    let is_field = |expr: ExprId| {
        let expr = file.unparen(expr);
        let is_selector = matches!(file.expr(expr).kind, ExprKind::Selector { .. });
        is_selector && root_variable(scene, expr) == Some(Some(request))
    };
    match edge {
        EdgeKind::NoCase(switch) | EdgeKind::Case(switch, _) => match file.stmt(switch).kind {
            StmtKind::Switch { tag: Some(tag), .. } => is_field(tag),
            _ => false,
        },
        _ => asked(file, edge).is_some_and(|(condition, _)| {
            let is_constant = |expr: ExprId| info.constant(expr).is_some();
            match file.expr(condition).kind {
                ExprKind::Binary { left, right, .. } => {
                    is_field(left) && is_constant(right) || is_field(right) && is_constant(left)
                }
                _ => is_field(condition),
            }
        }),
    }
}

/// Follows a request that came: where the receive says that nothing did, there is none.
struct Unanswered<'u, 'a> {
    scene: &'u Scene<'a>,
    /// The variable that says whether something came.
    came: Option<LocalId>,
    way: Way<'u>,
}

impl Walk for Unanswered<'_, '_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        self.way.step(decided, step)
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        let says_none = asked(self.scene.file, edge.kind).is_some_and(|(asked, holds)| {
            !holds && self.came.is_some() && self.scene.local(asked) == self.came
        });
        (!says_none).then(|| self.way.edge(decided, edge))?
    }

    fn exit(&mut self, decided: &Decided, exit: Exit) -> bool {
        self.way.exit(decided, exit)
    }
}

/// Whether a receive waits for the answer of one request: where its channel is made, and beside
/// nothing but what ends with what the method belongs to.
fn is_wait(groups: &Groups<'_>, group: &Group, op: &Op) -> bool {
    let scene = &groups.scenes[op.scene];
    let made = group.ops.iter().any(|make| matches!(make.act, Act::Make(_)) && make.same_body(op));
    let Some((select, place)) = op.select else { return op.act == Act::Receive && made };
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return false };
    let of_receiver = |expr: ExprId| {
        let at = match scene.method_call(expr) {
            Some((base, _)) => base,
            None => expr,
        };
        matches!(scene.file.expr(scene.file.unparen(at)).kind, ExprKind::Selector { .. })
            && root_variable(scene, at)
                .flatten()
                .is_some_and(|root| scene.info.local(root).kind == LocalKind::Receiver)
    };
    let mut others = clauses.iter().enumerate().filter(|(index, _)| *index as u32 != place);
    op.act == Act::Receive
        && made
        && others.all(|(_, clause)| {
            let received = clause.comm.and_then(|comm| Step::Comm(comm).received_from(scene.file));
            received.is_some_and(of_receiver)
        })
}

/// Whether a request is only looked at and answered: nobody else gets it or its channel.
fn only_answered(scene: &Scene<'_>, request: LocalId, answers: &[&Op]) -> bool {
    let is_answer = |expr: ExprId| answers.iter().any(|op| op.channel == expr);
    let field = answers.iter().find_map(|op| match scene.file.expr(op.channel).kind {
        ExprKind::Selector { name, .. } => Some(name.name),
        _ => None,
    });
    scene.uses(request).all(|usage| {
        let Some(Node::Expr(around)) = scene.parent(Node::Expr(usage)) else {
            return is_answer(usage) || is_bound(scene, usage);
        };
        match scene.file.expr(around).kind {
            ExprKind::Selector { name, .. } => {
                is_answer(around) || field.is_some_and(|field| name.name != field)
            }
            _ => is_answer(usage),
        }
    })
}

/// Whether an identifier is where the request is bound.
fn is_bound(scene: &Scene<'_>, usage: ExprId) -> bool {
    match scene.parent(Node::Expr(usage)) {
        Some(Node::Stmt(stmt)) => match &scene.file.stmt(stmt).kind {
            StmtKind::Define { left, .. } => left.contains(&usage),
            StmtKind::Range { key, .. } => *key == Some(usage),
            _ => false,
        },
        _ => false,
    }
}

fn tell(groups: &Groups<'_>, wait: &Op, served: &Op, answer: &Op, path: &Path<Decided>) -> Finding {
    let (server, asker) = (&groups.scenes[served.scene], &groups.scenes[wait.scene]);
    let message = format!(
        "a request that is received here may get no answer on `{}`, and `{}` waits for it",
        server.text(answer.channel),
        asker.name.name
    );
    let span = first_line(server, served.span(server));
    let mut finding = server.cx.finding(span, "not answered on every way", message);
    finding.confidence = confidence(server);
    let label = |scene: &Scene<'_>, node: Node, role: Role, message: String| Label {
        location: scene.cx.location(first_line(scene, scene.span(node))),
        role,
        message,
    };
    let told = format!("`{}` waits here", asker.name.name);
    finding.labels.push(label(asker, wait.node, Role::Stuck, told));
    if let Some(asked) = path.decisions().filter_map(condition).next_back() {
        let told = "decided here on the way that gives no answer".to_owned();
        finding.labels.push(label(server, Node::Expr(asked), Role::Condition, told));
    }
    let told = "other ways answer".to_owned();
    finding.labels.push(label(server, answer.node, Role::Context, told));
    finding.why = "nobody else has the channel that was sent along with the request".to_owned();
    finding.help =
        "answer on every way, if only with a zero value, or close the channel".to_owned();
    finding
}
