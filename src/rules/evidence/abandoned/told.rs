//! A channel that is left before all has been received, in words.

use super::{Abandoned, Leaving, sender_bit};
use crate::diagnostic::{Confidence, Edit, Finding, Fix, Label, Role, Safety};
use crate::flow::{EdgeKind, Exit, Path, PathEnd, Step};
use crate::index::{LocalKind, Type};
use crate::rules::evidence::traffic::{MANY, Made};
use crate::rules::evidence::{confidence_of_made, first_line, room};
use crate::source::{Location, Span};
use crate::summary::BodyId;
use crate::syntax::{ExprId, Node, StmtKind};

impl Abandoned<'_, '_, '_> {
    pub(super) fn tell(&self, made: Made, path: &Path<Leaving>) -> Finding {
        let (scene, file) = (self.channel.scene, self.channel.scene.file);
        let cx = &scene.cx;
        let name = scene.info.local(made.local).name;
        let make = scene.span(Node::Expr(made.make));
        let sender = self
            .senders
            .iter()
            .rev()
            .find(|sender| path.state.passed & sender_bit(&self.senders, sender.step) != 0)
            .unwrap_or(&self.senders[0]);
        let started = self.cfg().step(sender.step).span(file);
        let sent_at = sender.volume.sent_at;
        let here = cx.location(started);
        // A function of another package is told of by whoever calls it.
        let files = cx.index().package(cx.package.package).files();
        let inside = |at: &Location| files.iter().any(|(file, _)| *file == at.file);
        let primary = sent_at.filter(inside).unwrap_or(here);
        let room = room(self.capacity);
        let owner = match self.channel.owner {
            BodyId::OWN => format!("`{}`", scene.name.name),
            _ => "the function that made it".to_owned(),
        };
        let again = matches!(path.end, PathEnd::Step(_));
        let leaves = match again {
            true => "goes on to its next turn",
            false => "returns",
        };
        let left_over = match path.state.pending {
            1 if self.capacity == 0 => "without receiving it",
            _ => "before all is received",
        };
        let message = format!(
            "nobody is left to receive from `{name}` ({room}) when {owner} {leaves} {left_over}"
        );
        let mut finding = cx.package.finding(primary, "stays here", message);
        finding.confidence = match path.decisions().next_back() {
            Some(last) if self.asks_absent_param(last) => Confidence::Low,
            _ => confidence_of_made(scene, Node::Expr(made.make)),
        };
        finding.defect = cx.location(make);
        let label =
            |location: Location, role: Role, message: String| Label { location, role, message };
        finding.labels.push(label(
            cx.location(make),
            Role::Made,
            format!("`{name}` is made here, {room}"),
        ));
        finding.labels.push(label(
            cx.location(first_line(scene, started)),
            Role::Started,
            "the goroutine starts here".to_owned(),
        ));
        if let Some(sent) = sent_at.filter(|sent| *sent != primary) {
            finding.labels.push(label(sent, Role::Stuck, "it sends here".to_owned()));
        }
        let decided = path.decisions().next_back().and_then(|kind| self.decision(kind));
        if let Some((span, told)) = decided {
            finding.labels.push(label(cx.location(span), Role::Condition, told));
        }
        let exit = match path.end {
            PathEnd::Exit(_, Exit::Return(stmt)) => Some(scene.span(Node::Stmt(stmt))),
            _ => None,
        };
        if let Some(exit) = exit {
            finding.labels.push(label(
                cx.location(first_line(scene, exit)),
                Role::Left,
                format!("it returns here, and nobody else has `{name}`"),
            ));
        }
        finding.labels.retain(|label| label.location != finding.primary);
        finding.why = format!(
            "`{name}` is known to this function and to what it starts, and nothing receives from it \
             on this way out"
        );
        self.help(made, &mut finding, name.as_str());
        finding
    }

    /// Whether a decision says that the caller has given no pointer where the function takes one: that is a mistake of
    /// the program, and no way that it goes.
    fn asks_absent_param(&self, kind: EdgeKind) -> bool {
        let scene = self.channel.scene;
        scene.nil_decided(kind).is_some_and(|(given, is_set)| {
            let given = scene.info.local(given);
            !is_set
                && matches!(given.kind, LocalKind::Param(_))
                && matches!(given.ty, Type::Pointer(_))
        })
    }

    /// What an edge decides, in words.
    fn decision(&self, kind: EdgeKind) -> Option<(Span, String)> {
        let scene = self.channel.scene;
        let told = |expr: ExprId, what: &str| {
            let text = scene.text(expr);
            let short = text.len() <= 60 && !text.contains('\n');
            short.then(|| (scene.span(Node::Expr(expr)), format!("when `{text}` {what}")))
        };
        match kind {
            EdgeKind::True(condition) => told(condition, "holds"),
            EdgeKind::False(condition) => told(condition, "does not hold"),
            EdgeKind::Arm(stmt, index) => {
                let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind else { return None };
                let comm = clauses.get(index as usize)?.comm?;
                let channel = Step::Comm(comm).received_from(scene.file)?;
                let text = scene.text(channel);
                let span = scene.span(Node::Stmt(comm));
                Some((span, format!("when `{text}` is ready first")))
            }
            _ => None,
        }
    }

    fn help(&self, made: Made, finding: &mut Finding, name: &str) {
        let scene = self.channel.scene;
        let mut total: u8 = 0;
        for sender in &self.senders {
            total = total.saturating_add(sender.volume.sends);
        }
        let looped = self.senders.iter().any(|sender| self.cfg().reaches(sender.step, sender.step));
        let counted = self.channel.callbacks.is_empty();
        if looped || !counted || total >= MANY || self.capacity > 0 {
            finding.help = format!(
                "receive all that is sent on every way out, or send in a `select` with what ends \
                 the receiver of `{name}`"
            );
            return;
        }
        finding.help = format!(
            "give the channel room for every send that can come late: `make(..., {total})`"
        );
        let args = scene.args(made.make);
        if let [ty] = args {
            let end = scene.span(Node::Expr(*ty)).end;
            finding.fixes.push(Fix {
                message: format!("give `{name}` room for {total}"),
                safety: if total == 1 { Safety::Safe } else { Safety::Unsafe },
                edits: vec![Edit {
                    location: scene.cx.location(Span::new(end, end)),
                    replacement: format!(", {total}"),
                }],
            });
        }
    }
}
