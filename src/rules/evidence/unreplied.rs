//! A request that the loop which serves it forgets to answer on one way round.
//!
//! Evidence: who asks makes a channel for the answer, sends it along in a request, and waits for
//! nothing else but the end of the whole service; one body receives the requests and sends all the
//! answers; a way leads from the receive of a request to the next one that passes no answer, and
//! the request is in no other hands by then.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Path, Start, Step, StepId, Walk};
use crate::index::{Constant, LocalId, LocalKind, Type};
use crate::rules::conditions::{self, asked, condition};
use crate::rules::evidence::consumer::bound;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{BinaryOp, Case, ExprId, ExprKind, Node, StmtKind, Symbol};

/// Reports the requests that are not answered on every way.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open) {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    // Several may ask in the same way: each waits for an answer to its own request.
    let waits: Vec<&Op> = group.ops.iter().filter(|op| is_wait(groups, group, op)).collect();
    waits.first()?;
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
    let mut answered: Vec<StepId> =
        answers.iter().map(|op| op.step(scene, cfg)).collect::<Option<_>>()?;
    // Who answers in a `select` has tried; beside that is what ends one of the two.
    let selects = answers.iter().filter_map(|op| op.select);
    answered.extend(selects.filter_map(|(select, _)| cfg.step_of_stmt(select)));
    let (_, came) = bound(scene, served);
    // Who asks may say in the request whether there is an answer to it.
    waits.iter().find_map(|&wait| {
        let asks = Asks { server: scene, request, asker: &groups.scenes[wait.scene] };
        let mut walk = Unanswered { asks, came, start, answered: &answered };
        let paths = conditions::search(&read.function, body, Start::After(start), (), &mut walk);
        Some(tell(groups, wait, served, answer, paths.first()?))
    })
}

/// What who asks puts into the fields of its request, which the server goes by.
struct Asks<'u, 'a> {
    server: &'u Scene<'a>,
    /// The request, as the server has it.
    request: LocalId,
    asker: &'u Scene<'a>,
}

impl Asks<'_, '_> {
    /// Whether a request of this asker may take an edge. One that compares a field of it with constants is
    /// taken by what is known to be put there: other values are chosen by who knows which of them are answered.
    fn may_take(&self, edge: EdgeKind) -> bool {
        let file = self.server.file;
        if let EdgeKind::Case(switch, _) | EdgeKind::NoCase(switch) = edge {
            let StmtKind::Switch { tag: Some(tag), ref cases, .. } = file.stmt(switch).kind else {
                return true;
            };
            let Some(field) = self.field(tag) else { return true };
            let is_of = |case: &Case| {
                let mut values = case.values.iter().flatten();
                values
                    .any(|&value| self.puts(field, self.server.info.constant(value)) == Some(true))
            };
            return match edge {
                EdgeKind::Case(_, taken) if cases[taken as usize].values.is_some() => {
                    is_of(&cases[taken as usize])
                }
                _ => self.puts_another(field) && !cases.iter().any(is_of),
            };
        }
        if let EdgeKind::Done(range) = edge
            && let StmtKind::Range { subject, .. } = file.stmt(range).kind
        {
            // It knows how many it has put there.
            return self.field(subject).is_none();
        }
        let Some((condition, holds)) = asked(file, edge) else { return true };
        if let Some(field) = self.field(condition) {
            return self.puts(field, Some(&Constant::Bool(holds))) == Some(true);
        }
        let ExprKind::Binary { op, left, right, .. } = file.expr(condition).kind else {
            return true;
        };
        let compares =
            |of: ExprId, with: ExprId| Some((self.field(of)?, self.server.info.constant(with)?));
        match (op, compares(left, right).or_else(|| compares(right, left))) {
            (BinaryOp::Eq | BinaryOp::Ne, Some((field, value))) => {
                let is_equal = (op == BinaryOp::Eq) == holds;
                self.puts(field, Some(value)) == Some(is_equal)
            }
            (_, Some((field, _))) => !self.has_looked_at(field),
            (_, None) => true,
        }
    }

    /// The field of the request that an expression of the server is, or is part of.
    fn field(&self, expr: ExprId) -> Option<Symbol> {
        let file = self.server.file;
        let mut expr = file.unparen(expr);
        while let ExprKind::Selector { base, name } = file.expr(expr).kind {
            expr = file.unparen(base);
            if self.server.local(expr) == Some(self.request) {
                return Some(name.name);
            }
        }
        None
    }

