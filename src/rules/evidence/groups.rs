//! Which variables, fields and results of a package may be one channel, and what is done to it.
//!
//! One pass over the functions of a package joins whatever is assigned to each other: a field, a
//! local variable, a parameter, the elements of a slice or map, a channel that travels in another
//! one. What is joined need not be one channel at run time, so a claim about *all* operations of a
//! group is safe, and a claim about *some* needs more. A group that code outside the package may
//! know is open, and nothing can be said about all that is done to it.

mod dispatch;
mod results;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::flow::{Cfg, StepId};
use crate::index::{
    Builtin, Callee, Def, FuncId, LocalId, LocalKind, ObjectId, QualifiedName, Type,
};
use crate::rules::evidence::outside::Outside;
use crate::rules::evidence::reading::{channels_in, passing_on, read_in};
use crate::rules::scene::{Scene, counted, holds_any};
use crate::rules::{FunctionCx, PackageCx};
use crate::source::{Location, Span};
use crate::syntax::{
    ChanDir, DeclKind, Element, ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp,
};

/// Something that can hold a channel, or values that hold channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    /// A field, by where it is declared.
    Field(Location),
    Local(FuncId, LocalId),
    Global(ObjectId),
    Result(FuncId, u32),
    /// What a literal of a slice or map makes.
    Made(FuncId, ExprId),
}

/// What is done to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// It is made, with this capacity; `None` if that is not a constant.
    Make(Option<u64>),
    Send,
    Receive,
    /// It is received from until it is closed.
    Range,
    Close,
    /// It is given to `signal.Notify`.
    Notify,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub act: Act,
    /// The scene that it stands in.
    pub scene: usize,
    /// The statement of a send, the expression of a receive, the statement of a range, the call of
    /// a close, the `make`.
    pub node: Node,
    /// The channel.
    pub channel: ExprId,
    /// The literal that it stands in.
    pub literal: Option<ExprId>,
    /// The `select` with several clauses that it is a communication of, and which.
    pub select: Option<(StmtId, u32)>,
}

/// The channels that may be one.
pub(super) struct Group {
    pub ops: Vec<Op>,
    /// Whether code that is not seen may use it too.
    pub open: bool,
    /// The functions and methods outside of the package that are given it to receive from, and as
    /// which argument.
    pub recipients: Vec<Recipient>,
    /// Where the field is declared that is all that holds it.
    pub only_field: Option<Location>,
}

impl Group {
    /// Where the channel is made, if that is one place.
    pub fn only_make(&self) -> Option<&Op> {
        let mut makes = self.ops.iter().filter(|op| matches!(op.act, Act::Make(_)));
        makes.next().filter(|_| makes.next().is_none())
    }

    /// The capacities with which the channel is made; `None` for one that is not a constant.
    pub fn sizes(&self) -> impl Iterator<Item = Option<u64>> {
        self.ops.iter().filter_map(|op| match op.act {
            Act::Make(size) => Some(size),
            _ => None,
        })
    }

    /// The room that the channel has at most, if that is constant wherever it is made.
    pub fn room(&self) -> Option<u64> {
        self.sizes().try_fold(0, |most, size| Some(most.max(size?)))
    }

    /// Whether the channel may have room, where it is made.
    pub fn may_have_room(&self) -> bool {
        self.sizes().any(|size| size != Some(0))
    }
}

/// An argument of a function or method that is not the package's own.
pub(super) type Recipient = (QualifiedName, u32);

/// All channels of a package.
pub(super) struct Groups<'a> {
    pub scenes: Vec<Scene<'a>>,
    channels: Arc<Channels>,
}

/// Whether a finding counts in any function, those of tests left out, that may do something with a channel.
pub(in crate::rules) fn tells_of_channels(package: &PackageCx<'_>) -> bool {
    let with_channel = |cx: FunctionCx<'_>| {
        let (index, file) = (cx.index(), cx.file());
        let types = || {
            let info = cx.body();
            file.descendants(Node::Decl(cx.declared().decl)).any(|node| match node {
                Node::Expr(expr) => channels_in(index, info.type_of(expr)).is_some(),
                _ => false,
            })
        };
        holds_any(&cx, &["<-", "chan ", "close("]) || types()
    };
    package.counts_everywhere() || counted(package).any(with_channel)
}

