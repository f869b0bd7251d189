//! Constructors of the run whose result somebody has to end: they start a goroutine that goes on
//! until a method of the result says stop, or keep in the result what has such a goroutine.

use rustc_hash::FxHashMap;

use crate::flow::{Edge, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{BodyInfo, Callee, Def, FuncId, LocalId, LocalKind, Type, TypeDecl};
use crate::project::PackageId;
use crate::source::Location;
use crate::summary::effect::{Act, Deed, Mode};
use crate::summary::function::{At, BodyFlow, BodyId, Function};
use crate::summary::place::{MAX_PATH, Place, Root};
use crate::summary::{Read, Summaries};
use crate::syntax::{BinaryOp, ExprId, ExprKind, File, Node, Symbol, UnaryOp};

/// A result that holds a goroutine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Which result.
    pub result: u32,
    /// Where the goroutine is started.
    pub started: Location,
    /// The channel or context within the result that every way out of the goroutine looks at.
    pub stop: Vec<Symbol>,
    /// The methods of the result that close that channel, send on it what says nothing but that, or
    /// call a function that is stored beside it, sorted by name; never empty.
    pub ends: Vec<Symbol>,
    /// The parameters of the constructor without each of which, where it is nil, no goroutine is started.
    pub asked: Vec<u32>,
}

impl Resource {
    /// Whether a call of the constructor starts no goroutine, since it is given nil.
    pub fn is_left_out(&self, file: &File, info: &BodyInfo, call: ExprId) -> bool {
        let args = file.args(call);
        self.asked
            .iter()
            .any(|&param| args.get(param as usize).is_some_and(|&arg| is_nil(file, info, arg)))
    }

    /// Whether a package can name what ends a thing that a function of `maker` gives.
    pub fn can_be_ended_in(&self, package: PackageId, maker: PackageId) -> bool {
        package == maker || self.ends.iter().any(|end| end.is_exported())
    }
}

/// How many calls are followed from a function to the constructor whose result it returns.
const MAX_WRAPPERS: u32 = 8;

impl<'a> Summaries<'a> {
    /// The resources that a function of the run gives to its callers.
    pub fn resources(&self, func: FuncId) -> Vec<Resource> {
        self.resources_within(func, MAX_WRAPPERS, &mut FxHashMap::default())
    }

    /// `known` holds the answers for this question so far, so that each function is asked once.
    fn resources_within(
        &self,
        func: FuncId,
        wrappers: u32,
        known: &mut FxHashMap<FuncId, Vec<Resource>>,
    ) -> Vec<Resource> {
        if let Some(known) = known.get(&func) {
            return known.clone();
        }
        // One that is asked for itself has nothing to add.
        known.insert(func, Vec::new());
        let Some(read) = self.read_giver(func) else { return Vec::new() };
        let mut found: Vec<Resource> = Vec::new();
        for returned in &read.effects(BodyId::OWN).effects {
            let Act::Returned(result) = returned.act else { continue };
            let told = found.iter().any(|resource| resource.result == result);
            if told || !returned.place.path.is_empty() {
                continue;
            }
            match returned.place.root {
                Root::Made(made) if !is_kept(&read, returned.place.root) => {
                    let ty = read.function.info.type_of(made);
                    let own = self.started_in(&read, returned.place.root, ty);
                    let own = own.or_else(|| self.part_of(&read, made, wrappers, known));
                    found.extend(own.map(|own| Resource { result, ..own }));
                }
                Root::Call(call, of_callee)
                    if wrappers > 0 && !is_kept(&read, returned.place.root) =>
                {
                    let inner = self.given(&read.function, call, of_callee, wrappers, known);
                    found.extend(inner.map(|inner| Resource { result, ..inner }));
                }
                _ => {}
            }
        }
        known.insert(func, found.clone());
        found
    }

