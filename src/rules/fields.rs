//! What a body does to the fields of one object, itself and through the functions of the run that
//! it calls with the object, and whether a lock may be held meanwhile.
//!
//! Of what is stored, started or handed on for later nothing is said here.

use crate::flow::{Step, StepId};
use crate::index::{Callee, Type};
use crate::rules::FunctionCx;
use crate::rules::access::{self, Access, What};
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Function, Mode, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, Symbol};

/// A read or write of a field.
#[derive(Clone, Debug)]
pub struct FieldUse {
    /// The field, and the fields of it on the way; empty for the object as a whole.
    pub path: Vec<Symbol>,
    /// What is done.
    pub what: What,
    /// Whether a lock may be held: whichever it is.
    pub locked: bool,
    /// Where.
    pub location: Location,
    /// The last place on the way there that has the object as a whole, and so its lock.
    pub owner: Location,
    /// The field, as the code calls it at that place.
    pub code: String,
}

impl FieldUse {
    /// Whether the two touch the same memory, one of them writes, and no lock need order them.
    pub fn races_with(&self, write: &FieldUse) -> bool {
        !self.locked && self.meets(write)
    }

    /// Whether a write touches the same memory.
    pub fn meets(&self, write: &FieldUse) -> bool {
        if !write.what.is_write() {
            return false;
        }
        if self.path == write.path {
            // The map or slice stays the same where only its elements change.
            return write.what == What::Written
                || matches!(self.what, What::ElementRead | What::ElementWritten | What::Given);
        }
        write.path.starts_with(&self.path) && self.what == What::Given && !self.path.is_empty()
            || self.path.starts_with(&write.path) && write.what == What::Written
    }
}

/// How many calls are followed.
const MAX_DEPTH: u32 = 3;

/// What the steps of a body that are `asked` do to an object.
pub fn of_body<'a>(
    cx: &FunctionCx<'a>,
    read: &Read<'a>,
    body: BodyId,
    object: &Place,
    asked: &dyn Fn(StepId) -> bool,
) -> Vec<FieldUse> {
    let mut uses = Uses { cx, found: Vec::new() };
    let within = Within { object: object.clone(), prefix: Vec::new(), locked: false, parted: None };
    uses.body(read, body, &within, asked, MAX_DEPTH);
    uses.found
}

/// The object by its name in one function, and what is known on the way there.
struct Within {
    object: Place,
    /// The fields from the object that was asked about to what the function has a name for.
    prefix: Vec<Symbol>,
    locked: bool,
    /// Where a part of the object was given on, by itself.
    parted: Option<Parted>,
}

/// A step that gives a part of the object to a function, and the code that is the part.
#[derive(Clone)]
struct Parted {
    location: Location,
    code: String,
}

struct Uses<'u, 'a> {
    cx: &'u FunctionCx<'a>,
    found: Vec<FieldUse>,
}

