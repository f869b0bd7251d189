//! The code of the abstract machine: a stack machine over slots, with Go's operations on
//! channels, goroutines and defers as single instructions.
//!
//! An instruction says what Go's statement does, not how the machine explores it. Jump targets are
//! indices into the code of the same function. Each instruction has a span, so that whoever
//! reports a state can show the source without knowing the syntax.

use std::sync::OnceLock;

use crate::program::library::Intrinsic;
use crate::program::types::TypeId;
use crate::source::{FileId, Span};
use crate::syntax::Symbol;

/// A function of a [`Program`](crate::program::Program): declared, literal, or an initialiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(pub u32);

/// A package-level variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalId(pub u32);

/// A name of a field or method. Numbers follow the order of the sources, so they may order output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

impl NameId {
    /// The place of a struct that other code has made for whether the pointer to it is nil: no field's name.
    pub const ABSENT: NameId = NameId(u32::MAX);
    /// What an unknown pointer points to, as a member of it: no field's name.
    pub const POINTED: NameId = NameId(u32::MAX - 1);
    /// Whether a map has an element, as a member of the element: no field's name.
    pub const PRESENT: NameId = NameId(u32::MAX - 2);
}

/// A name qualified by another package: `http.Get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExternalId(pub u32);

/// The text of a constant. Equal texts have equal numbers; the empty text is number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(pub u32);

/// A variable of a function: an index into [`Func::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

/// Index of an instruction.
pub type Pc = u32;

/// A value known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// `nil`
    Nil,
    /// `true` or `false`
    Bool(bool),
    /// An integer or rune.
    Int(i64),
    /// A string.
    Str(TextId),
    /// Anything else, known by its text: equal texts are equal, different texts may be equal.
    Atom(TextId),
}

/// An operator between two values that are both computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    And,
    /// `&^`
    AndNot,
}

/// How many values a call leaves on the stack.
pub type Want = u8;

