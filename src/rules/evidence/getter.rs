//! Methods that only take something out of what they are called for: `s.get(name)`, which returns `s.all[name]`.

use crate::index::{Callee, LocalId, LocalKind};
use crate::rules::evidence::parent::taken_through;
use crate::rules::scene::Scene;
use crate::summary::{Read, Source};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol, UnaryOp};

/// How many variables there are at most between what a method is called for and what it returns.
const MAX_VARIABLES: u32 = 4;

/// What a call takes out of what it is a method of, if it gives nothing else.
pub(super) fn taken_by(scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
    let getter = Getter::of(scene, call)?;
    let is_part = |&value: &ExprId| is_part_of(&getter.scene, &getter.read, value, getter.receiver);
    getter.values.iter().all(is_part).then_some(getter.base)
}

/// What a call is a method of, and the field of that which it takes its result out of, if that is always the same:
/// through so many variables.
pub(super) fn field_taken_by(
    scene: &Scene<'_>,
    call: ExprId,
    variables: u32,
) -> Option<(ExprId, Symbol)> {
    let getter = Getter::of(scene, call)?;
    let mut fields = getter.values.iter().map(|&value| {
        let function = &getter.read.function;
        let (owner, field) = taken_through(&getter.scene, function, value, variables)?;
        (getter.scene.local(owner) == Some(getter.receiver)).then_some(field)
    });
    let field = fields.next()??;
    fields.all(|other| other == Some(field)).then_some((getter.base, field))
}

/// A method of the package, and what it is called for.
struct Getter<'a> {
    scene: Scene<'a>,
    read: std::sync::Arc<Read<'a>>,
    receiver: LocalId,
    base: ExprId,
    /// What it may return first, `nil` left out: at least one.
    values: Vec<ExprId>,
}

impl<'a> Getter<'a> {
    fn of(scene: &Scene<'a>, call: ExprId) -> Option<Getter<'a>> {
        let Callee::Func(callee) = *scene.info.callee(call) else { return None };
        let (base, _) = scene.method_call(call)?;
        let getter = Scene::of(&scene.cx.package, callee)
            .filter(|_| callee.package == scene.cx.func.package && callee != scene.cx.func)?;
        let receiver = getter.receiver()?;
        let read = getter.cx.summaries().read(callee)?;
        let result = getter.info.locals().iter().position(|it| it.kind == LocalKind::Result(0));
        let mut values = Vec::new();
        for &node in getter.nodes.iter() {
            let Node::Stmt(stmt) = node else { continue };
            let StmtKind::Return(returned) = &getter.file.stmt(stmt).kind else { continue };
            if getter.literal_around(node).is_some() {
                continue;
            }
            match returned.first() {
                Some(&value) => values.push(value),
                None => {
                    for definition in read.function.definitions_of(LocalId(result? as u32)) {
                        if definition.source != Source::Zero {
                            values.push(read.function.taken_from(definition)?);
                        }
                    }
                }
            }
        }
        values.retain(|&value| !getter.is_nil(value));
        (!values.is_empty()).then_some(Getter { scene: getter, read, receiver, base, values })
    }
}

/// Whether a value was taken out of a variable, and is not the variable itself.
fn is_part_of(scene: &Scene<'_>, read: &Read<'_>, value: ExprId, whole: LocalId) -> bool {
    let value = scene.file.unparen(value);
    let mut at = value;
    for _ in 0..MAX_VARIABLES {
        let root = root_of(scene, at);
        if root == Some(whole) {
            return scene.local(at).is_none();
        }
        let only = root.and_then(|root| read.function.only_definition_of(root));
        let Some(from) = only.and_then(|only| read.function.taken_from(only)) else { break };
        at = scene.file.unparen(from);
    }
    false
}

/// The variable that an expression selects something of, also by an index.
pub(super) fn root_of(scene: &Scene<'_>, expr: ExprId) -> Option<LocalId> {
    let mut at = scene.file.unparen(expr);
    loop {
        at = match scene.file.expr(at).kind {
            ExprKind::Selector { base, .. }
            | ExprKind::Index { base, .. }
            | ExprKind::TypeAssert { base, .. } => scene.file.unparen(base),
            ExprKind::Unary { op: UnaryOp::Recv, operand } => scene.file.unparen(operand),
            _ => return scene.local(at),
        };
    }
}
