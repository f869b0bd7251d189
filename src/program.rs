//! Function bodies to compact code for an abstract machine, compiled once per package.
//!
//! The machine (`explore`) must know nothing of syntax, so everything that Go's syntax decides is
//! decided here: scopes, captured variables, the order of evaluation, where `break` goes, which
//! `defer` belongs to which function, what a constant is. What depends on values (dispatch,
//! promoted fields, whether a range is over a channel) is left to the machine. What cannot be
//! compiled is an [`Op::Hole`](code::Op::Hole), which makes its values unknown and lets its
//! arguments escape: never a silent skip.
//!
//! ```go
//! func f(ch chan int) { go g(); ch <- 1 }
//! ```
//!
//! becomes
//!
//! ```text
//! func g; go 0; load ch; const 1; send; return 0
//! ```
//!
//! A program holds no pointers into trees and can be shared by threads.

pub mod code;
mod compile;
mod facts;
pub mod library;
mod package;
mod print;
pub mod types;

use rustc_hash::FxHashMap;

pub use package::{Environment, NothingKnown, Source};

use crate::syntax::Symbol;
use code::{
    External, ExternalId, Flow, Func, FuncId, Global, GlobalId, NameId, Op, Operator, TextId,
};
use library::LibType;
use package::Package;
use types::{NamedId, Type, TypeId, Types};

/// The code of one package.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its functions: declared ones, literals and initialisers.
    pub funcs: Vec<Func>,
    /// Its variables.
    pub globals: Vec<Global>,
    /// The types that it speaks of.
    pub types: Types,
    /// The names of other packages that it uses.
    pub externals: Vec<External>,
    /// The names of fields and methods.
    pub names: Vec<Symbol>,
    /// The texts of its constants.
    pub texts: Vec<Box<str>>,
    /// The methods declared for each defined type.
    pub methods: FxHashMap<(NamedId, NameId), FuncId>,
    /// The methods by name, in order of source.
    pub methods_by_name: FxHashMap<NameId, Vec<FuncId>>,
    /// The names of the methods that libraries may call of what they are given, and that have to do with
    /// other goroutines.
    pub called_back: Vec<NameId>,
    /// Where others come in, each once: the declared functions and methods in order of source, the
    /// outermost function literals of initialisers, and the literals that are handed to others.
    pub entries: Vec<FuncId>,
    name_ids: FxHashMap<Symbol, NameId>,
}