/// One instruction. `a b -> c` in the comments is the stack before and after, top at the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `-> v`
    Const(Constant),
    /// `-> v`: an unknown of a type.
    Unknown(TypeId),
    /// `-> v`: the zero value of a type.
    Zero(TypeId),
    /// `v ->`
    Pop,
    /// `v -> v v`
    Dup,
    /// `-> v`
    Load(Slot),
    /// `v ->`: assigns to a variable that exists.
    Store(Slot),
    /// `v ->`: a new variable.
    Declare(Slot),
    /// `-> v` through the variable's cell.
    LoadCell(Slot),
    /// `v ->` through the variable's cell.
    StoreCell(Slot),
    /// `v ->`: a new variable in a new cell.
    DeclareCell(Slot),
    /// Moves a parameter into a new cell.
    Box(Slot),
    /// Gives the next iteration its own copy of a loop variable.
    Fresh(Slot),
    /// `-> p`: the address of a variable that lives in a cell.
    AddressOf(Slot),
    /// `-> v`
    Global(GlobalId),
    /// `v ->`
    StoreGlobal(GlobalId),
    /// `-> p`
    AddressOfGlobal(GlobalId),
    /// `-> f`: a declared function.
    Func(FuncId),
    /// `-> f`: a literal with the cells of what it captures.
    Closure(FuncId),
    /// `-> f`: `T.m` or `(*T).m`, a function whose first argument is the receiver.
    MethodExpr(FuncId),
    /// `-> v`: a name of another package.
    External(ExternalId),
    /// `-> f`: a predeclared function as a value, in `go` and `defer`.
    Builtin(Builtin),
    /// `x -> x.name`: field, or method value.
    Member(NameId),
    /// `v x ->`
    StoreField(NameId),
    /// `x -> &x.name`
    AddressOfField(NameId),
    /// `x i -> v`, or `v ok`.
    Index {
        /// Whether `ok` is wanted.
        comma_ok: bool,
    },
    /// `v x i ->`
    StoreIndex,
    /// `x i -> &x[i]`
    AddressOfIndex,
    /// `x low high -> v`; a bound left out is nil.
    Slice,
    /// `p -> *p`
    Deref,
    /// `v p ->`
    StoreDeref,
    /// `v -> &v`: for composite literals and other values that have no place yet.
    AddressOfValue,
    /// `v -> !v`
    Not,
    /// `v -> -v`
    Neg,
    /// `a b -> v`
    Binary(Operator),
    /// `values.. -> v`: a struct literal; an index into [`Func::lists`].
    MakeStruct {
        /// Its type.
        ty: TypeId,
        /// The fields, in the order of the values.
        fields: u32,
    },
    /// `values.. -> v`: a slice or array literal.
    MakeSlice {
        /// The type of the elements.
        element: TypeId,
        /// How many.
        len: u32,
    },
    /// `k v k v .. -> m`
    MakeMap {
        /// The type of the values.
        value: TypeId,
        /// How many pairs.
        len: u32,
    },
    /// `n -> v`: `make(T, n)`; zero if left out.
    Make(TypeId),
    /// `v -> T(v)`
    Convert(TypeId),
    /// `v -> v.(T)`, or `v ok`.
    Assert {
        /// `T`.
        ty: TypeId,
        /// Whether `ok` is wanted.
        comma_ok: bool,
    },
    /// `v -> bool`: a case of a type switch.
    IsType(TypeId),
    /// `v -> bool`: `case nil` of a type switch.
    IsNil,
    /// Continues elsewhere.
    Jump(Pc),
    /// `v ->`: continues elsewhere if `v` is `when`.
    Branch {
        /// Which truth jumps.
        when: bool,
        /// Where to.
        target: Pc,
        /// The counter of the loop whose condition this is; `Slot::NONE` otherwise.
        counter: Slot,
    },
    /// `v ->`: what is not known is none of the constants that `v` has been compared with, which are all that
    /// its type declares; nobody makes others.
    Exhausted,
    /// Counts an iteration of a loop.
    CountIteration(Slot),
    /// `x ->`: starts ranging; the subject goes to the slot, the position to the next slot.
    RangeStart(Slot),
    /// `-> key value`, or continues at `exit`. For a channel the key is the element.
    RangeNext {
        /// The slot of the subject.
        slot: Slot,
        /// Where to when there is nothing left.
        exit: Pc,
    },
    /// Leaves a range loop: an iterator function that is suspended in it is told to finish.
    RangeEnd(Slot),
    /// `c v ->`
    Send,
    /// `c -> v`, or `v ok`.
    Receive {
        /// Whether `ok` is wanted.
        comma_ok: bool,
    },
    /// Operands of the cases in order (`c`, or `c v` for a send) `->`; continues at the chosen
    /// case, with `v ok` for a receive. An index into [`Func::selects`].
    Select(u32),
    /// `c ->`
    Close,
    /// `f args.. -> results..`
    Call {
        /// Number of arguments.
        args: u8,
        /// Whether the last is followed by `...`.
        spread: bool,
        /// Number of results that are used.
        want: Want,
    },
    /// `x args.. -> results..`: `x.name(args)`.
    CallMethod {
        /// The name.
        name: NameId,
        /// Number of arguments.
        args: u8,
        /// Whether the last is followed by `...`.
        spread: bool,
        /// Number of results that are used.
        want: Want,
    },
    /// `args.. -> results..`: a call of a name of another package.
    CallExternal {
        /// The function.
        callee: ExternalId,
        /// Number of arguments.
        args: u8,
        /// Whether the last is followed by `...`.
        spread: bool,
        /// Number of results that are used.
        want: Want,
    },
    /// `f args.. ->`
    Go {
        /// Number of arguments.
        args: u8,
        /// Whether the last is followed by `...`.
        spread: bool,
    },
    /// `f args.. ->`
    Defer {
        /// Number of arguments.
        args: u8,
        /// Whether the last is followed by `...`.
        spread: bool,
    },
    /// `values.. ->`: with none, named results are returned.
    Return(u8),
    /// `x -> n`
    Len,
    /// `x -> n`
    Cap,
    /// `s values.. -> s`
    Append {
        /// Number of values.
        args: u8,
        /// Whether the last is followed by `...`.
        spread: bool,
    },
    /// `dst src -> n`
    Copy,
    /// `m k ->`
    Delete,
    /// `m ->`
    Clear,
    /// `v ->`
    Panic,
    /// `-> v`
    Recover,
    /// `values.. -> v`
    Extremum {
        /// Number of values.
        args: u8,
        /// Whether it is `max`.
        max: bool,
    },
    /// Does nothing; in no complete function.
    Nop,
    /// `values.. -> v`: what could not be compiled. The values escape, the result is unknown.
    Hole {
        /// Number of values.
        args: u8,
        /// Number of unknown results.
        want: Want,
    },
}