    /// The resource that the receiver of a method of the run is from a call of it on, as one named `Start`. Its
    /// result says nothing.
    pub fn started_by(&self, method: FuncId) -> Option<Resource> {
        let waits = |deed: &Deed| {
            let waits = matches!(deed.act, Act::Received(_) | Act::Drained);
            waits && deed.mode == Mode::Spawned && deed.place.root == Root::Receiver
        };
        if !self.of(method)?.deeds.iter().any(waits) {
            return None;
        }
        let read = self.read(method)?;
        let mut locals = read.function.info.locals().iter();
        let receiver = locals.find(|local| local.kind == LocalKind::Receiver)?;
        self.started_in(&read, Root::Receiver, &receiver.ty)
    }

    /// Whether a function of the run makes one of its results anew, and keeps it nowhere.
    pub fn makes(&self, func: FuncId, result: u32) -> bool {
        self.read_giver(func).is_some_and(|read| {
            let effects = &read.effects(BodyId::OWN).effects;
            let mut given = effects.iter().filter(|given| given.act == Act::Returned(result));
            given.clone().next().is_some()
                && given.all(|given| {
                    let root = given.place.root;
                    let whole = given.place.path.is_empty();
                    whole && matches!(root, Root::Made(_)) && !is_kept(&read, root)
                })
        })
    }

    /// What is made here, or the receiver, if a goroutine that is started here stays until a method of it is
    /// called. Which result of a function that is, its callers say.
    fn started_in(&self, read: &Read<'a>, root: Root, ty: &Type) -> Option<Resource> {
        let function = &read.function;
        let mut found: Option<Resource> = None;
        let effects = &read.effects(BodyId::OWN).effects;
        for effect in effects {
            let waits = matches!(effect.act, Act::Received(_) | Act::Drained);
            if effect.mode != Mode::Spawned || !effect.sure || !waits {
                continue;
            }
            if effect.place.root != root || effect.place.path.is_empty() {
                continue;
            }
            let ranged = effects.iter().any(|other| {
                other.act == Act::Drained && other.at == effect.at && other.place == effect.place
            });
            let mut ends = self.ends(ty, &effect.place.path, ranged);
            // What the goroutine does at its own end, nobody calls to end it.
            let runs = goroutine(function, effect.at);
            ends.retain(|end| Some(*end) != runs);
            if !ends.is_empty() {
                let span = function.step(effect.at).span(function.file);
                let started = Location { file: function.file_id, span };
                let stop = effect.place.path.to_vec();
                let asked = asked_before(function, effect.at);
                match &mut found {
                    // Of several goroutines each has a reason of its own to be left out.
                    Some(first) => first.asked.retain(|param| asked.contains(param)),
                    None => found = Some(Resource { result: 0, started, stop, ends, asked }),
                }
            }
        }
        found
    }

    /// Whether the values of a channel say more than that it is over: neither nothing, yes or no, nor
    /// where to answer.
    fn carries_work(&self, channel: &Type) -> bool {
        let Type::Chan(_, element) = self.index.underlying(channel) else { return false };
        !self.index.is_signal(channel)
            && !matches!(
                self.index.underlying(&element),
                Type::Chan(..) | Type::Basic(_) | Type::Interface(_)
            )
    }

    /// The resource that a result of a call of a function of the run is.
    fn given(
        &self,
        function: &Function<'_>,
        call: ExprId,
        result: u32,
        wrappers: u32,
        known: &mut FxHashMap<FuncId, Vec<Resource>>,
    ) -> Option<Resource> {
        let Callee::Func(callee) = function.info.callee(call) else { return None };
        let inner = self.resources_within(*callee, wrappers.checked_sub(1)?, known);
        let inner = inner.into_iter().find(|inner| inner.result == result)?;
        (!inner.is_left_out(function.file, &function.info, call))
            .then(|| Resource { asked: Vec::new(), ..inner })
    }