/// Compiles the functions of a package from its files.
pub fn compile(files: &[Source<'_>], environment: &dyn Environment) -> Program {
    let output = compile::package(Package::new(files, environment));
    let name_ids = output.names.iter().enumerate().map(|(at, &name)| (name, NameId(at as u32)));
    let mut program = Program {
        name_ids: name_ids.collect(),
        funcs: output.funcs,
        globals: output.globals,
        types: output.types,
        externals: output.externals,
        names: output.names,
        texts: output.texts,
        methods: output.methods,
        methods_by_name: FxHashMap::default(),
        called_back: Vec::new(),
        entries: output.entries,
    };
    for &id in &program.entries {
        let func = &program.funcs[id.0 as usize];
        if func.receiver.is_some()
            && let Some(&name) = program.name_ids.get(&func.symbol)
        {
            program.methods_by_name.entry(name).or_default().push(id);
        }
    }
    facts::complete(&mut program);
    program
}

impl Program {
    /// The function `id`.
    pub fn func(&self, id: FuncId) -> &Func {
        &self.funcs[id.0 as usize]
    }

    /// The variable `id`.
    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.0 as usize]
    }

    /// The name `id` of another package.
    pub fn external(&self, id: ExternalId) -> &External {
        &self.externals[id.0 as usize]
    }

    /// The text of a name.
    pub fn name(&self, id: NameId) -> &'static str {
        self.names[id.0 as usize].as_str()
    }

    /// The text of a constant.
    pub fn text(&self, id: TextId) -> &str {
        &self.texts[id.0 as usize]
    }

    /// The number of a name, if the package uses it for a field or method.
    pub fn name_id(&self, name: &str) -> Option<NameId> {
        self.name_ids.get(&Symbol::new(name)).copied()
    }

    /// The functions that an exploration can start from: those that start goroutines, make channels or
    /// have them made, or lock, and those that begin in a state that is known. Nothing is stuck behind one that waits
    /// for nothing.
    pub fn roots(&self) -> impl Iterator<Item = FuncId> {
        self.entries.iter().copied().filter(|&id| {
            let traits = self.func(id).traits;
            traits.waits && (traits.root || traits.synchronises && self.is_entry(id))
        })
    }

    /// The declared functions that make the receiver of a method themselves, as their first result; the first
    /// few of them.
    pub fn makers_of(&self, method: FuncId) -> Vec<FuncId> {
        /// More are rather ways to make the same.
        const MAKERS: usize = 2;
        let made = |ty: TypeId| self.types.pointee(ty).and_then(|to| self.types.name_of(to));
        let method = self.func(method);
        let receiver = method.receiver.filter(|_| !method.value_receiver);
        let Some(wanted) = receiver.and_then(|it| made(method.vars[it.0 as usize].ty)) else {
            return Vec::new();
        };
        let makes = |id: &FuncId| {
            let func = self.func(*id);
            let makes = |op: &Op| match *op {
                Op::MakeStruct { ty, .. } => self.types.name_of(ty) == Some(wanted),
                _ => false,
            };
            func.parent.is_none()
                && func.results.first().is_some_and(|&result| made(result) == Some(wanted))
                && func.code.iter().any(makes)
                && !self.is_entry(*id)
                && !self.is_given_test(*id)
        };
        self.entries.iter().copied().filter(makes).take(MAKERS).collect()
    }

    /// Whether a function is given a test, or is a method of what embeds one: what goes wrong in it fails
    /// that.
    pub fn is_given_test(&self, func: FuncId) -> bool {
        let func = self.func(func);
        func.params.iter().chain(&func.receiver).any(|param| {
            let given = self.pointee(func.vars[param.0 as usize].ty);
            let is_test = |ty: &Type| matches!(ty, Type::Lib(LibType::Testing));
            is_test(given)
                || matches!(given, Type::Struct(fields) if fields
                    .iter()
                    .any(|field| field.embedded && is_test(self.pointee(field.ty))))
        })
    }

    /// What a type is, or what it points to.
    fn pointee(&self, ty: TypeId) -> &Type {
        self.types.underlying(self.types.pointee(ty).unwrap_or(ty))
    }

    /// Whether the two are the same but for the code of their functions and for places: then
    /// functions that [run as](Program::runs_as) each other do the same in both.
    pub fn speaks_as(&self, other: &Program) -> bool {
        self.types == other.types
            && code::same(&self.globals, &other.globals, Global::is_same)
            && (&self.externals, &self.names, &self.texts)
                == (&other.externals, &other.names, &other.texts)
            && (&self.methods, &self.methods_by_name) == (&other.methods, &other.methods_by_name)
            && self.called_back == other.called_back
    }

    /// Whether the function `id` is the same in both, but for places and what people call it.
    pub fn runs_as(&self, other: &Program, id: FuncId) -> bool {
        match (self.funcs.get(id.0 as usize), other.funcs.get(id.0 as usize)) {
            (Some(one), Some(two)) => one.is_written_as(two) && self.flow(one) == other.flow(two),
            _ => false,
        }
    }

    /// What follows from the instructions of one of the functions: worked out when first asked for, since
    /// few of them are run.
    pub fn flow<'p>(&self, func: &'p Func) -> &'p Flow {
        func.flow.get_or_init(|| facts::flow(self, func))
    }

    /// Whether nothing of the package has run when the function begins: `main`, tests
    /// and examples.
    pub fn is_entry(&self, id: FuncId) -> bool {
        let func = self.func(id);
        let name = func.symbol.as_str();
        let testing = || {
            let only = match *func.params {
                [only] => only,
                _ => return false,
            };
            let ty = func.vars[only.0 as usize].ty;
            let ty = self.types.pointee(ty).unwrap_or(ty);
            matches!(self.types.underlying(ty), types::Type::Lib(library::LibType::Testing))
        };
        func.receiver.is_none()
            && (name == "main"
                || name.starts_with("Example") && func.params.is_empty()
                || ["Test", "Benchmark", "Fuzz"].iter().any(|p| name.starts_with(p)) && testing())
    }
}

/// `left op right` for integers, if it neither overflows nor panics.
pub fn arithmetic(op: Operator, left: i64, right: i64) -> Option<i64> {
    compile::arithmetic(op, left, right)
}
