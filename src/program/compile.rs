//! The compiler: from the declarations of a package to code. This file has the whole package and
//! the frame of one function; statements are in `stmt`, expressions in `expr`, types in `ty`.
//!
//! Go's scopes are walked as they are met, innermost first. A variable becomes a slot of its
//! function; whether it lives in a cell is known only when its function is complete, so loads and
//! stores are emitted for plain slots and turned into those through the cell at the end.

mod builtin;
mod constant;
mod counter;
mod expr;
mod stmt;
mod ty;

pub(super) use constant::arithmetic;

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::program::code::{
    Constant, External, ExternalId, Func, FuncId, Global, GlobalId, NameId, Op, Pc, Slot, SlotSet,
    TextId, Traits, Var,
};
use crate::program::library;
use crate::program::package::{Item, Package};
use crate::program::types::{NamedId, Type, TypeId, Types};
use crate::source::{FileId, Span};
use crate::syntax::{
    self, Body, DeclId, DeclKind, ExprId, FuncDecl, Param, Signature, StmtId, Symbol,
};

/// Deeper nesting than this makes a function a hole: no hand has written it.
const MAX_DEPTH: u32 = 200;

/// Longer functions than this are holes: no exploration could get through them.
const MAX_CODE: usize = 30_000;

/// What the compiler makes of a package.
pub(super) struct Output {
    pub funcs: Vec<Func>,
    pub globals: Vec<Global>,
    pub types: Types,
    pub externals: Vec<External>,
    pub names: Vec<Symbol>,
    pub texts: Vec<Box<str>>,
    pub methods: FxHashMap<(NamedId, NameId), FuncId>,
    pub entries: Vec<FuncId>,
}

/// Compiles all functions and initialisers of a package.
pub(super) fn package(mut package: Package<'_>) -> Output {
    package.enter_constants();
    let mut compiler = Compiler {
        package,
        out: Output {
            funcs: Vec::new(),
            globals: Vec::new(),
            types: Types::default(),
            externals: Vec::new(),
            names: Vec::new(),
            texts: vec![Box::from("")],
            methods: FxHashMap::default(),
            entries: Vec::new(),
        },
        name_ids: FxHashMap::default(),
        text_ids: FxHashMap::default(),
        external_ids: FxHashMap::default(),
        frames: Vec::new(),
        file: 0,
        depth: 0,
        results_by_name: FxHashMap::default(),
        needs_place: FxHashSet::default(),
        decl: None,
        counters: None,
    };
    compiler.types();
    let bodies = compiler.headers();
    compiler.globals();
    for (id, file, decl) in bodies {
        compiler.declared(id, file, decl);
    }
    compiler.out
}

/// What a name of a scope stands for.
#[derive(Clone, Copy, Debug)]
enum Entity {
    Var(Slot),
    Type(TypeId),
    Const(Constant),
}

/// A statement that `break` or `continue` can leave or go on with.
struct Target {
    label: Option<Symbol>,
    is_loop: bool,
    /// The slot of a range loop, which has to be told when it is left.
    range: Option<Slot>,
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

/// A function under construction.
struct FuncFrame {
    id: FuncId,
    func: Func,
    names: FxHashMap<Symbol, Entity>,
    /// What the names of the open scopes hid, innermost last.
    hidden: Vec<(Symbol, Option<Entity>)>,
    /// Where in `hidden` the open scopes begin.
    marks: Vec<usize>,
    targets: Vec<Target>,
    labels: FxHashMap<Symbol, Pc>,
    gotos: Vec<(Symbol, usize)>,
    /// The label of the statement that comes next.
    pending_label: Option<Symbol>,
    /// How many loops without a condition are around what is compiled.
    endless: u32,
    /// Literals inside it.
    literals: u32,
    /// Whether it holds what cannot be compiled.
    abandoned: bool,
}

struct Compiler<'a> {
    package: Package<'a>,
    out: Output,
    name_ids: FxHashMap<Symbol, NameId>,
    text_ids: FxHashMap<Box<str>, TextId>,
    external_ids: FxHashMap<(Symbol, Symbol), ExternalId>,
    /// The functions under construction, the innermost last.
    frames: Vec<FuncFrame>,
    /// The file that is compiled.
    file: u32,
    depth: u32,
    /// Number of results of the methods of a name; `None` if they differ.
    results_by_name: FxHashMap<Symbol, Option<u8>>,
    /// The names of methods that are given the place of a slice, map or the like, and so may put another
    /// value there.
    needs_place: FxHashSet<Symbol>,
    /// The function that is compiled, and the variables of it that only count turns once somebody has asked.
    decl: Option<DeclId>,
    counters: Option<FxHashSet<Symbol>>,
}

