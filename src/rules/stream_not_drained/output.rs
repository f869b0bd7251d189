//! Both outputs of a process are pipes, and one is read to its end before anybody reads from the other.
//!
//! A process that writes more to the other one than a pipe holds (64 KiB on Linux, pipe(7)) waits there, and does
//! not come to the end of the first. Evidence: one function makes both pipes of one command, reads one of them until
//! its end, and names the other only after that, in the same goroutine.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::LocalId;
use crate::rules::scene::{Scene, is_beside_tests};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Reports the first of such reads of a function.
pub(super) fn check(scene: &Scene<'_>) -> Option<Finding> {
    let pipes: Vec<Pipe> = scene.nodes.iter().filter_map(|&node| Pipe::of(scene, node)).collect();
    let pairs = pipes.iter().flat_map(|one| pipes.iter().map(move |other| (one, other)));
    pairs.filter(|(one, other)| one.is_beside(scene, other)).find_map(|(one, other)| {
        let read = one.read_to_end(scene)?;
        let literal = scene.literal_around(Node::Expr(read));
        let end = scene.span(Node::Expr(read)).end;
        let mut uses = other.uses(scene).peekable();
        uses.peek()?;
        let later = uses.all(|usage| {
            scene.span(Node::Expr(usage)).start > end
                && scene.literal_around(Node::Expr(usage)) == literal
        });
        later.then(|| tell(scene, one, other, read))
    })
}

/// A pipe of a command.
struct Pipe {
    /// The call that makes it.
    call: ExprId,
    /// The command, and the method: `StdoutPipe` or `StderrPipe`.
    command: LocalId,
    method: String,
    variable: LocalId,
}

impl Pipe {
    fn of(scene: &Scene<'_>, node: Node) -> Option<Pipe> {
        let Node::Expr(call) = node else { return None };
        let name = scene.info.callee(call).qualified(scene.cx.index())?;
        let method = name.name.as_str();
        if name.path.as_str() != "os/exec" || !matches!(method, "StdoutPipe" | "StderrPipe") {
            return None;
        }
        let command = scene.method_call(call).and_then(|(command, _)| scene.local(command))?;
        let Node::Stmt(stmt) = scene.parent(node)? else { return None };
        let (StmtKind::Define { left, .. } | StmtKind::Assign { left, op: None, .. }) =
            &scene.file.stmt(stmt).kind
        else {
            return None;
        };
        let variable = scene.local(*left.first()?)?;
        Some(Pipe { call, command, method: method.to_owned(), variable })
    }

    /// Whether both are made of one command.
    fn is_beside(&self, scene: &Scene<'_>, other: &Pipe) -> bool {
        let body = |pipe: &Pipe| scene.literal_around(Node::Expr(pipe.call));
        self.command == other.command
            && self.method != other.method
            && self.variable != other.variable
            && body(self) == body(other)
    }

    /// Where the pipe is named, but for where it is made.
    fn uses<'s, 'a>(&self, scene: &'s Scene<'a>) -> impl Iterator<Item = ExprId> + use<'s, 'a> {
        let made = scene.span(Node::Expr(self.call)).start;
        let variable = self.variable;
        scene.uses(variable).filter(move |&usage| scene.span(Node::Expr(usage)).start > made)
    }

    /// The first thing that is done with it, if that is to read it to its end, in the body that makes it: a call
    /// that does, or the condition of a loop over its lines.
    fn read_to_end(&self, scene: &Scene<'_>) -> Option<ExprId> {
        let body = scene.literal_around(Node::Expr(self.call));
        let usage = self.uses(scene).min_by_key(|&usage| scene.span(Node::Expr(usage)).start)?;
        let call = scene.given_to(usage)?;
        let name = scene.info.callee(call).qualified(scene.cx.index())?;
        let read = match (name.path.as_str(), name.name.as_str()) {
            ("io" | "io/ioutil", "ReadAll") | ("io", "Copy") => call,
            ("bufio", "NewScanner") => loop_of(scene, call)?,
            _ => return None,
        };
        (scene.literal_around(Node::Expr(read)) == body && scene.go_of(read).is_none())
            .then_some(read)
    }
}

/// The condition of the loop over the lines of a scanner: it ends when the process has closed its end.
fn loop_of(scene: &Scene<'_>, scanner: ExprId) -> Option<ExprId> {
    let scanner = scene.assigned_to(scanner)?;
    scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::For { cond: Some(asked), body, .. } = scene.file.stmt(stmt).kind else {
            return None;
        };
        let asked = scene.file.unparen(asked);
        let (of, name) = scene.method_call(asked)?;
        let leaves = scene.file.descendants(Node::Stmt(body)).any(|node| match node {
            Node::Stmt(stmt) => {
                matches!(scene.file.stmt(stmt).kind, StmtKind::Return(_) | StmtKind::Branch { .. })
            }
            Node::Expr(expr) => matches!(scene.file.expr(expr).kind, ExprKind::FuncLit(_)),
            Node::Decl(_) => false,
        });
        (scene.local(of) == Some(scanner) && name.name.as_str() == "Scan" && !leaves)
            .then_some(asked)
    })
}

fn tell(scene: &Scene<'_>, one: &Pipe, other: &Pipe, read: ExprId) -> Finding {
    let name = |pipe: &Pipe| scene.info.local(pipe.variable).name;
    let (first, second) = (name(one), name(other));
    let message = format!(
        "this reads `{first}` to its end before anybody reads `{second}`: when the process has filled that \
         pipe, both wait for each other"
    );
    let mut finding = scene.cx.finding(scene.span(Node::Expr(read)), "waits here", message);
    finding.confidence = match is_beside_tests(&scene.cx) {
        true => Confidence::Low,
        false => Confidence::Medium,
    };
    for (pipe, told) in [(one, "read first"), (other, "nobody reads this meanwhile")] {
        finding.labels.push(Label {
            location: scene.cx.location(scene.span(Node::Expr(pipe.call))),
            role: Role::Made,
            message: told.to_owned(),
        });
    }
    finding.why = "a pipe holds 64 KiB on Linux; who writes more waits until it is read, and the process ends, and \
                   with it its other output, only after that"
        .to_owned();
    finding.help = format!(
        "read one of the two in a goroutine, or let `exec` copy it: `cmd.Stderr = &buf` in place of `{second}`"
    );
    finding
}