impl<'a> Uses<'_, 'a> {
    fn body(
        &mut self,
        read: &Read<'a>,
        body: BodyId,
        within: &Within,
        asked: &dyn Fn(StepId) -> bool,
        depth: u32,
    ) {
        let function = &read.function;
        for access in access::of_body(function, body) {
            if asked(access.at.step) && !self.is_followed(function, &access) {
                self.access(read, &access, within);
            }
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        let cfg = &function.body(body).cfg;
        for step in cfg.steps().filter(|&step| asked(step)) {
            let at = At { body, step };
            if matches!(cfg.step(step), Step::Go(_)) {
                continue;
            }
            let Some(call) = cfg.step(step).call(function.file) else { continue };
            match function.info.callee(call) {
                Callee::Literal(literal) => {
                    if let Some(inner) = function.body_of_literal(*literal) {
                        let locked = within.locked || may_be_locked(read, at);
                        let within = Within {
                            object: within.object.clone(),
                            prefix: within.prefix.clone(),
                            locked,
                            parted: within.parted.clone(),
                        };
                        self.body(read, inner, &within, &|_| true, depth);
                    }
                }
                Callee::Func(func) => {
                    let Some(callee) = self.cx.summaries().read(*func) else { continue };
                    for inner in given(function, at, call, within) {
                        let locked = within.locked || may_be_locked(read, at);
                        let inner = Within { locked, ..inner };
                        self.body(&callee, BodyId::OWN, &inner, &|_| true, depth);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether an access only gives something to a function that is followed, or to the caller.
    fn is_followed(&self, function: &Function<'_>, access: &Access) -> bool {
        if access.what != What::Given {
            return false;
        }
        match function.step(access.at) {
            Step::Return(_) | Step::Go(_) => true,
            step => step.call(function.file).is_some_and(|call| {
                matches!(function.info.callee(call), Callee::Func(func)
                    if self.cx.summaries().of(*func).is_some())
            }),
        }
    }

    fn access(&mut self, read: &Read<'_>, access: &Access, within: &Within) {
        let function = &read.function;
        let mut place = None;
        for known in function.places_of_local(access.at, access.variable).list {
            let mut full: Vec<Symbol> = known.path.to_vec();
            full.extend(&access.fields);
            if known.root == within.object.root && full.starts_with(&within.object.path) {
                place = Some(full[within.object.path.len()..].to_vec());
            }
        }
        let Some(rest) = place else { return };
        let Some(expr) = access.expr else { return };
        if orders_itself(function.info.type_of(expr)) {
            return;
        }
        let what = match access.what {
            What::Given if !shares(function, expr) => What::Read,
            what => what,
        };
        let location = Location { file: function.file_id, span: function.file.expr(expr).span };
        let here = || Parted { location, code: function.text(expr) };
        let owner = within.parted.clone().unwrap_or_else(here);
        self.found.push(FieldUse {
            path: within.prefix.iter().chain(&rest).copied().collect(),
            what,
            locked: within.locked || may_be_locked(read, access.at),
            location,
            owner: owner.location,
            code: owner.code,
        });
    }
}

/// Whether values of a type are there to be used from several goroutines at once: those of packages
/// `sync` and `sync/atomic`.
fn orders_itself(ty: &Type) -> bool {
    ty.strip_pointer()
        .named()
        .is_some_and(|named| matches!(named.path.as_str(), "sync" | "sync/atomic"))
}

/// Whether who is given this value can read more than a copy.
fn shares(function: &Function<'_>, expr: ExprId) -> bool {
    let ty = function.index.underlying(function.info.type_of(expr));
    matches!(ty, Type::Pointer(_) | Type::Map(_) | Type::Slice(_) | Type::Struct(_))
}

/// What the function that a call is of calls the object, or a part of it.
fn given(function: &Function<'_>, at: At, call: ExprId, within: &Within) -> Vec<Within> {
    let ExprKind::Call { callee, ref args, .. } = function.file.expr(call).kind else {
        return Vec::new();
    };
    let receiver = match function.file.expr(function.file.unparen(callee)).kind {
        ExprKind::Selector { base, .. } => {
            Some((Root::Receiver, base, function.object_places(at, base)))
        }
        _ => None,
    };
    let params = args
        .iter()
        .enumerate()
        .map(|(index, &arg)| (Root::Param(index as u32), arg, function.places(at, arg)));
    let mut found = Vec::new();
    let all = receiver.into_iter().chain(params);
    for (root, given, places) in
        all.filter(|(_, given, _)| !orders_itself(function.info.type_of(*given)))
    {
        for place in places.list.iter().filter(|place| place.root == within.object.root) {
            let mut prefix = within.prefix.clone();
            let mut object = Place::root(root);
            if place.path.starts_with(&within.object.path) {
                prefix.extend(&place.path[within.object.path.len()..]);
            } else if within.object.path.starts_with(&place.path) {
                for &field in &within.object.path[place.path.len()..] {
                    object = object.field(field);
                }
            } else {
                continue;
            }
            let parts = within.prefix.is_empty() && !prefix.is_empty();
            let here = || Parted {
                location: Location { file: function.file_id, span: function.file.expr(call).span },
                code: function.text(given),
            };
            let parted = within.parted.clone().or_else(|| parts.then(here));
            found.push(Within { object, prefix, locked: within.locked, parted });
        }
    }
    found
}

/// Whether a lock may be held at a step: there is one that is taken before on some path, and it is
/// not surely given back in between.
fn may_be_locked(read: &Read<'_>, at: At) -> bool {
    let cfg = &read.function.body(at.body).cfg;
    let effects = &read.effects(at.body).effects;
    let is_call = |act: Act, names: &[&str]| matches!(act, Act::Method(name) if names.contains(&name.as_str()));
    effects.iter().any(|lock| {
        is_call(lock.act, &["Lock", "RLock", "TryLock", "TryRLock"])
            && lock.at.step != at.step
            && cfg.reaches(lock.at.step, at.step)
            && !effects.iter().any(|unlock| {
                unlock.mode == Mode::Now
                    && unlock.place == lock.place
                    && is_call(unlock.act, &["Unlock", "RUnlock"])
                    && cfg.reaches(lock.at.step, unlock.at.step)
                    && cfg.dominates(unlock.at.step, at.step)
                    && unlock.at.step != at.step
            })
    })
}