/// What is told of the channels of a package, whoever asks.
#[derive(Default)]
pub(in crate::rules) struct Channels {
    /// The functions that are looked at.
    funcs: Vec<FuncId>,
    groups: Vec<Group>,
    /// The group of a channel expression, by scene.
    by_expr: FxHashMap<(usize, ExprId), usize>,
}

impl<'a> Groups<'a> {
    /// Reads the functions of a package that are not those of tests.
    pub fn of(package: &PackageCx<'a>) -> Groups<'a> {
        let open = |func| Scene::new(FunctionCx { package: *package, func });
        let mut read = None;
        let channels = package.memo.channels(|| {
            let mut scenes: Vec<Scene<'a>> = read_in(package).filter_map(open).collect();
            let others = passing_on(package, &scenes);
            scenes.extend(others.into_iter().filter_map(open));
            scenes.sort_by_key(|scene| scene.cx.func.index);
            let channels = Channels::of(&scenes);
            read = Some(scenes);
            channels
        });
        let scenes =
            read.unwrap_or_else(|| channels.funcs.iter().filter_map(|&func| open(func)).collect());
        Groups { scenes, channels }
    }

    /// As [`Groups::of`], for what is told at an operation on a channel: none where that counts nowhere.
    pub fn told_of(package: &PackageCx<'a>) -> Groups<'a> {
        match tells_of_channels(package) {
            true => Groups::of(package),
            false => Groups { scenes: Vec::new(), channels: Arc::default() },
        }
    }

    /// Whether a body runs only as a goroutine of its own, as far as the package tells: a literal that is
    /// started, or a function that somebody starts.
    pub fn is_started(&self, scene: &Scene<'_>, literal: Option<ExprId>) -> bool {
        match literal {
            Some(literal) => is_started(scene, literal),
            None => self.scenes.iter().any(|other| other.starts(scene.cx.func).next().is_some()),
        }
    }

    /// The place where the channel is made, if that is one.
    pub fn only_make_of(&self, group: &Group) -> Option<Location> {
        let make = group.only_make()?;
        let maker = &self.scenes[make.scene];
        Some(maker.cx.location(maker.span(make.node)))
    }

    /// All groups.
    pub fn all(&self) -> &[Group] {
        &self.channels.groups
    }

    /// The group of a channel that an expression of a scene denotes.
    pub fn of_expr(&self, scene: usize, expr: ExprId) -> Option<&Group> {
        let expr = self.scenes[scene].file.unparen(expr);
        self.channels.by_expr.get(&(scene, expr)).map(|&group| &self.channels.groups[group])
    }
}

impl Channels {
    fn of(scenes: &[Scene<'_>]) -> Channels {
        let mut builder = Builder {
            scenes,
            outside: scenes.first().map(|scene| {
                let cx = &scene.cx;
                Outside::of(cx.index(), cx.package.package)
            }),
            scene: 0,
            numbers: FxHashMap::default(),
            names: Vec::new(),
            parents: Vec::new(),
            open: Vec::new(),
            given: Vec::new(),
            found: Vec::new(),
        };
        for scene in 0..scenes.len() {
            builder.scene = scene;
            builder.read();
        }
        let (groups, by_expr) = builder.finish();
        Channels { funcs: scenes.iter().map(|scene| scene.cx.func).collect(), groups, by_expr }
    }
}

impl Op {
    /// The bytes to show.
    pub fn span(&self, scene: &Scene<'_>) -> Span {
        scene.span(self.node)
    }

    /// The step of the body that it stands in.
    pub fn step(&self, scene: &Scene<'_>, cfg: &Cfg) -> Option<StepId> {
        match (self.act, self.node) {
            (Act::Range, Node::Stmt(stmt)) => cfg.step_of_stmt(stmt),
            (_, node) => scene.step_of(cfg, node),
        }
    }

    /// Whether two operations stand in one body.
    pub fn same_body(&self, other: &Op) -> bool {
        (self.scene, self.literal) == (other.scene, other.literal)
    }
}

/// The value of an expression.
enum Value {
    Name(u32),
    Make(ExprId),
    Nil,
    Unknown,
}

struct Builder<'b, 'a> {
    scenes: &'b [Scene<'a>],
    outside: Option<Outside<'a, 'a>>,
    scene: usize,
    numbers: FxHashMap<Name, u32>,
    names: Vec<Name>,
    parents: Vec<u32>,
    open: Vec<bool>,
    /// What is given away, and to whom.
    given: Vec<(u32, Recipient)>,
    /// Operations by what they are done to, and how many channels deep that is.
    found: Vec<(u32, u32, Op)>,
}

impl Builder<'_, '_> {
    fn number(&mut self, name: Name) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
            self.parents.push(next);
            self.open.push(false);
        }
        number
    }