    /// What is made here by a composite literal, if a field of it, or of a literal in it, gets
    /// something that has to be ended, and a method of the whole does that.
    fn part_of(
        &self,
        read: &Read<'a>,
        made: ExprId,
        wrappers: u32,
        known: &mut FxHashMap<FuncId, Vec<Resource>>,
    ) -> Option<Resource> {
        let function = &read.function;
        let file = function.file;
        let mut open: Vec<(ExprId, Vec<(Symbol, ExprId)>)> = vec![(made, Vec::new())];
        while let Some((literal, way)) = open.pop() {
            let ExprKind::CompositeLit { elements, .. } = &file.expr(literal).kind else {
                continue;
            };
            for element in elements.iter().rev() {
                let Some(ExprKind::Ident(field)) = element.key.map(|key| &file.expr(key).kind)
                else {
                    continue;
                };
                let mut way = way.clone();
                way.push((*field, literal));
                let mut value = file.unparen(element.value);
                if let ExprKind::Unary { op: UnaryOp::Addr, operand } = file.expr(value).kind {
                    value = file.unparen(operand);
                }
                let given = match file.expr(value).kind {
                    ExprKind::CompositeLit { .. } if way.len() < MAX_PATH => {
                        open.push((value, way));
                        continue;
                    }
                    ExprKind::Call { .. } => Some((value, 0)),
                    ExprKind::Ident(_) => self.made_by(function, value),
                    _ => None,
                };
                let Some((call, result)) = given else { continue };
                let Some(part) = self.given(function, call, result, wrappers, known) else {
                    continue;
                };
                let ends = self.ends_of_part(function, &way, &part.ends);
                if !ends.is_empty() {
                    return Some(Resource { ends, ..part });
                }
            }
        }
        None
    }

    /// The call whose result a variable holds, and which result.
    fn made_by(&self, function: &Function<'_>, variable: ExprId) -> Option<(ExprId, u32)> {
        let root = Node::Decl(function.index.func(function.id).decl);
        let parents = function.file.parents(root);
        let cfg = &function.body(BodyId::OWN).cfg;
        let step = parents.around(Node::Expr(variable)).find_map(|around| match around {
            Node::Expr(expr) => cfg.step_of_expr(expr),
            Node::Stmt(stmt) => cfg.step_of_stmt(stmt),
            Node::Decl(_) => None,
        })?;
        let places = function.places(At { body: BodyId::OWN, step }, variable);
        match places.only()? {
            Place { root: Root::Call(call, result), path } if path.is_empty() => {
                Some((*call, *result))
            }
            _ => None,
        }
    }

    /// The methods that call one of `ends` of what a literal holds behind `way`, the fields from
    /// the outside in, each with its literal: methods of the whole, and those that it has by
    /// embedding.
    fn ends_of_part(
        &self,
        function: &Function<'_>,
        way: &[(Symbol, ExprId)],
        ends: &[Symbol],
    ) -> Vec<Symbol> {
        let mut found: Vec<Symbol> = Vec::new();
        for (depth, &(field, literal)) in way.iter().enumerate() {
            let ty = function.info.type_of(literal);
            let Some(named) = ty.named() else { break };
            let TypeDecl::Global(object) = named.decl else { break };
            let path = way[depth..].iter().map(|&(field, _)| field);
            let stops = |deed: &Deed| {
                deed.place.root == Root::Receiver
                    && matches!(deed.act, Act::Method(name) if ends.contains(&name))
                    && deed.place.path.iter().copied().eq(path.clone())
            };
            let methods = self.index.package(object.package).methods(named.name);
            found.extend(
                methods
                    .filter(|method| {
                        self.of(method.id).is_some_and(|summary| summary.deeds.iter().any(stops))
                    })
                    .map(|method| method.name),
            );
            let embedded = way.get(depth + 1).is_some_and(|&(_, inner)| {
                function.info.type_of(inner).named().is_some_and(|inner| inner.name == field)
            });
            if !embedded {
                break;
            }
        }
        found.sort_by_key(|name| name.as_str());
        found.dedup();
        found
    }

