//! Objects of the heap: what Go's run time keeps for each kind of value.

use std::rc::Rc;

use crate::explore::Site;
use crate::explore::process::{Frame, GoroutineId};
use crate::explore::value::{ObjectId, Value};
use crate::program::code::{FuncId, NameId, Want};
use crate::program::types::TypeId;

/// An object and what holds for objects of every kind.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Whether code that is not explored can reach it, and so do to it whatever it likes.
    pub external: bool,
    /// The instruction that made it.
    pub made: Option<Site>,
    pub object: Object,
}

/// How a channel is filled without any goroutine sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Clock {
    /// Not at all.
    None,
    /// Once.
    Once,
    /// Again and again, or by code that is not explored.
    Always,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    pub capacity: u32,
    pub buffer: Vec<Value>,
    pub closed: bool,
    pub clock: Clock,
    /// Whether it is what `Done` of a context gives.
    pub of_context: bool,
    /// Where the timer was stopped that filled it. It changes nothing that happens, and is no part of what
    /// makes two states equal.
    pub stopped: Option<Site>,
}

impl Channel {
    pub fn new(capacity: u32, clock: Clock) -> Channel {
        Channel {
            capacity,
            buffer: Vec::new(),
            closed: false,
            clock,
            of_context: false,
            stopped: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum OnceState {
    Fresh,
    Running,
    Done,
}

/// A lock that is held: by whom and since which instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub by: GoroutineId,
    pub at: Site,
}

#[derive(Clone, Debug)]
pub(super) enum Object {
    /// Fields that were never touched are absent: zero, or unknown if the struct is external.
    /// Sorted by name.
    Struct {
        ty: TypeId,
        fields: Vec<(NameId, Value)>,
    },
    /// A variable that is captured or pointed to.
    Cell(Value),
    Channel(Channel),
    Mutex(Option<Held>),
    /// A lock that a caller outside what is explored held: whether it is held now is not known.
    OpenLock,
    RwMutex {
        writer: Option<Held>,
        readers: Vec<Held>,
        waiting: u32,
    },
    /// `shrunk` is the large number that was added as a small one.
    WaitGroup {
        count: i64,
        shrunk: Option<i64>,
        exact: bool,
    },
    Once(OnceState),
    Cond {
        locker: Value,
        waiters: Vec<GoroutineId>,
    },
    Context {
        parent: Option<ObjectId>,
        done: ObjectId,
    },
    /// The channel of a timer, and what it calls instead of sending.
    Timer {
        channel: ObjectId,
        periodic: bool,
        callback: bool,
    },
    Slice {
        element: TypeId,
        items: Vec<Value>,
    },
    Map {
        value: TypeId,
        items: Vec<(Value, Value)>,
    },
    Atomic(Value),
    /// `errgroup.Group`: its WaitGroup, the context that it cancels, and the first error that one of its functions
    /// has returned.
    Group {
        wait: ObjectId,
        context: Option<ObjectId>,
        error: Value,
    },
    Semaphore {
        free: i64,
    },
    Closure {
        func: FuncId,
        cells: Vec<ObjectId>,
    },
    /// A method value: of the package, or of a library type.
    Method {
        func: FuncId,
        receiver: Value,
    },
    LibMethod {
        name: NameId,
        receiver: Value,
    },
    /// A declared method as a function: the first argument is the receiver.
    MethodExpr(FuncId),
    /// A function that runs another one once, however often it is called.
    OnceFunc {
        once: ObjectId,
        callee: Value,
    },
    /// The function that cancels a context.
    Cancel(ObjectId),
    /// Ends a `Once`, a goroutine of a group, and the like: see [`Finish`].
    Finish(Finish, ObjectId),
    /// What an iterator function is given to call.
    Yield {
        frame: u32,
    },
    /// An iterator function between two of its values: the frames above the loop's, and how many
    /// results the call of the function that it was given leaves.
    Suspended(Vec<Rc<Frame>>, Want),
}

/// What is done when a function that a library called has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Finish {
    /// `Once.Do`
    Once,
    /// `WaitGroup.Go`
    WaitGroup,
    /// `errgroup.Group.Go`
    Group,
}

impl Object {
    /// Calls `visit` with each value that the object holds.
    pub fn values(&self, visit: &mut impl FnMut(Value)) {
        match self {
            Object::Struct { fields, .. } => fields.iter().for_each(|&(_, value)| visit(value)),
            Object::Cell(value) | Object::Atomic(value) => visit(*value),
            Object::Channel(channel) => channel.buffer.iter().for_each(|&value| visit(value)),
            Object::Cond { locker, .. } => visit(*locker),
            Object::Slice { items, .. } => items.iter().for_each(|&value| visit(value)),
            Object::Map { items, .. } => items.iter().for_each(|&(key, value)| {
                visit(key);
                visit(value);
            }),
            Object::Context { parent, done } => {
                parent.iter().chain([done]).for_each(|&id| visit(Value::Ref(id)));
            }
            Object::Timer { channel, .. } => visit(Value::Ref(*channel)),
            Object::Group { wait, context, error } => {
                [wait].into_iter().chain(context).for_each(|&id| visit(Value::Ref(id)));
                visit(*error);
            }
            Object::Closure { cells, .. } => cells.iter().for_each(|&id| visit(Value::Ref(id))),
            Object::Method { receiver, .. } | Object::LibMethod { receiver, .. } => {
                visit(*receiver);
            }
            Object::OnceFunc { once, callee } => {
                visit(Value::Ref(*once));
                visit(*callee);
            }
            Object::Cancel(id) | Object::Finish(_, id) => visit(Value::Ref(*id)),
            Object::Suspended(frames, _) => frames.iter().for_each(|frame| frame.values(visit)),
            Object::Mutex(_)
            | Object::OpenLock
            | Object::RwMutex { .. }
            | Object::WaitGroup { .. }
            | Object::Once(_)
            | Object::Semaphore { .. }
            | Object::MethodExpr(_)
            | Object::Yield { .. } => {}
        }
    }

    /// Replaces each value that can be unknown by what `change` makes of it.
    pub fn change_values(&mut self, change: &mut dyn FnMut(&mut Value)) {
        match self {
            Object::Struct { fields, .. } => {
                fields.iter_mut().for_each(|(_, value)| change(value));
            }
            Object::Cell(value) | Object::Atomic(value) => change(value),
            Object::Channel(channel) => channel.buffer.iter_mut().for_each(change),
            Object::Cond { locker, .. } => change(locker),
            Object::Slice { items, .. } => items.iter_mut().for_each(change),
            Object::Map { items, .. } => items.iter_mut().for_each(|(key, value)| {
                change(key);
                change(value);
            }),
            Object::Method { receiver, .. } | Object::LibMethod { receiver, .. } => {
                change(receiver);
            }
            Object::OnceFunc { callee, .. } => change(callee),
            Object::Group { error, .. } => change(error),
            Object::Suspended(frames, _) => {
                for frame in frames {
                    Rc::make_mut(frame).change_values(change);
                }
            }
            _ => {}
        }
    }

    /// Whether goroutines can wait for the object.
    pub fn is_synchronising(&self) -> bool {
        matches!(
            self,
            Object::Channel(_)
                | Object::Mutex(_)
                | Object::OpenLock
                | Object::RwMutex { .. }
                | Object::WaitGroup { .. }
                | Object::Once(_)
                | Object::Cond { .. }
                | Object::Context { .. }
                | Object::Timer { .. }
                | Object::Group { .. }
                | Object::Semaphore { .. }
                | Object::Cancel(_)
        )
    }
}
