//! Which functions of a package have to be read to know all that is done to its channels.

use rustc_hash::FxHashSet;

use crate::index::{Callee, Def, FuncId, Index, Type, is_of_word};
use crate::rules::scene::{Scene, outside_tests};
use crate::rules::{FunctionCx, PackageCx};
use crate::syntax::{ExprKind, Node, StmtKind, Symbol};

/// The functions of a package that are not those of tests and may have to do with channels.
pub(in crate::rules) fn read_in<'a>(package: &PackageCx<'a>) -> impl Iterator<Item = FuncId> {
    outside_tests(package, &["<-", "chan ", "close(", "range "]).map(|cx| cx.func)
}

/// The other functions that name what holds a channel, or a function that is given one or gives one,
/// where these are: they may hand it to somebody.
pub(super) fn passing_on(package: &PackageCx<'_>, read: &[Scene<'_>]) -> Vec<FuncId> {
    let names = names(read);
    let words: FxHashSet<&[u8]> = names.iter().map(|name| name.as_str().as_bytes()).collect();
    let known: FxHashSet<FuncId> = read.iter().map(|scene| scene.cx.func).collect();
    let others = outside_tests(package, &[""]).filter(|cx| !known.contains(&cx.func));
    others.filter(|cx| holds_word(cx, &words)).map(|cx| cx.func).collect()
}

/// The names of fields and variables of the package that hold channels, and of functions that are
/// given channels or give them.
fn names(read: &[Scene<'_>]) -> FxHashSet<Symbol> {
    let mut names = FxHashSet::default();
    for scene in read {
        let index = scene.cx.index();
        let carries = |expr| channels_in(index, scene.info.type_of(expr)).is_some();
        let mut params = scene.info.locals().iter().filter(|local| local.owner.is_none());
        if params.any(|local| channels_in(index, &local.ty).is_some()) {
            names.insert(scene.name.name);
        }
        for &node in scene.nodes.iter() {
            match node {
                Node::Stmt(stmt) => {
                    if let StmtKind::Return(values) = &scene.file.stmt(stmt).kind
                        && values.iter().any(|&value| carries(value))
                    {
                        names.insert(scene.name.name);
                    }
                }
                Node::Expr(expr) => match &scene.file.expr(expr).kind {
                    ExprKind::Call { args, .. } => {
                        if let Callee::Func(func) = scene.info.callee(expr)
                            && func.package == scene.cx.func.package
                            && args.iter().any(|&arg| carries(arg))
                        {
                            names.insert(index.func(*func).name);
                        }
                    }
                    ExprKind::Ident(_) | ExprKind::Selector { .. } if carries(expr) => {
                        match scene.info.resolve(expr) {
                            Def::Field(selection) => {
                                names.insert(selection.name);
                            }
                            Def::Global(object) => {
                                names.insert(index.object(*object).name);
                            }
                            _ => {}
                        }
                    }
                    _ => {}
                },
                Node::Decl(_) => {}
            }
        }
    }
    names
}

/// Whether one of these words stands in a function's text.
fn holds_word(cx: &FunctionCx<'_>, words: &FxHashSet<&[u8]>) -> bool {
    let file = cx.file();
    let text = file.source.slice(file.decl(cx.declared().decl).span);
    text.split(|byte| !is_of_word(byte)).any(|word| words.contains(word))
}

/// How deep a type is looked into for channels.
const MAX_TYPE_DEPTH: u32 = 4;

/// How many channels stand around the innermost one in a type; `None` if it holds none.
pub(super) fn channels_in(index: &Index<'_>, ty: &Type) -> Option<u32> {
    let mut channels = 0;
    let mut ty = ty.clone();
    for _ in 0..MAX_TYPE_DEPTH {
        ty = match index.underlying(&ty) {
            Type::Chan(_, element) => {
                channels += 1;
                (*element).clone()
            }
            Type::Slice(element) | Type::Pointer(element) => (*element).clone(),
            Type::Array(array) => array.element.clone(),
            Type::Map(map) => match index.underlying(&map.value) {
                Type::Chan(..) | Type::Slice(_) | Type::Map(_) => map.value.clone(),
                _ => map.key.clone(),
            },
            _ => break,
        };
    }
    (channels > 0).then_some(channels)
}