impl<'a> Compiler<'a> {
    /// The tree of the current file.
    fn tree(&self) -> &'a syntax::File {
        self.package.files[self.file as usize].file
    }

    fn file_id(&self) -> FileId {
        self.package.files[self.file as usize].id
    }

    /// Numbers and then defines the package's types: definitions may go in circles.
    fn types(&mut self) {
        let mut specs = Vec::new();
        for (file, source) in self.package.files.iter().enumerate() {
            for &decl in &source.file.top_level {
                if let DeclKind::Type(spec) = &source.file.decl(decl).kind {
                    let id = self.out.types.declare(spec.name.name, spec.alias);
                    self.package.items.insert(spec.name.name, Item::Type(id));
                    specs.push((id, file as u32, spec));
                }
            }
        }
        for (id, file, spec) in specs {
            self.file = file;
            let parameters = spec.type_params.iter().map(|param| param.name.name);
            self.define_type(id, parameters.collect(), spec.ty);
        }
    }

    /// Numbers the declared functions and reads their signatures.
    fn headers(&mut self) -> Vec<(FuncId, u32, DeclId)> {
        let mut bodies = Vec::new();
        for (file, source) in self.package.files.iter().enumerate() {
            self.file = file as u32;
            for (decl, func) in source.file.funcs() {
                let id = self.new_func(source.file.decl(decl).span, func.name.name);
                bodies.push((id, file as u32, decl));
                self.out.entries.push(id);
                self.header(id, func);
            }
        }
        bodies
    }

    fn header(&mut self, id: FuncId, func: &FuncDecl) {
        let name = func.name.name;
        let Some(receiver) = &func.receiver else {
            self.out.funcs[id.0 as usize].name = name.to_string();
            if !matches!(name.as_str(), "init" | "_") {
                self.package.items.insert(name, Item::Func(id));
            }
            self.out.funcs[id.0 as usize].results =
                vec![TypeId::UNKNOWN; func.signature.results.len()];
            return;
        };
        let base = self.receiver_base(receiver.ty);
        let (text, pointer) = match base {
            Some((symbol, pointer)) => (symbol.as_str(), pointer),
            None => ("?", false),
        };
        let star = if pointer { "*" } else { "" };
        let results = func.signature.results.len();
        let header = &mut self.out.funcs[id.0 as usize];
        header.name = format!("({star}{text}).{name}");
        header.value_receiver = !pointer;
        header.results = vec![TypeId::UNKNOWN; results];
        let method = self.name_id(name);
        if let Some((symbol, _)) = base
            && let Some(&Item::Type(named)) = self.package.items.get(&symbol)
        {
            let ty = self.named_type(named);
            let named = self.out.types.name_of(ty).unwrap_or(named);
            self.out.methods.entry((named, method)).or_insert(id);
            if pointer && self.out.types.is_replaced(ty) {
                self.needs_place.insert(name);
            }
        }
        let results = u8::try_from(results).ok();
        self.results_by_name
            .entry(name)
            .and_modify(|known| {
                if *known != results {
                    *known = None;
                }
            })
            .or_insert(results);
    }

    /// Numbers the package's variables, then compiles their initialisers.
    fn globals(&mut self) {
        let mut specs = Vec::new();
        for (file, source) in self.package.files.iter().enumerate() {
            self.file = file as u32;
            for &decl in &source.file.top_level {
                let DeclKind::Var(spec) = &source.file.decl(decl).kind else { continue };
                let ty = spec.ty.map_or(TypeId::UNKNOWN, |ty| self.type_expr(ty));
                let first = self.out.globals.len() as u32;
                let values =
                    if spec.values.len() == spec.names.len() { &*spec.values } else { &[] };
                for (at, name) in spec.names.iter().enumerate() {
                    let value = values.get(at).filter(|_| spec.ty.is_none());
                    let ty = value.and_then(|&value| self.lib_type_of(value)).unwrap_or(ty);
                    let id = GlobalId(self.out.globals.len() as u32);
                    if !name.name.is_blank() {
                        self.package.items.insert(name.name, Item::Global(id));
                    }
                    self.out.globals.push(Global {
                        name: name.name,
                        ty,
                        init: None,
                        boxed: false,
                        prepared: false,
                        file: source.id,
                        span: name.span,
                    });
                }
                specs.push((file as u32, first, spec, source.file.decl(decl).span));
            }
        }
        for (file, first, spec, span) in specs {
            self.file = file;
            if spec.values.len() == spec.names.len() {
                for (at, &value) in spec.values.iter().enumerate() {
                    let name = spec.names[at].name;
                    let func = self.initialiser(name, span, |compiler| {
                        compiler.expr_as(value, compiler.out.globals[first as usize + at].ty);
                        1
                    });
                    self.out.globals[first as usize + at].init = Some((func, 0));
                }
            } else if let [call] = *spec.values {
                let count = u8::try_from(spec.names.len()).unwrap_or(u8::MAX);
                let func = self.initialiser(spec.names[0].name, span, |compiler| {
                    compiler.multi(call, count);
                    count
                });
                for at in 0..count {
                    self.out.globals[first as usize + at as usize].init = Some((func, at));
                }
            }
        }
    }

    /// The type of a value that is one of a library that the machine knows, or its address, as the value is
    /// written: `sync.Mutex{}`, `&sync.Mutex{}`.
    fn lib_type_of(&mut self, value: ExprId) -> Option<TypeId> {
        let ty = self.written_type(value)?;
        let is_lib = |ty: TypeId| matches!(self.out.types.underlying(ty), Type::Lib(_));
        let known = match *self.out.types.underlying(ty) {
            Type::Pointer(to) => is_lib(to),
            _ => is_lib(ty),
        };
        known.then_some(ty)
    }

    fn initialiser(
        &mut self,
        name: Symbol,
        span: Span,
        values: impl FnOnce(&mut Self) -> u8,
    ) -> FuncId {
        let id = self.new_func(span, Symbol::new(""));
        self.open(id);
        self.frame().func.name = name.to_string();
        let count = values(self);
        self.frame().func.results = vec![TypeId::UNKNOWN; count as usize];
        self.emit(Op::Return(count), span);
        self.close();
        let literals = self.out.funcs.iter().zip(0..).skip(id.0 as usize);
        let outermost = literals.filter(|(func, _)| func.parent == Some(id));
        self.out.entries.extend(outermost.map(|(_, place)| FuncId(place)));
        id
    }

    /// Compiles the body of a declared function.
    fn declared(&mut self, id: FuncId, file: u32, decl: DeclId) {
        self.file = file;
        (self.decl, self.counters) = (Some(decl), None);
        let tree = self.tree();
        let DeclKind::Func(func) = &tree.decl(decl).kind else { return };
        self.open(id);
        for parameter in &func.type_params {
            self.bind(parameter.name.name, Entity::Type(TypeId::UNKNOWN));
        }
        if let Some(receiver) = &func.receiver {
            self.bind_receiver_parameters(receiver.ty);
            let slot = self.parameter(receiver);
            self.frame().func.receiver = Some(slot);
        }
        self.signature(&func.signature);
        match tree.body(func) {
            Body::Parsed(block) => self.body(block),
            Body::External | Body::Elided(_) => self.frame().abandoned = true,
        }
        self.close();
    }

    /// Declares the parameters and named results, and moves those that need it into cells.
    fn signature(&mut self, signature: &Signature) {
        for param in &signature.params {
            let slot = self.parameter(param);
            self.frame().func.params.push(slot);
            self.frame().func.variadic |= param.variadic;
        }
        let boxes: Vec<Slot> = {
            let func = &self.frame().func;
            func.receiver.iter().chain(&func.params).copied().collect()
        };
        for slot in boxes {
            self.emit(Op::Box(slot), signature.span);
        }
        let mut types = Vec::new();
        for result in &signature.results {
            let ty = self.type_expr(result.ty);
            types.push(ty);
            if let Some(name) = result.name {
                let slot = self.declare(name.name, ty);
                self.emit(Op::Zero(ty), name.span);
                self.emit(Op::Declare(slot), name.span);
                self.frame().func.result_slots.push(slot);
            }
        }
        self.frame().func.results = types;
    }

    fn parameter(&mut self, param: &Param) -> Slot {
        let mut ty = self.type_expr(param.ty);
        if param.variadic {
            ty = self.out.types.intern(crate::program::types::Type::Slice(ty));
        }
        let name = param.name.map_or(Symbol::new("_"), |name| name.name);
        self.declare(name, ty)
    }

    fn body(&mut self, block: StmtId) {
        let tree = self.tree();
        for &stmt in tree.block(block) {
            self.stmt(stmt);
        }
        let end = tree.stmt(block).span.end;
        self.emit(Op::Return(0), Span::new(end.saturating_sub(1), end));
    }

    fn new_func(&mut self, span: Span, symbol: Symbol) -> FuncId {
        let id = FuncId(self.out.funcs.len() as u32);
        self.out.funcs.push(Func {
            name: String::new(),
            symbol,
            file: self.file_id(),
            span,
            parent: None,
            receiver: None,
            value_receiver: false,
            params: Vec::new(),
            variadic: false,
            results: Vec::new(),
            result_slots: Vec::new(),
            vars: Vec::new(),
            captures: Vec::new(),
            code: Vec::new(),
            spans: Vec::new(),
            selects: Vec::new(),
            lists: Vec::new(),
            flow: OnceLock::new(),
            traits: Traits::default(),
        });
        id
    }

    fn open(&mut self, id: FuncId) {
        let func = self.out.funcs[id.0 as usize].clone();
        self.frames.push(FuncFrame {
            id,
            func,
            names: FxHashMap::default(),
            hidden: Vec::new(),
            marks: Vec::new(),
            targets: Vec::new(),
            labels: FxHashMap::default(),
            gotos: Vec::new(),
            pending_label: None,
            endless: 0,
            literals: 0,
            abandoned: false,
        });
    }

    /// Completes the innermost function.
    fn close(&mut self) {
        let frame = self.frames.pop().expect("every `close` has its `open`");
        let mut func = frame.func;
        if frame.abandoned || !frame.gotos.is_empty() || func.code.len() > MAX_CODE {
            make_hole(&mut func);
        }
        through_cells(&mut func);
        let outermost = self.frames.first().map_or(&func.name, |outermost| &outermost.func.name);
        if matches!(outermost.as_str(), "init" | "TestMain") {
            for op in &func.code {
                if let Op::Global(id) | Op::StoreGlobal(id) | Op::AddressOfGlobal(id) = *op {
                    self.out.globals[id.0 as usize].prepared = true;
                }
            }
        }
        self.out.funcs[frame.id.0 as usize] = func;
    }

    fn frame(&mut self) -> &mut FuncFrame {
        self.frames.last_mut().expect("code is compiled inside a function")
    }

    fn emit(&mut self, op: Op, span: Span) -> usize {
        let func = &mut self.frame().func;
        func.code.push(op);
        func.spans.push(span);
        func.code.len() - 1
    }

    fn here(&mut self) -> Pc {
        self.frame().func.code.len() as Pc
    }

    /// Lets the jumps at `from` go to `to`.
    fn patch(&mut self, from: &[usize], to: Pc) {
        for &at in from {
            match &mut self.frame().func.code[at] {
                Op::Jump(target)
                | Op::Branch { target, .. }
                | Op::RangeNext { exit: target, .. } => *target = to,
                other => unreachable!("{other:?} does not jump"),
            }
        }
    }

    fn patch_here(&mut self, from: &[usize]) {
        let here = self.here();
        self.patch(from, here);
    }

    /// A new variable, bound to its name from here on.
    fn declare(&mut self, name: Symbol, ty: TypeId) -> Slot {
        let frame = self.frame();
        // The last slots are kept free, so that two in a row always exist.
        if frame.func.vars.len() >= u16::MAX as usize - 2 {
            frame.abandoned = true;
            return Slot(0);
        }
        let slot = Slot(frame.func.vars.len() as u16);
        frame.func.vars.push(Var { name, ty, boxed: false, settled: false, fed: false });
        if !name.is_blank() && !name.as_str().is_empty() {
            self.bind(name, Entity::Var(slot));
        }
        slot
    }

    /// A variable of the compiler's own.
    fn temporary(&mut self) -> Slot {
        self.declare(Symbol::new(""), TypeId::UNKNOWN)
    }

    fn bind(&mut self, name: Symbol, entity: Entity) {
        let frame = self.frame();
        let hidden = frame.names.insert(name, entity);
        frame.hidden.push((name, hidden));
    }

    /// Runs `inside` in a scope of its own.
    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        let mark = self.frame().hidden.len();
        self.frame().marks.push(mark);
        inside(self);
        let frame = self.frame();
        frame.marks.pop();
        while frame.hidden.len() > mark {
            let Some((name, hidden)) = frame.hidden.pop() else { break };
            match hidden {
                Some(entity) => frame.names.insert(name, entity),
                None => frame.names.remove(&name),
            };
        }
    }

    /// The variable `name`, if the innermost scope declares it.
    fn declared_here(&self, name: Symbol) -> Option<Slot> {
        let frame = self.frames.last()?;
        let mark = frame.marks.last().copied().unwrap_or(0);
        if !frame.hidden[mark..].iter().any(|&(bound, _)| bound == name) {
            return None;
        }
        match frame.names.get(&name) {
            Some(&Entity::Var(slot)) => Some(slot),
            _ => None,
        }
    }

    /// What `name` stands for in the functions under construction. A variable of an outer function
    /// is captured on the way.
    fn lookup(&mut self, name: Symbol) -> Option<Entity> {
        let depth = self.frames.iter().rposition(|frame| frame.names.contains_key(&name))?;
        let entity = *self.frames[depth].names.get(&name)?;
        let Entity::Var(mut slot) = entity else { return Some(entity) };
        for at in depth + 1..self.frames.len() {
            slot = self.capture(at, name, slot);
        }
        Some(Entity::Var(slot))
    }

    /// Makes the variable `outer` of the function around `frames[at]` known inside it.
    fn capture(&mut self, at: usize, name: Symbol, outer: Slot) -> Slot {
        let known = self.frames[at].func.captures.iter().find(|&&(from, _)| from == outer);
        if let Some(&(_, inner)) = known {
            return inner;
        }
        let around = &mut self.frames[at - 1].func.vars[outer.0 as usize];
        around.boxed = true;
        let var = Var { boxed: true, ..around.clone() };
        let func = &mut self.frames[at].func;
        let inner = Slot(func.vars.len() as u16);
        func.vars.push(Var { name, ..var });
        func.captures.push((outer, inner));
        inner
    }

    fn name_id(&mut self, name: Symbol) -> NameId {
        *self.name_ids.entry(name).or_insert_with(|| {
            self.out.names.push(name);
            NameId(self.out.names.len() as u32 - 1)
        })
    }

    fn text_id(&mut self, text: &str) -> TextId {
        if text.is_empty() {
            return TextId(0);
        }
        if let Some(&id) = self.text_ids.get(text) {
            return id;
        }
        let id = TextId(self.out.texts.len() as u32);
        self.out.texts.push(Box::from(text));
        self.text_ids.insert(Box::from(text), id);
        id
    }

    fn external_id(&mut self, path: Symbol, name: Symbol) -> ExternalId {
        *self.external_ids.entry((path, name)).or_insert_with(|| {
            let intrinsic = library::intrinsic(path.as_str(), name.as_str());
            self.out.externals.push(External { path, name, intrinsic });
            ExternalId(self.out.externals.len() as u32 - 1)
        })
    }

    fn named_type(&mut self, id: NamedId) -> TypeId {
        self.out.types.intern(crate::program::types::Type::Named(id))
    }
}