impl Op {
    /// How many values the instruction takes from the stack and how many it leaves on it when it
    /// does not jump; `None` for those whose number depends on a table.
    pub fn stack_effect(self) -> Option<(usize, usize)> {
        Some(match self {
            Op::Const(_) | Op::Unknown(_) | Op::Zero(_) => (0, 1),
            Op::Load(_) | Op::LoadCell(_) | Op::Global(_) => (0, 1),
            Op::AddressOf(_) | Op::AddressOfGlobal(_) => (0, 1),
            Op::Func(_) | Op::Closure(_) | Op::MethodExpr(_) => (0, 1),
            Op::External(_) | Op::Builtin(_) | Op::Recover => (0, 1),
            Op::Pop | Op::Exhausted | Op::Store(_) | Op::Declare(_) => (1, 0),
            Op::StoreCell(_) | Op::DeclareCell(_) | Op::StoreGlobal(_) => (1, 0),
            Op::RangeStart(_) | Op::Close | Op::Clear | Op::Panic => (1, 0),
            Op::Branch { .. } => (1, 0),
            Op::Dup => (1, 2),
            Op::Nop | Op::Box(_) | Op::Fresh(_) | Op::Jump(_) => (0, 0),
            Op::CountIteration(_) | Op::RangeEnd(_) => (0, 0),
            Op::Member(_) | Op::AddressOfField(_) | Op::Deref => (1, 1),
            Op::AddressOfValue | Op::Not | Op::Neg | Op::Make(_) => (1, 1),
            Op::Convert(_) | Op::IsType(_) | Op::IsNil | Op::Len | Op::Cap => (1, 1),
            Op::StoreField(_) | Op::StoreDeref | Op::Send | Op::Delete => (2, 0),
            Op::Index { comma_ok } => (2, 1 + comma_ok as usize),
            Op::AddressOfIndex | Op::Binary(_) | Op::Copy => (2, 1),
            Op::StoreIndex => (3, 0),
            Op::Slice => (3, 1),
            Op::MakeSlice { len, .. } => (len as usize, 1),
            Op::MakeMap { len, .. } => (2 * len as usize, 1),
            Op::Assert { comma_ok, .. } | Op::Receive { comma_ok } => (1, 1 + comma_ok as usize),
            Op::RangeNext { .. } => (0, 2),
            Op::Call { args, want, .. } | Op::CallMethod { args, want, .. } => {
                (args as usize + 1, want as usize)
            }
            Op::CallExternal { args, want, .. } | Op::Hole { args, want } => {
                (args as usize, want as usize)
            }
            Op::Go { args, .. } | Op::Defer { args, .. } => (args as usize + 1, 0),
            Op::Append { args, .. } => (args as usize + 1, 1),
            Op::Extremum { args, .. } => (args as usize, 1),
            Op::Return(values) => (values as usize, 0),
            Op::MakeStruct { .. } | Op::Select(_) => return None,
        })
    }
}

impl Slot {
    /// No slot.
    pub const NONE: Slot = Slot(u16::MAX);
}

/// Predeclared functions that can stand in `go` and `defer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `close`
    Close,
    /// `panic`
    Panic,
    /// `recover`
    Recover,
    /// `delete`, `print` and the like: of no consequence for other goroutines.
    Other,
}