    fn root(&self, mut number: u32) -> u32 {
        while self.parents[number as usize] != number {
            number = self.parents[number as usize];
        }
        number
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.parents[high as usize] = low;
        self.open[low as usize] |= self.open[high as usize];
    }

    fn set_open(&mut self, number: u32) {
        let root = self.root(number);
        self.open[root as usize] = true;
    }

    /// How many channels stand around the innermost one in a type; `None` if it holds none.
    fn depth(&self, ty: &Type) -> Option<u32> {
        channels_in(self.scenes[self.scene].cx.index(), ty)
    }

    fn carries(&self, expr: ExprId) -> bool {
        self.depth(self.scenes[self.scene].info.type_of(expr)).is_some()
    }

    fn read(&mut self) {
        let scene = &self.scenes[self.scene];
        self.read_signature();
        for &node in scene.nodes.iter() {
            match node {
                Node::Stmt(stmt) => self.read_stmt(stmt),
                Node::Expr(expr) => self.read_expr(expr),
                Node::Decl(decl) => {
                    if let DeclKind::Var(spec) = &scene.file.decl(decl).kind
                        && spec.names.len() == spec.values.len()
                    {
                        for (name, &value) in spec.names.iter().zip(&spec.values) {
                            let local = scene.info.declared_at(name.span);
                            let target = local.map(|local| self.local(local));
                            self.assign(target, value);
                        }
                    }
                }
            }
        }
    }

    /// Parameters and results of what other packages may call are in their hands too.
    fn read_signature(&mut self) {
        let scene = &self.scenes[self.scene];
        let func = scene.cx.func;
        for (number, local) in scene.info.locals().iter().enumerate() {
            let local_id = LocalId(number as u32);
            if local.owner.is_some() || self.depth(&local.ty).is_none() {
                continue;
            }
            match local.kind {
                LocalKind::Param(_) if self.may_be_given(&local.ty) => {
                    let number = self.local(local_id);
                    self.set_open(number);
                }
                LocalKind::Result(index) => {
                    let (a, b) = (self.local(local_id), self.number(Name::Result(func, index)));
                    self.join(a, b);
                    // It may be given by a `return` without values.
                    if self.may_be_called_with(&local.ty) {
                        self.set_open(a);
                    }
                }
                _ => {}
            }
        }
    }

    fn local(&mut self, local: LocalId) -> u32 {
        let func = self.scenes[self.scene].cx.func;
        self.number(Name::Local(func, local))
    }

    fn field(&mut self, location: Location, name: &str, owner: &Type) -> u32 {
        let number = self.number(Name::Field(location));
        let exported = name.starts_with(char::is_uppercase)
            && owner
                .named()
                .is_none_or(|named| named.name.as_str().starts_with(char::is_uppercase));
        let package = &self.scenes[self.scene].cx.package;
        let package = package.index.package(package.package);
        let inside = package.holds(location.file);
        if !inside || exported && package.name.as_str() != "main" {
            self.set_open(number);
        }
        number
    }

