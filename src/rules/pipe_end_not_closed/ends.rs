//! The two ends of a pipe, and what a function does with each: where it closes one, where it only
//! works with it, and whether anybody else might close it.

use crate::catalog::{Calls, Model, Op, Pure};
use crate::flow::{Cfg, Step, StepId};
use crate::index::{Callee, Def, LocalId, Type};
use crate::rules::scene::Scene;
use crate::summary::{self, Act, At, BodyId, Function, Place, Read, Root};
use crate::syntax::{Element, ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// A pipe whose ends two variables of their own hold.
pub struct Pipe {
    /// The call that makes it.
    pub at: At,
    pub call: ExprId,
    /// The literal that this stands in; `None` for the declared function.
    pub owner: Option<ExprId>,
    pub reader: LocalId,
    pub writer: LocalId,
}

/// What is done with one end.
pub struct Ends {
    pub closes: Vec<Close>,
    /// Where it is used otherwise.
    pub used: Vec<ExprId>,
}

/// A call that closes an end.
pub struct Close {
    pub call: ExprId,
    /// The body on whose way out, or way, it is done: that of a literal, or of the function.
    pub home: Option<ExprId>,
    /// The `defer` statement, if it is deferred there.
    deferred: Option<StmtId>,
    /// Where it is deferred for the case of an error only: that variable.
    pub only_if_error: Option<LocalId>,
}

/// The pipes that a function makes, literals in it included.
pub fn pipes(scene: &Scene<'_>, read: &Read<'_>) -> Vec<Pipe> {
    let function = &read.function;
    let mut found = Vec::new();
    for &node in scene.nodes.iter() {
        let Some((targets, values)) = scene.assignment(node) else { continue };
        let ([Some(reader), Some(writer)], [value]) = (&targets[..], values) else { continue };
        let call = scene.file.unparen(*value);
        if op(scene, call) != Some(Op::NewPipe) {
            continue;
        }
        let once = |local: LocalId| function.definitions_of(local).count() == 1;
        if let Some(at) = function.at_call(call)
            && once(*reader)
            && once(*writer)
        {
            let owner = scene.literal_around(node);
            found.push(Pipe { at, call, owner, reader: *reader, writer: *writer });
        }
    }
    found
}

fn op(scene: &Scene<'_>, call: ExprId) -> Option<Op> {
    if !matches!(scene.file.expr(call).kind, ExprKind::Call { .. }) {
        return None;
    }
    let facts = summary::facts(scene.cx.catalog(), scene.cx.index(), scene.info.callee(call));
    facts.in_force::<Model>(scene.cx.versions()).map(|model| model.op)
}

/// What is done with the writer's end; `None` if somebody else might close it.
pub fn of_writer(scene: &Scene<'_>, read: &Read<'_>, pipe: &Pipe) -> Option<Ends> {
    of_end(scene, read, pipe.writer, &|call, index| {
        is_no_closer(scene, param_type(scene, call, index)) || pure(scene, call).is_some()
    })
}

/// The same of the reader's end.
pub fn of_reader(scene: &Scene<'_>, read: &Read<'_>, pipe: &Pipe) -> Option<Ends> {
    of_end(scene, read, pipe.reader, &|call, index| {
        pure(scene, call).is_some() || only_reads(scene, call, index)
    })
}

fn of_end(
    scene: &Scene<'_>,
    read: &Read<'_>,
    end: LocalId,
    lends: &dyn Fn(ExprId, usize) -> bool,
) -> Option<Ends> {
    let mut found = Ends { closes: Vec::new(), used: Vec::new() };
    for used in scene.uses(end) {
        let node = Node::Expr(used);
        match scene.parent(node)? {
            Node::Expr(around) => match &scene.file.expr(around).kind {
                ExprKind::Selector { name, .. } => {
                    let Some(Node::Expr(call)) = scene.parent(Node::Expr(around)) else {
                        return None;
                    };
                    if !matches!(scene.file.expr(call).kind, ExprKind::Call { callee, .. }
                        if scene.file.unparen(callee) == around)
                    {
                        return None;
                    }
                    match name.name.as_str() {
                        "Close" | "CloseWithError" => found.closes.push(close(scene, read, call)?),
                        "Read" | "Write" => found.used.push(used),
                        _ => return None,
                    }
                }
                ExprKind::Call { args, .. } => {
                    let index = args.iter().position(|&arg| scene.file.unparen(arg) == used)?;
                    if !lends(around, index) {
                        return None;
                    }
                    found.used.push(used);
                }
                ExprKind::CompositeLit { elements, .. } => {
                    let field = field_type(scene, around, elements, used);
                    if !field.is_some_and(|ty| is_no_closer(scene, Some(ty))) {
                        return None;
                    }
                    found.used.push(used);
                }
                _ => return None,
            },
            Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
                StmtKind::Define { left, .. } if left.contains(&used) => {}
                _ => return None,
            },
            Node::Decl(_) => return None,
        }
    }
    Some(found)
}