/// A variable of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Its name; empty for the compiler's own.
    pub name: Symbol,
    /// Its declared type.
    pub ty: TypeId,
    /// Whether a literal captures it or its address is taken, so that it lives in a cell.
    pub boxed: bool,
    /// Whether it has one value for ever: it is never assigned to after its declaration, and its
    /// address is not taken.
    pub settled: bool,
    /// Whether the literal that captures it, and those that stand in that one, do nothing with it but
    /// send on it and measure it.
    pub fed: bool,
}

/// The cases of a `select`.
#[derive(Clone, Debug)]
pub struct SelectTable {
    /// The communications, in order.
    pub cases: Vec<SelectCase>,
    /// Where `default` is, if there is one.
    pub default: Option<Pc>,
}

impl SelectTable {
    fn runs_as(&self, other: &SelectTable) -> bool {
        let is_same = |one: &SelectCase, other: &SelectCase| {
            (one.send, one.target) == (other.send, other.target)
        };
        self.default == other.default && same(&self.cases, &other.cases, is_same)
    }
}

/// Whether two lists are the same, element by element.
pub(super) fn same<T>(one: &[T], other: &[T], is_same: impl Fn(&T, &T) -> bool) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
}

/// One communication of a `select`.
#[derive(Clone, Copy, Debug)]
pub struct SelectCase {
    /// Whether it sends.
    pub send: bool,
    /// Where its body is.
    pub target: Pc,
    /// The communication.
    pub span: Span,
}

/// The code of one function.
#[derive(Clone, Debug)]
pub struct Func {
    /// What people call it: `f`, `(*T).m`, `f.func1`.
    pub name: String,
    /// The declared name; empty for literals.
    pub symbol: Symbol,
    /// The file that holds it.
    pub file: FileId,
    /// The whole function.
    pub span: Span,
    /// The function that the literal stands in.
    pub parent: Option<FuncId>,
    /// The receiver.
    pub receiver: Option<Slot>,
    /// Whether the receiver is copied at a call.
    pub value_receiver: bool,
    /// The parameters.
    pub params: Vec<Slot>,
    /// Whether the last parameter takes the rest.
    pub variadic: bool,
    /// The types of the results.
    pub results: Vec<TypeId>,
    /// The variables of named results; empty if they have no names.
    pub result_slots: Vec<Slot>,
    /// All variables.
    pub vars: Vec<Var>,
    /// What a literal captures: the variable outside, and its own for the same cell.
    pub captures: Vec<(Slot, Slot)>,
    /// The instructions.
    pub code: Vec<Op>,
    /// The source of each instruction.
    pub spans: Vec<Span>,
    /// The selects.
    pub selects: Vec<SelectTable>,
    /// The field lists of struct literals.
    pub lists: Vec<Vec<NameId>>,
    /// See [`Program::flow`](super::Program::flow).
    pub(super) flow: OnceLock<Flow>,
    /// What it does, itself.
    pub traits: Traits,
}

impl Func {
    /// The type of the variable that a `range` ranges over which begins at an instruction, if it is one.
    pub fn ranged_variable(&self, start: usize) -> Option<TypeId> {
        match self.before(start, 1)? {
            Op::Load(slot) | Op::LoadCell(slot) => Some(self.vars[slot.0 as usize].ty),
            _ => None,
        }
    }

    /// The instruction that stands so many places before another, if there is one.
    pub fn before(&self, pc: usize, places: usize) -> Option<Op> {
        Some(self.code[pc.checked_sub(places)?])
    }

    /// Whether what is received from at `pc` is written as `nil` there: `<-(chan int)(nil)`.
    pub fn waits_at_nil(&self, pc: usize) -> bool {
        let nil = Some(Op::Const(Constant::Nil));
        let is_converted = || matches!(self.before(pc, 1), Some(Op::Convert(_)));
        self.before(pc, 1) == nil || is_converted() && self.before(pc, 2) == nil
    }