    fn value(&mut self, expr: ExprId) -> Value {
        let scene = &self.scenes[self.scene];
        let mut expr = scene.file.unparen(expr);
        loop {
            expr = match &scene.file.expr(expr).kind {
                ExprKind::Paren(inner) | ExprKind::Star(inner) => *inner,
                ExprKind::Unary { op: UnaryOp::Recv | UnaryOp::Addr, operand } => *operand,
                ExprKind::Index { base, .. } | ExprKind::Slice { base, .. }
                    if self.carries(*base) =>
                {
                    *base
                }
                ExprKind::Call { args, .. } => match scene.info.callee(expr) {
                    Callee::Builtin(Builtin::Make) => return Value::Make(expr),
                    Callee::Builtin(Builtin::Append) | Callee::Conversion(_) => {
                        match args.first() {
                            Some(&first) => first,
                            None => return Value::Unknown,
                        }
                    }
                    Callee::Func(func) if self.is_own(*func) => {
                        return Value::Name(self.number(Name::Result(*func, 0)));
                    }
                    _ => return Value::Unknown,
                },
                ExprKind::CompositeLit { .. } => {
                    return Value::Name(self.number(Name::Made(scene.cx.func, expr)));
                }
                ExprKind::Ident(_) | ExprKind::Selector { .. } => break,
                _ => return Value::Unknown,
            };
        }
        match scene.info.resolve(expr) {
            Def::Local(local) => Value::Name(self.local(*local)),
            Def::Nil => Value::Nil,
            Def::Global(object) if object.package == scene.cx.package.package => {
                let number = self.number(Name::Global(*object));
                let exported =
                    scene.cx.index().object(*object).name.as_str().starts_with(char::is_uppercase);
                if exported {
                    self.set_open(number);
                }
                Value::Name(number)
            }
            Def::Field(selection) => match selection.location {
                Some(at) => Value::Name(self.field(at, selection.name.as_str(), &selection.owner)),
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    fn is_own(&self, func: FuncId) -> bool {
        func.package == self.scenes[self.scene].cx.func.package
    }

    fn target(&mut self, expr: ExprId) -> Option<u32> {
        match self.value(expr) {
            Value::Name(number) => Some(number),
            _ => None,
        }
    }

    /// `target = value`; a target of `None` is one that is not understood.
    fn assign(&mut self, target: Option<u32>, value: ExprId) {
        if !self.carries(value) {
            return;
        }
        match (target, self.value(value)) {
            (Some(target), Value::Name(number)) => self.join(target, number),
            (Some(target), Value::Make(make)) => self.add_make(target, make),
            (Some(target), Value::Unknown) => self.set_open(target),
            (None, Value::Name(number)) => self.set_open(number),
            _ => {}
        }
    }

    fn add_make(&mut self, target: u32, make: ExprId) {
        let scene = &self.scenes[self.scene];
        let ty = scene.cx.index().underlying(scene.info.type_of(make));
        if !matches!(ty, Type::Chan(..)) {
            return;
        }
        let capacity = match scene.args(make).get(1) {
            None => Some(0),
            Some(&size) => scene
                .info
                .constant(size)
                .and_then(|size| size.as_int())
                .and_then(|size| u64::try_from(size).ok()),
        };
        self.add(target, Act::Make(capacity), Node::Expr(make), make, None);
    }

    fn add(
        &mut self,
        target: u32,
        act: Act,
        node: Node,
        channel: ExprId,
        select: Option<(StmtId, u32)>,
    ) {
        let scene = &self.scenes[self.scene];
        let depth = self.depth(scene.info.type_of(channel)).unwrap_or(1);
        let op = Op {
            act,
            scene: self.scene,
            node,
            channel: scene.file.unparen(channel),
            literal: scene.literal_around(node),
            select,
        };
        self.found.push((target, depth, op));
    }

    /// An operation on what an expression denotes.
    fn operate(&mut self, act: Act, node: Node, channel: ExprId) {
        if let Value::Name(number) = self.value(channel) {
            let select = self.scenes[self.scene].select_of(node);
            self.add(number, act, node, channel, select);
        }
    }

    fn read_stmt(&mut self, stmt: StmtId) {
        let scene = &self.scenes[self.scene];
        match &scene.file.stmt(stmt).kind {
            StmtKind::Send { channel, value } => {
                self.operate(Act::Send, Node::Stmt(stmt), *channel);
                let target = self.target(*channel);
                self.assign(target, *value);
            }
            StmtKind::Assign { left, op: None, right } | StmtKind::Define { left, right } => {
                self.read_assignment(left, right);
            }
            StmtKind::Range { key, value, subject, .. } => {
                let ty = scene.cx.index().underlying(scene.info.type_of(*subject));
                if let Type::Chan(..) = ty {
                    self.operate(Act::Range, Node::Stmt(stmt), *subject);
                }
                if self.carries(*subject)
                    && let Some(from) = self.target(*subject)
                {
                    for &bound in [key, value].into_iter().flatten() {
                        if self.carries(bound)
                            && let Some(to) = self.target(bound)
                        {
                            self.join(from, to);
                        }
                    }
                }
            }
            StmtKind::Return(values) => self.read_return(stmt, values),
            _ => {}
        }
    }

    fn read_assignment(&mut self, left: &[ExprId], right: &[ExprId]) {
        let scene = &self.scenes[self.scene];
        if left.len() == right.len() {
            for (&target, &value) in left.iter().zip(right) {
                if self.carries(value) {
                    let blank = matches!(scene.info.resolve(target), Def::Blank);
                    let target = self.target(target);
                    if !blank {
                        self.assign(target, value);
                    }
                }
            }
            return;
        }
        let Some(&value) = right.first() else { return };
        let value = scene.file.unparen(value);
        if let ExprKind::Call { .. } = scene.file.expr(value).kind {
            let own = match scene.info.callee(value) {
                Callee::Func(func) if self.is_own(*func) => Some(*func),
                _ => None,
            };
            for (index, &target) in left.iter().enumerate() {
                let Some(target) = self.carries(target).then(|| self.target(target)).flatten()
                else {
                    continue;
                };
                match own {
                    Some(func) => {
                        let result = self.number(Name::Result(func, index as u32));
                        self.join(target, result);
                    }
                    None => self.set_open(target),
                }
            }
        } else if let Some(&target) = left.first() {
            // `v, ok := m[k]` and `v, ok := <-c`.
            let target = self.carries(target).then(|| self.target(target)).flatten();
            if let (Some(target), Value::Name(from)) = (target, self.value(value)) {
                self.join(target, from);
            }
        }
    }

    fn read_expr(&mut self, expr: ExprId) {
        let scene = &self.scenes[self.scene];
        match &scene.file.expr(expr).kind {
            ExprKind::Unary { op: UnaryOp::Recv, operand } => {
                self.operate(Act::Receive, Node::Expr(expr), *operand);
            }
            ExprKind::CompositeLit { elements, .. } => self.read_literal(expr, elements),
            // The key of a map is one of what it holds.
            ExprKind::Index { base, indices } => {
                if let &[index] = &indices[..]
                    && self.carries(index)
                    && self.carries(*base)
                {
                    let target = self.target(*base);
                    self.assign(target, index);
                }
            }
            ExprKind::Call { args, .. } => self.read_call(expr, args),
            ExprKind::Ident(_) | ExprKind::Selector { .. } => self.read_function_value(expr),
            _ => {}
        }
    }

    fn read_literal(&mut self, literal: ExprId, elements: &[Element]) {
        let scene = &self.scenes[self.scene];
        let index = scene.cx.index();
        let ty = scene.info.type_of(literal).strip_pointer().clone();
        if let Type::Struct(fields) = index.underlying(&ty) {
            for (place, element) in elements.iter().enumerate() {
                let field = match element.key.map(|key| &scene.file.expr(key).kind) {
                    Some(ExprKind::Ident(name)) => {
                        fields.fields.iter().find(|field| field.name == *name)
                    }
                    Some(_) => None,
                    None => fields.fields.get(place),
                };
                let target = field
                    .filter(|field| self.depth(&field.ty).is_some())
                    .map(|field| self.field(field.location, field.name.as_str(), &ty));
                self.assign(target, element.value);
            }
            return;
        }
        if self.depth(&ty).is_some() {
            let made = self.number(Name::Made(scene.cx.func, literal));
            for element in elements {
                self.assign(Some(made), element.value);
                if let Some(key) = element.key {
                    self.assign(Some(made), key);
                }
            }
        }
    }

    fn read_call(&mut self, call: ExprId, args: &[ExprId]) {
        let scene = &self.scenes[self.scene];
        match scene.info.callee(call) {
            Callee::Builtin(Builtin::Close) => {
                if let [channel] = args {
                    self.operate(Act::Close, Node::Expr(call), *channel);
                }
            }
            Callee::Builtin(Builtin::Append | Builtin::Copy) => {
                if let [first, rest @ ..] = args {
                    let target = self.target(*first);
                    for &arg in rest {
                        self.assign(target, arg);
                    }
                }
            }
            Callee::Builtin(_) | Callee::Conversion(_) => {}
            Callee::Func(func) if self.is_own(*func) => {
                let func = *func;
                for (index, &arg) in args.iter().enumerate() {
                    if self.carries(arg) {
                        let target = self.param(func, index as u32);
                        self.assign(target, arg);
                    }
                }
            }
            Callee::Literal(literal) => {
                let literal = *literal;
                for (index, &arg) in args.iter().enumerate() {
                    if self.carries(arg) {
                        let locals = scene.info.locals();
                        let param = locals.iter().position(|local| {
                            local.owner == Some(literal)
                                && local.kind == LocalKind::Param(index as u32)
                        });
                        if let Some(param) = param {
                            let target = self.local(LocalId(param as u32));
                            self.assign(Some(target), arg);
                        }
                    }
                }
            }
            Callee::Value(callee) if self.dispatch(*callee, args) => {}
            callee => {
                let name = callee.qualified(scene.cx.index());
                let notify = name.is_some_and(|name| {
                    (name.path.as_str(), name.name.as_str()) == ("os/signal", "Notify")
                });
                for (index, &arg) in args.iter().enumerate() {
                    if notify && index == 0 {
                        self.operate(Act::Notify, Node::Expr(call), arg);
                        continue;
                    }
                    self.assign(None, arg);
                    if let Some(name) = name
                        && self.carries(arg)
                        && !self.only_sends(call, index)
                        && let Value::Name(number) = self.value(arg)
                    {
                        self.given.push((number, (name, index as u32)));
                    }
                }
            }
        }
    }

    /// Whether a parameter of what a call calls is a channel that can only be sent on.
    fn only_sends(&self, call: ExprId, index: usize) -> bool {
        let scene = &self.scenes[self.scene];
        let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return false };
        let Type::Func(signature) = scene.info.type_of(callee) else { return false };
        signature.params.get(index).is_some_and(|param| {
            matches!(scene.cx.index().underlying(param), Type::Chan(ChanDir::Send, _))
        })
    }

    /// The parameter of a function of the package; `None` if that is not known. One without a name
    /// is not used.
    fn param(&mut self, func: FuncId, index: u32) -> Option<u32> {
        let body = self.scenes[self.scene].cx.index().body(func);
        let params = || {
            body.locals().iter().enumerate().filter(|(_, local)| {
                local.owner.is_none() && matches!(local.kind, LocalKind::Param(_))
            })
        };
        let exact = params().find(|(_, local)| local.kind == LocalKind::Param(index));
        let found = exact.or_else(|| params().next_back())?;
        Some(self.number(Name::Local(func, LocalId(found.0 as u32))))
    }

    fn finish(self) -> (Vec<Group>, FxHashMap<(usize, ExprId), usize>) {
        let mut places: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        let mut groups: Vec<Group> = Vec::new();
        let mut by_expr = FxHashMap::default();
        let mut recipients: FxHashMap<u32, Vec<Recipient>> = FxHashMap::default();
        for &(number, recipient) in &self.given {
            recipients.entry(self.root(number)).or_default().push(recipient);
        }
        let mut held: FxHashMap<u32, Vec<Name>> = FxHashMap::default();
        for (number, &name) in (0..).zip(&self.names) {
            held.entry(self.root(number)).or_default().push(name);
        }
        for (number, depth, op) in &self.found {
            let root = self.root(*number);
            let place = *places.entry((root, *depth)).or_insert_with(|| {
                groups.push(Group {
                    ops: Vec::new(),
                    open: self.open[root as usize],
                    recipients: recipients.remove(&root).unwrap_or_default(),
                    only_field: match held.get(&root).map(Vec::as_slice) {
                        Some(&[Name::Field(at)]) => Some(at),
                        _ => None,
                    },
                });
                groups.len() - 1
            });
            groups[place].ops.push(*op);
            by_expr.insert((op.scene, op.channel), place);
        }
        (groups, by_expr)
    }
}

/// Whether a literal runs as a goroutine.
pub(super) fn is_started(scene: &Scene<'_>, literal: ExprId) -> bool {
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return false };
    let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return false };
    if scene.file.unparen(callee) == literal {
        return scene.go_of(call).is_some();
    }
    scene.method_call(call).is_some_and(|(_, name)| name.name.as_str() == "Go")
}