    /// Whether it is this constant that is put into a field; `None` if it is not known to be one.
    fn puts(&self, field: Symbol, value: Option<&Constant>) -> Option<bool> {
        match self.given(field) {
            Given::Zero => Some(value.is_some_and(Constant::is_zero)),
            Given::Value(given) => Some(Some(self.asker.info.constant(given)?) == value),
            Given::Unknown => None,
        }
    }

    /// Whether what is put into a field may be none of some constants that it is not known to be: it is another one, or
    /// what callers outside of the package choose.
    fn puts_another(&self, field: Symbol) -> bool {
        let is_chosen = || {
            let Given::Value(given) = self.given(field) else { return false };
            let chosen = self.asker.local(given);
            self.asker.name.name.is_exported()
                && chosen.is_some_and(|local| {
                    matches!(self.asker.info.local(local).kind, LocalKind::Param(_))
                })
        };
        self.puts(field, None).is_some() || is_chosen()
    }

    /// Whether who asks has looked at what it puts into a field.
    fn has_looked_at(&self, field: Symbol) -> bool {
        let Given::Value(given) = self.given(field) else { return false };
        let scene = self.asker;
        let Some(local) = scene.local(given) else { return false };
        scene.nodes.iter().any(|&node| match node {
            Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
                StmtKind::If { cond, .. } => scene.mentions(Node::Expr(cond), local),
                _ => false,
            },
            _ => false,
        })
    }

    /// What is put into a field.
    fn given(&self, field: Symbol) -> Given {
        let (file, info) = (self.asker.file, &self.asker.info);
        let Some(ty) = self.server.info.local(self.request).ty.declared() else {
            return Given::Unknown;
        };
        let is_request = |expr: ExprId| info.type_of(expr).declared() == Some(ty);
        let mut made = None;
        for &node in self.asker.nodes.iter() {
            let Node::Expr(expr) = node else { continue };
            let is_second = match file.expr(expr).kind {
                ExprKind::CompositeLit { ref elements, .. } if is_request(expr) => {
                    made.replace(elements).is_some()
                }
                ExprKind::Selector { base, name } => {
                    name.name == field && is_request(base) && self.asker.is_target(expr)
                }
                _ => false,
            };
            if is_second {
                return Given::Unknown;
            }
        }
        let is_key =
            |key: ExprId| matches!(file.expr(key).kind, ExprKind::Ident(key) if key == field);
        let Some(elements) = made else { return Given::Unknown };
        let ty = self.server.info.local(self.request).ty.strip_pointer();
        let Type::Struct(declared) = self.server.cx.index().underlying(ty) else {
            return Given::Unknown;
        };
        let place = declared.fields.iter().position(|declared| declared.name == field);
        let mut elements = elements.iter().enumerate();
        let element = elements.find(|(at, element)| match element.key {
            Some(key) => is_key(key),
            None => place == Some(*at),
        });
        match element {
            Some((_, element)) => Given::Value(element.value),
            None => Given::Zero,
        }
    }
}

/// What is put into a field of a request.
enum Given {
    /// Nothing.
    Zero,
    Value(ExprId),
    /// The request is made in several places or none, or the field is set later.
    Unknown,
}

/// Follows a request that came: where the receive says that nothing did, there is none.
struct Unanswered<'u, 'a> {
    asks: Asks<'u, 'a>,
    /// The variable that says whether something came.
    came: Option<LocalId>,
    /// Where requests are received.
    start: StepId,
    answered: &'u [StepId],
}

impl Walk for Unanswered<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.start {
            return Passing::Found;
        }
        if self.answered.contains(&step) { Passing::Drop } else { Passing::On(()) }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let scene = self.asks.server;
        let says_none = asked(scene.file, edge.kind).is_some_and(|(asked, holds)| {
            !holds && self.came.is_some() && scene.local(asked) == self.came
        });
        (!says_none && self.asks.may_take(edge.kind)).then_some(())
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        false
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

fn tell(groups: &Groups<'_>, wait: &Op, served: &Op, answer: &Op, path: &Path) -> Finding {
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