    /// Whether the two are the same but for their places, what people call them, and what follows from
    /// their instructions.
    pub(super) fn is_written_as(&self, other: &Func) -> bool {
        let head = |func: &Func| {
            let receiver = (func.receiver, func.value_receiver);
            (func.symbol, func.parent, receiver, func.variadic, func.traits)
        };
        head(self) == head(other)
            && (&self.params, &self.results) == (&other.params, &other.results)
            && self.result_slots == other.result_slots
            && (&self.vars, &self.captures) == (&other.vars, &other.captures)
            && (&self.code, &self.lists) == (&other.code, &other.lists)
            && same(&self.selects, &other.selects, SelectTable::runs_as)
    }
}

/// What follows from the instructions of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Per instruction the variables whose value can still matter.
    pub live: Vec<SlotSet>,
    /// For a [`Op::Branch`] whose two ways meet again without doing anything that matters, where
    /// they meet. Sorted by the branch.
    pub joins: Vec<Join>,
    /// The variables that a count which goroutines rely on is taken from.
    pub counts: SlotSet,
}

/// A branch that need not be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// The branch.
    pub branch: Pc,
    /// Where both ways meet.
    pub at: Pc,
    /// The variables that one of the ways assigns.
    pub assigned: Vec<Slot>,
}

/// What a function does itself, and what those that it may call do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Starts a goroutine, makes a channel, locks something, or calls what makes a channel for it: a root
    /// of an exploration.
    pub root: bool,
    /// Operates on channels, locks, contexts or goroutines, or may call something that does.
    pub synchronises: bool,
    /// Stores to the heap or calls something unknown, so that what it is given may change.
    pub effects: bool,
    /// Waits for something, or does to a channel or counter what Go stops the process for, or may call
    /// something that does: what does not is never stuck.
    pub waits: bool,
    /// Calls `recover`.
    pub recovers: bool,
    /// Does no more than to take a lock for its caller.
    pub locks: bool,
    /// Does no more than to give back a lock of its caller.
    pub unlocks: bool,
    /// Is a literal that is handed to code which may run it at any time: returned, kept in a
    /// composite literal, field or variable of the package, given to a call.
    pub handed: bool,
}

/// A package-level variable.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name.
    pub name: Symbol,
    /// Its declared type.
    pub ty: TypeId,
    /// The function that computes it, and which of its results it is.
    pub init: Option<(FuncId, u8)>,
    /// Whether its address is taken.
    pub boxed: bool,
    /// Whether a function that runs before all others (`init`, `TestMain`) has to do with it.
    pub prepared: bool,
    /// Where it is declared.
    pub file: FileId,
    /// Its name in the declaration.
    pub span: Span,
}

impl Global {
    /// Whether the two are the same but for their places.
    pub fn is_same(&self, other: &Global) -> bool {
        let all = |it: &Global| (it.name, it.ty, it.init, it.boxed, it.prepared);
        all(self) == all(other)
    }
}

/// A name of another package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct External {
    /// The path of the import.
    pub path: Symbol,
    /// The name.
    pub name: Symbol,
    /// What the machine knows of it.
    pub intrinsic: Intrinsic,
}

/// A set of slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotSet {
    words: Box<[u64]>,
}

impl SlotSet {
    /// The empty set of slots below `len`.
    pub fn new(len: usize) -> SlotSet {
        SlotSet { words: vec![0; len.div_ceil(64)].into_boxed_slice() }
    }

    /// Whether it holds `slot`.
    pub fn contains(&self, slot: Slot) -> bool {
        self.words.get(slot.0 as usize / 64).is_some_and(|word| word >> (slot.0 % 64) & 1 == 1)
    }

    /// Adds `slot`.
    pub fn insert(&mut self, slot: Slot) {
        self.words[slot.0 as usize / 64] |= 1 << (slot.0 % 64);
    }

    /// Takes `slot` out.
    pub fn remove(&mut self, slot: Slot) {
        self.words[slot.0 as usize / 64] &= !(1 << (slot.0 % 64));
    }

    /// Adds all of `other`, a set over the same slots.
    pub fn union(&mut self, other: &SlotSet) {
        for (word, &more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }
}