/// Replaces the code of a function that cannot be compiled: everything it can reach escapes.
fn make_hole(func: &mut Func) {
    let span = Span::new(func.span.start, func.span.start);
    let mut code = Vec::new();
    let reached: Vec<Slot> = func
        .receiver
        .iter()
        .chain(&func.params)
        .chain(func.captures.iter().map(|(_, inner)| inner))
        .copied()
        .collect();
    for &slot in reached.iter().take(u8::MAX as usize) {
        let boxed = func.vars[slot.0 as usize].boxed;
        code.push(if boxed { Op::AddressOf(slot) } else { Op::Load(slot) });
    }
    let args = reached.len().min(u8::MAX as usize) as u8;
    let want = func.results.len().min(u8::MAX as usize) as u8;
    code.push(Op::Hole { args, want });
    code.push(Op::Return(want));
    func.result_slots.clear();
    func.selects.clear();
    func.lists.clear();
    func.spans = vec![span; code.len()];
    func.code = code;
}

/// Turns the loads and stores of boxed variables into those through their cells.
fn through_cells(func: &mut Func) {
    let mut boxed = SlotSet::new(func.vars.len());
    for (at, var) in func.vars.iter().enumerate() {
        if var.boxed {
            boxed.insert(Slot(at as u16));
        }
    }
    for op in &mut func.code {
        *op = match *op {
            Op::Load(slot) if boxed.contains(slot) => Op::LoadCell(slot),
            Op::Store(slot) if boxed.contains(slot) => Op::StoreCell(slot),
            Op::Declare(slot) if boxed.contains(slot) => Op::DeclareCell(slot),
            Op::Box(slot) | Op::Fresh(slot) if !boxed.contains(slot) => Op::Nop,
            op => op,
        };
    }
    remove_idle(func);
}

/// Takes out the instructions that turned out to do nothing, and moves the jump targets.
fn remove_idle(func: &mut Func) {
    let idle = |op: &Op| *op == Op::Nop;
    let mut moved = Vec::with_capacity(func.code.len() + 1);
    let mut kept = 0;
    for op in &func.code {
        moved.push(kept);
        kept += !idle(op) as Pc;
    }
    moved.push(kept);
    let spans = std::mem::take(&mut func.spans);
    func.spans = spans
        .into_iter()
        .zip(&func.code)
        .filter(|(_, op)| !idle(op))
        .map(|(span, _)| span)
        .collect();
    func.code.retain(|op| !idle(op));
    for op in &mut func.code {
        if let Op::Jump(target) | Op::Branch { target, .. } | Op::RangeNext { exit: target, .. } =
            op
        {
            *target = moved[*target as usize];
        }
    }
    for table in &mut func.selects {
        for case in &mut table.cases {
            case.target = moved[case.target as usize];
        }
        if let Some(default) = &mut table.default {
            *default = moved[*default as usize];
        }
    }
}
