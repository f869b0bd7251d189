//! From a filter to the handlers that it makes: through functions that return functions, in
//! whatever package of the run they stand.

use std::sync::Arc;

use crate::catalog::{Filter, Kind, TypeRole};
use crate::index::{Callee, Def, FuncId, ObjectKind, QualifiedName, Signature, Type};
use crate::rules::FunctionCx;
use crate::rules::handoff::has_role;
use crate::summary::{self, Act, At, BodyId, Function, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, Symbol};

/// How many functions are followed from a filter to the handler that it makes.
const MAX_DEPTH: u32 = 5;

/// A body that handles requests, with the function that it stands in.
pub struct Made<'a> {
    /// The function.
    pub func: FuncId,
    /// It, from the inside.
    pub read: Arc<Read<'a>>,
    /// The body.
    pub body: BodyId,
}

/// What the catalog says of the function that `value` names or calls, directly or to get it.
pub fn in_catalog<'a, K: Kind>(
    cx: &FunctionCx<'a>,
    function: &Function<'_>,
    value: ExprId,
) -> Option<&'a K> {
    let mut value = function.file.unparen(value);
    loop {
        let facts = match &function.file.expr(value).kind {
            ExprKind::Call { .. } => {
                summary::facts(cx.catalog(), function.index, function.info.callee(value))
            }
            _ => match function.info.resolve(value) {
                Def::Global(object) => match cx.index().object(*object).kind {
                    ObjectKind::Func(func) => {
                        summary::named(cx.catalog(), cx.index().func(func).qualified)
                    }
                    _ => return None,
                },
                Def::Method(func, _) => {
                    summary::named(cx.catalog(), cx.index().func(*func).qualified)
                }
                Def::External(name) => summary::named(cx.catalog(), *name),
                _ => return None,
            },
        };
        if let Some(fact) = facts.in_force::<K>(cx.versions()) {
            return Some(fact);
        }
        // `Timeout(limit)(next)`: the function that made the filter.
        match function.file.expr(value).kind {
            ExprKind::Call { callee, .. }
                if matches!(function.info.callee(value), Callee::Value(_)) =>
            {
                value = function.file.unparen(callee);
            }
            _ => return None,
        }
    }
}

/// The handlers that `value` is or makes: a call that gives a handler or a filter, a function, a
/// method, a literal; and what the catalog says of those that libraries make.
pub fn handlers<'a>(
    cx: &FunctionCx<'a>,
    function: &Function<'_>,
    at: At,
    value: ExprId,
) -> (Vec<Made<'a>>, Vec<&'a Filter>) {
    let mut found = Search { cx: *cx, found: Vec::new(), of_libraries: Vec::new() };
    found.of_value(function, at, value, MAX_DEPTH);
    (found.found, found.of_libraries)
}

struct Search<'a> {
    cx: FunctionCx<'a>,
    found: Vec<Made<'a>>,
    of_libraries: Vec<&'a Filter>,
}

impl<'a> Search<'a> {
    fn of_value(&mut self, function: &Function<'_>, at: At, value: ExprId, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let value = function.file.unparen(value);
        if let ExprKind::Call { args, .. } = &function.file.expr(value).kind {
            match function.info.callee(value) {
                Callee::Func(func) => self.of_function(*func, depth),
                Callee::Value(made) => self.of_value(function, at, *made, depth),
                Callee::Conversion(_) => {
                    if let [inner] = args[..] {
                        self.of_value(function, at, inner, depth);
                    }
                }
                _ => {}
            }
            return;
        }
        match function.info.resolve(value) {
            Def::Global(object) => {
                if let ObjectKind::Func(func) = self.cx.index().object(*object).kind {
                    self.of_function(func, depth);
                }
            }
            Def::Method(func, _) => self.of_function(*func, depth),
            _ => {
                for place in function.places(at, value).list {
                    self.of_place(function.id, function, &place, depth);
                }
            }
        }
    }

    /// The handlers that a function is or makes.
    fn of_function(&mut self, func: FuncId, depth: u32) {
        let Some(read) = self.cx.summaries().read(func) else {
            return self.of_library(self.cx.index().func(func).qualified);
        };
        match self.cx.index().func_type(func) {
            Type::Func(signature) if self.handles(&signature) => {
                self.found.push(Made { func, read, body: BodyId::OWN });
            }
            _ => self.of_results(&read, BodyId::OWN, depth),
        }
    }

    fn of_library(&mut self, name: QualifiedName) {
        let facts = summary::named(self.cx.catalog(), name);
        self.of_libraries.extend(facts.in_force::<Filter>(self.cx.versions()));
    }

    fn of_results(&mut self, read: &Read<'a>, body: BodyId, depth: u32) {
        let function = &read.function;
        for effect in &read.effects(body).effects {
            if effect.act == Act::Returned(0) {
                self.of_place(function.id, function, &effect.place, depth);
            }
        }
    }

    fn of_place(&mut self, func: FuncId, function: &Function<'_>, place: &Place, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        if !place.path.is_empty() {
            return;
        }
        match place.root {
            Root::Made(made) => match function.body_of_literal(made) {
                Some(body) => {
                    let Some(read) = self.cx.summaries().read(func) else { return };
                    match function.info.type_of(made) {
                        Type::Func(signature) if !self.handles(signature) => {
                            self.of_results(&read, body, depth);
                        }
                        _ => self.found.push(Made { func, read, body }),
                    }
                }
                None => self.of_type(function.info.type_of(made), depth),
            },
            Root::Call(call, 0) => match function.info.callee(call) {
                Callee::Func(inner) => self.of_function(*inner, depth),
                Callee::External(name) => self.of_library(*name),
                Callee::Value(value) => {
                    if let Some(at) = function.at_call(call) {
                        self.of_value(function, at, *value, depth);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// The handler that values of a type are.
    fn of_type(&mut self, ty: &Type, depth: u32) {
        let path = self.cx.index().package(self.cx.func.package).path;
        let pointer = ty.strip_pointer().clone().pointer();
        let method = self.cx.index().lookup(&pointer, Symbol::new("ServeHTTP"), path);
        if let Def::Method(func, _) = method {
            self.of_function(func, depth);
        }
    }

    /// Whether functions of this signature handle requests: they take a response writer and a
    /// request, or the one value that stands for both.
    fn handles(&self, signature: &Signature) -> bool {
        let is = |ty: &Type, role| has_role(&self.cx, ty, role);
        match &signature.params[..] {
            [writer, request, ..] => {
                is(writer, TypeRole::ResponseWriter) && is(request, TypeRole::Request)
            }
            [only] => is(only, TypeRole::Pooled) && is(only, TypeRole::Request),
            [] => false,
        }
    }
}