/// The type of the field of a composite literal that a value is put into.
fn field_type(
    scene: &Scene<'_>,
    literal: ExprId,
    elements: &[Element],
    value: ExprId,
) -> Option<Type> {
    let element = elements.iter().find(|element| scene.file.unparen(element.value) == value)?;
    let ExprKind::Ident(name) = scene.file.expr(element.key?).kind else { return None };
    let path = scene.cx.index().package(scene.cx.func.package).path;
    match scene.cx.index().lookup(scene.info.type_of(literal), name, path) {
        Def::Field(selection) => Some(selection.ty.clone()),
        _ => None,
    }
}

/// Whether values of a type are interfaces by which nothing can be closed.
fn is_no_closer(scene: &Scene<'_>, ty: Option<Type>) -> bool {
    let Some(ty) = ty else { return false };
    let index = scene.cx.index();
    let path = index.package(scene.cx.func.package).path;
    let is_interface = matches!(index.underlying(&ty), Type::Interface(_));
    let any =
        matches!(index.underlying(&ty), Type::Interface(interface) if interface.methods.is_empty());
    let closes = matches!(
        index.lookup(&ty, Symbol::new("Close"), path),
        Def::InterfaceMethod(_) | Def::Method(..) | Def::External(_)
    );
    is_interface && !any && !closes
}

/// The type of a parameter of what is called.
fn param_type(scene: &Scene<'_>, call: ExprId, index: usize) -> Option<Type> {
    let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return None };
    let Type::Func(signature) = scene.cx.index().underlying(scene.info.type_of(callee)) else {
        return None;
    };
    let last = signature.params.len().checked_sub(1)?;
    match signature.variadic && index >= last {
        true => None,
        false => signature.params.get(index).cloned(),
    }
}

/// What the catalog says of a call that reads or writes its arguments and no more.
fn pure<'a>(scene: &Scene<'a>, call: ExprId) -> Option<&'a Pure> {
    let (cx, callee) = (scene.cx, scene.info.callee(call));
    summary::covering::<Pure>(cx.catalog(), cx.versions(), cx.index(), callee)
        .filter(|pure| pure.calls == Calls::Methods)
}

/// Whether a function of the run only reads from a parameter.
fn only_reads(scene: &Scene<'_>, call: ExprId, index: usize) -> bool {
    let Callee::Func(func) = scene.info.callee(call) else { return false };
    let Some(summary) = scene.cx.summaries().of(*func) else { return false };
    let own = Place::root(Root::Param(index as u32));
    let mut deeds = summary.deeds.iter().filter(|deed| deed.place == own).peekable();
    deeds.peek().is_some()
        && deeds.all(|deed| matches!(deed.act, Act::Method(name) if name.as_str() == "Read"))
}

/// How a call closes an end; `None` where that is not understood.
fn close(scene: &Scene<'_>, read: &Read<'_>, call: ExprId) -> Option<Close> {
    let own = scene.literal_around(Node::Expr(call));
    if let Some(Node::Stmt(stmt)) = scene.parent(Node::Expr(call))
        && matches!(scene.file.stmt(stmt).kind, StmtKind::Defer(_))
    {
        return Some(Close { call, home: own, deferred: Some(stmt), only_if_error: None });
    }
    let deferred = own.and_then(|literal| {
        let Node::Expr(called) = scene.parent(Node::Expr(literal))? else { return None };
        let Node::Stmt(stmt) = scene.parent(Node::Expr(called))? else { return None };
        matches!(scene.file.stmt(stmt).kind, StmtKind::Defer(_)).then_some((literal, stmt))
    });
    let Some((literal, stmt)) = deferred else {
        return Some(Close { call, home: own, deferred: None, only_if_error: None });
    };
    let home = scene.literal_around(Node::Stmt(stmt));
    let at = read.function.at_call(call)?;
    let cfg = &read.function.body_of_literal(literal).map(|body| read.function.body(body))?.cfg;
    let always = !cfg.leaves_without(&|step| step == at.step);
    let only_if_error = match always {
        true => None,
        false => guard(scene, call),
    };
    Some(Close { call, home, deferred: Some(stmt), only_if_error })
}

/// The variable of the `if err != nil` right around a call.
fn guard(scene: &Scene<'_>, call: ExprId) -> Option<LocalId> {
    let condition = scene.around(Node::Expr(call)).find_map(|node| match node {
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::If { cond, otherwise: None, .. } => Some(cond),
            _ => None,
        },
        _ => None,
    })?;
    scene.nil_test(condition).filter(|&(_, asks_for_one)| asks_for_one).map(|(error, _)| error)
}

/// The `go` statement that starts a literal.
pub fn start_of(scene: &Scene<'_>, literal: ExprId) -> Option<StmtId> {
    let Node::Expr(call) = scene.parent(Node::Expr(literal))? else { return None };
    scene.go_of(call)
}

/// The goroutine that an expression stands in: its literal, and the statement that starts it.
pub fn goroutine_of(scene: &Scene<'_>, expr: ExprId) -> Option<(ExprId, StmtId)> {
    scene.around(Node::Expr(expr)).find_map(|node| match node {
        Node::Expr(literal) if matches!(scene.file.expr(literal).kind, ExprKind::FuncLit(_)) => {
            start_of(scene, literal).map(|go| (literal, go))
        }
        _ => None,
    })
}

