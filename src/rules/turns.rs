//! What lives over several turns of a loop: made in one turn and ended in another, as variables say that outlive both.

use crate::flow::Path;
use crate::index::{LocalId, Type};
use crate::rules::conditions::{condition, locals_in, names_any};
use crate::source::Span;
use crate::summary::Function;
use crate::syntax::{Node, Parents, StmtId, StmtKind};

/// The variables that may say whether there is already what a statement makes in a loop and gives to `holder`: declared
/// before the loop as that is, and asked by a condition under which it is made, they are set along with it, or count
/// what happens in the loop.
pub fn states(
    function: &Function<'_>,
    parents: &Parents,
    stmt: StmtId,
    holder: LocalId,
) -> Vec<LocalId> {
    let file = function.file;
    let span = |stmt: StmtId| file.stmt(stmt).span;
    let is_before =
        |local: LocalId, around: StmtId| function.info.local(local).span.start < span(around).start;
    let mut asked: Vec<(LocalId, Span)> = Vec::new();
    for node in parents.around(Node::Stmt(stmt)) {
        let Node::Stmt(around) = node else { continue };
        match file.stmt(around).kind {
            StmtKind::If { cond, then, .. } if span(then).contains(span(stmt)) => {
                let named = locals_in(function, Node::Expr(cond));
                asked.extend(named.into_iter().map(|local| (local, span(then))));
            }
            StmtKind::For { body, .. } | StmtKind::Range { body, .. } => {
                asked.retain(|&(local, beside)| {
                    let counts = match &function.info.local(local).ty {
                        Type::Basic(basic) => basic.is_integer(),
                        Type::Slice(_) | Type::Map(..) => true,
                        _ => false,
                    };
                    let within = if counts { span(body) } else { beside };
                    let mut set = function.definitions_of(local).filter_map(|set| set.at);
                    is_before(local, around)
                        && is_before(holder, around)
                        && set.any(|at| within.contains(function.step(at).span(file)))
                });
                return asked.into_iter().map(|(local, _)| local).collect();
            }
            _ => {}
        }
    }
    Vec::new()
}

/// Whether a path takes a decision that names one of these variables.
pub fn asks_any<S>(function: &Function<'_>, path: &Path<S>, variables: &[LocalId]) -> bool {
    let mut asked = path.decisions().filter_map(condition);
    asked.any(|asked| names_any(function, Node::Expr(asked), variables))
}