    /// The methods of a type that end what looks at its part `stop`, or ranges over it.
    fn ends(&self, ty: &Type, stop: &[Symbol], ranged: bool) -> Vec<Symbol> {
        let Some(named) = ty.named() else { return Vec::new() };
        let TypeDecl::Global(object) = named.decl else { return Vec::new() };
        let fields = match self.index.underlying(ty.strip_pointer()) {
            Type::Struct(fields) => fields,
            _ => return Vec::new(),
        };
        let is_cancel = |name: Symbol| {
            fields.fields.iter().find(|field| field.name == name).is_some_and(|field| {
                let plain = |ty: &Type| match ty {
                    Type::Func(signature) => {
                        signature.params.is_empty() && signature.results.is_empty()
                    }
                    _ => false,
                };
                field.ty.is_named("context", "CancelFunc") || plain(&field.ty)
            })
        };
        let of_context = stop.last().is_some_and(|name| name.as_str() == "Done()");
        // Who is sent work goes on with it, and so does a range with whatever comes.
        let goes_on = ranged
            || matches!(stop, [name] if fields.fields.iter().any(|field| {
                field.name == *name && self.carries_work(&field.ty)
            }));
        let stops = |deed: &Deed| match (deed.act, &deed.place.path[..]) {
            _ if deed.place.root != Root::Receiver => false,
            (Act::Closed, path) => path == stop,
            (Act::SentTo(_), path) => path == stop && !goes_on,
            (Act::Called, [field]) => of_context && is_cancel(*field),
            _ => false,
        };
        let methods = self.index.package(object.package).methods(named.name);
        let mut ends: Vec<Symbol> = methods
            .filter(|method| {
                self.of(method.id).is_some_and(|summary| summary.deeds.iter().any(stops))
            })
            .map(|method| method.name)
            .collect();
        ends.sort_by_key(|name| name.as_str());
        ends.dedup();
        ends
    }
}

/// The method that a `go` statement calls, by name.
fn goroutine(function: &Function<'_>, at: At) -> Option<Symbol> {
    let Step::Go(stmt) = function.step(at) else { return None };
    let call = BodyFlow::statement_call(function.file, stmt)?;
    match *function.info.callee(call) {
        Callee::Func(method) => Some(function.index.func(method).name),
        _ => None,
    }
}

/// Whether a function keeps what it returns: it stores it where others find it too, or gives it to
/// code that may.
fn is_kept(read: &Read<'_>, root: Root) -> bool {
    let whole = Place::root(root);
    let made = matches!(root, Root::Made(_));
    read.effects(BodyId::OWN).effects.iter().any(|effect| {
        effect.place == whole
            && match effect.act {
                Act::Stored | Act::Sent => true,
                // What is made here may well give itself to its own goroutines.
                Act::Passed | Act::Captured => !made,
                _ => false,
            }
    })
}

/// The parameters that have to be something other than nil on every way to a step of a function itself.
fn asked_before(function: &Function<'_>, at: At) -> Vec<u32> {
    let params = function.info.locals().iter().zip(0..).filter_map(|(local, number)| {
        let LocalKind::Param(place) = local.kind else { return None };
        let local = LocalId(number);
        let once = function.definitions_of(local).count() == 1;
        (once && function.info.local(local).owner.is_none()).then_some((local, place))
    });
    let params = params.filter(|_| at.body == BodyId::OWN);
    let needed = params.filter(|&(param, _)| {
        let mut walk = Nil { function, param, to: at.step };
        !function.body(at.body).cfg.finds(Start::Entry, (), &mut walk)
    });
    needed.map(|(_, place)| place).collect()
}

/// A walk to a step with a parameter that is nil.
struct Nil<'f, 'a> {
    function: &'f Function<'a>,
    param: LocalId,
    to: StepId,
}

impl Walk for Nil<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.to { Passing::Found } else { Passing::On(()) }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let Some((asked, holds)) = edge.kind.condition() else { return Some(()) };
        let file = self.function.file;
        let ExprKind::Binary { op, left, right, .. } = file.expr(file.unparen(asked)).kind else {
            return Some(());
        };
        let is_param = |side: ExprId| {
            let resolved = self.function.info.resolve(file.unparen(side));
            matches!(resolved, Def::Local(local) if *local == self.param)
        };
        let compares = |one, other| is_param(one) && is_nil(file, &self.function.info, other);
        if !compares(left, right) && !compares(right, left) {
            return Some(());
        }
        match op {
            BinaryOp::Eq => holds.then_some(()),
            BinaryOp::Ne => (!holds).then_some(()),
            _ => Some(()),
        }
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        false
    }
}

fn is_nil(file: &File, info: &BodyInfo, expr: ExprId) -> bool {
    matches!(info.resolve(file.unparen(expr)), Def::Nil)
}