/// A body that is followed step by step.
#[derive(Clone, Copy)]
pub struct Steps<'s, 'a> {
    pub scene: &'s Scene<'a>,
    pub function: &'s Function<'a>,
    pub body: BodyId,
}

impl<'s, 'a> Steps<'s, 'a> {
    /// The body of a literal, or of the declared function.
    pub fn of(
        scene: &'s Scene<'a>,
        function: &'s Function<'a>,
        home: Option<ExprId>,
    ) -> Option<Self> {
        let body = function.body_of(home)?;
        Some(Steps { scene, function, body })
    }

    /// Its graph.
    pub fn cfg(&self) -> &'s Cfg {
        &self.function.body(self.body).cfg
    }

    /// The step that closes, or defers it.
    pub fn of_close(&self, close: &Close) -> Option<StepId> {
        if Steps::of(self.scene, self.function, close.home)?.body != self.body {
            return None;
        }
        match close.deferred {
            Some(defer) => self.scene.step_of(self.cfg(), Node::Stmt(defer)),
            None => self.function.at_call(close.call).map(|at| at.step),
        }
    }

    /// Whether a step assigns a variable.
    pub fn sets(&self, step: StepId, local: LocalId) -> bool {
        self.function.defines(At { body: self.body, step }, local)
    }

    /// The one value that a step assigns, and the error that it assigns with it.
    fn assigned(&self, step: StepId) -> Option<(ExprId, LocalId)> {
        let (targets, values) = match self.cfg().step(step) {
            Step::Assign(stmt) => self.scene.assignment(Node::Stmt(stmt))?,
            Step::Declare(decl) => self.scene.assignment(Node::Decl(decl))?,
            _ => return None,
        };
        let [value] = values else { return None };
        let error = (*targets.last()?)?;
        let is_error = self.scene.info.local(error).ty.is_error();
        is_error.then(|| (self.scene.file.unparen(*value), error))
    }

    /// The error that a step assigns which writes to the pipe, if only a reader that has gone can
    /// make that fail.
    pub fn fails_when_reader_is_gone(&self, step: StepId, pipe: &Pipe) -> Option<LocalId> {
        let (call, error) = self.assigned(step)?;
        self.writes_alone(call, pipe).then_some(error)
    }

    /// Whether only a reader that has gone can make a call fail: it writes to the pipe, or to a buffer before it.
    pub fn writes_alone(&self, call: ExprId, pipe: &Pipe) -> bool {
        let scene = self.scene;
        let is_writer = |expr: ExprId| scene.local(expr) == Some(pipe.writer);
        let named = |call: ExprId| scene.info.callee(call).qualified(scene.cx.index());
        let is_buffer = |expr: ExprId| {
            let only = scene.local(expr).and_then(|local| self.function.only_definition_of(local));
            let made = only.and_then(|only| self.function.taken_from(only));
            made.is_some_and(|made| {
                named(made).is_some_and(|name| {
                    name.path.as_str() == "bufio" && name.name.as_str().starts_with("NewWriter")
                }) && scene.args(made).first().is_some_and(|&first| is_writer(first))
            })
        };
        match scene.method_call(call) {
            Some((base, name)) if is_writer(base) => name.name.as_str() == "Write",
            Some((base, name)) if is_buffer(base) => {
                name.name.as_str() == "Flush" || name.name.as_str().starts_with("Write")
            }
            _ => named(call).is_some_and(|name| {
                let prints = matches!(
                    (name.path.as_str(), name.name.as_str()),
                    ("fmt", _) | ("io", "WriteString")
                );
                let to_pipe = |to: ExprId| is_writer(to) || is_buffer(to);
                prints && scene.args(call).first().is_some_and(|&first| to_pipe(first))
            }),
        }
    }

    /// Whether a step reads from the pipe, or gives its reader to what does.
    pub fn reads(&self, step: StepId, reader: &Ends) -> bool {
        let span = self.cfg().step(step).span(self.function.file);
        reader.used.iter().any(|&used| {
            let at = self.scene.span(Node::Expr(used));
            span.start <= at.start && at.end <= span.end
        })
    }

    /// The error that a step assigns which reads from the pipe, if it may come of what was read, so
    /// that there may be more.
    pub fn parse_error(&self, step: StepId, pipe: &Pipe) -> Option<LocalId> {
        let (value, error) = self.assigned(step)?;
        let scene = self.scene;
        let copies = scene.file.descendants(Node::Expr(value)).any(|node| match node {
            Node::Expr(call) if matches!(scene.file.expr(call).kind, ExprKind::Call { .. }) => {
                let name = scene.info.callee(call).qualified(scene.cx.index());
                name.is_none_or(|name| {
                    matches!(name.path.as_str(), "io" | "io/ioutil" | "bufio" | "bytes" | "strings")
                })
            }
            _ => false,
        });
        (!copies && scene.mentions(Node::Expr(value), pipe.reader)).then_some(error)
    }
}
