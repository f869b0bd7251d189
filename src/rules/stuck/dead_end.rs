//! What was found on a way that ends before it gets there: the explorer does not know that a function of another
//! package never comes back, and the graph does.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Start, StepId, Walk};
use crate::rules::PackageCx;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtKind};

/// Whether something that was decided on the way leads to where the process or the goroutine ends.
pub(super) fn is_dead_end(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    let conditions = finding.labels.iter().filter(|label| label.role == Role::Condition);
    conditions.into_iter().any(|label| ends_there(cx, label).unwrap_or(false))
}

/// Whether no way leads on from where a condition was decided as a label says.
fn ends_there(cx: &PackageCx<'_>, label: &Label) -> Option<bool> {
    let holds = match &label.message {
        message if message.ends_with(" is true") => true,
        message if message.ends_with(" is false") => false,
        _ => return None,
    };
    let scene = Scene::at(cx, label.location)?;
    let Node::Expr(condition) = scene.outermost(label.location.span)? else { return None };
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let function = &read.function;
    let body = function.body_of(scene.literal_around(Node::Expr(condition)))?;
    let cfg = &function.body(body).cfg;
    let mut edges =
        cfg.edges().filter(|edge| decides(&scene, edge.kind, condition, holds)).peekable();
    edges.peek()?;
    Some(edges.all(|edge| !comes_back(cfg, edge)))
}

/// Whether an edge is taken where a condition, or the value of a case, holds or does not.
fn decides(scene: &Scene<'_>, kind: EdgeKind, condition: ExprId, holds: bool) -> bool {
    let is_it = |expr: ExprId| scene.file.unparen(expr) == scene.file.unparen(condition);
    match kind {
        EdgeKind::True(_) | EdgeKind::False(_) => {
            kind.condition().is_some_and(|(asked, when)| when == holds && is_it(asked))
        }
        EdgeKind::Case(switch, place) => match &scene.file.stmt(switch).kind {
            StmtKind::Switch { cases, .. } => {
                let values = cases.get(place as usize).and_then(|case| case.values.as_ref());
                holds && values.into_iter().flatten().any(|&value| is_it(value))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether a way leads on from an edge, be it in a loop without an end.
fn comes_back(cfg: &Cfg, edge: &Edge) -> bool {
    let start = Start::Block(edge.to);
    cfg.finds(start, (), &mut Out { ends: false }) || !cfg.finds(start, (), &mut Out { ends: true })
}

/// A walk to the ways out of a body: those on which it ends the goroutine, or the others.
struct Out {
    ends: bool,
}

impl Walk for Out {
    type State = ();

    fn step(&mut self, (): &(), _: StepId) -> Passing<()> {
        Passing::On(())
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Panic(_) | Exit::Never(_)) == self.ends
    }
}
