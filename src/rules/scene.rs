//! One declared function as a rule about paths looks at it: the nodes of its tree with what stands
//! around each, the uses of a variable, and the graphs of its body and of the literals in it.
//!
//! It says *where* things are and what they denote, never whether that is good.

use std::cmp::Reverse;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::catalog::{Context, Entry, Facts, Resource, Shape, Testing, TypeExpr};
use crate::flow::{Cfg, EdgeKind, StepId};
use crate::index::{
    BodyInfo, Builtin, Callee, Def, Func, FuncId, Index, LocalId, LocalKind, Package,
    QualifiedName, Type, is_of_word,
};
use crate::project::PackageId;
use crate::rules::{FunctionCx, PackageCx, conditions};
use crate::source::{FileId, Location, Span};
use crate::summary::{BodyId, Function, Read, facts};
use crate::syntax::{
    BinaryOp, Body, DeclKind, ExprId, ExprKind, File, Ident, Node, Parents, StmtId, StmtKind,
    Symbol, UnaryOp,
};

/// A declared function with a body.
pub struct Scene<'a> {
    /// What is known of the function.
    pub cx: FunctionCx<'a>,
    /// Its file.
    pub file: &'a File,
    /// Its names and types.
    pub info: Arc<BodyInfo>,
    /// Its name.
    pub name: Ident,
    /// The nodes of its declaration, in order of source.
    pub nodes: Arc<[Node]>,
    parents: Arc<Parents>,
    body: StmtId,
    /// Where each variable is named, and the outermost node of each place: made when first asked for.
    uses: OnceLock<FxHashMap<LocalId, Vec<ExprId>>>,
    outermost: OnceLock<FxHashMap<Span, Node>>,
}

/// Whether the text of a function holds one of these words: a cheap question to ask before a
/// [`Scene`] is made. Nothing is parsed for it.
pub fn holds_any(cx: &FunctionCx<'_>, words: &[&str]) -> bool {
    let (text, span) = cx.index().text_of(cx.func);
    words.iter().any(|word| text.holds(span, word))
        // Of text that is no UTF-8 nothing is said.
        || !text.is_utf8(span)
}

/// The functions of a package, those of tests left out, whose text holds one of `words`.
pub fn outside_tests<'a, 'w>(
    package: &PackageCx<'a>,
    words: &'w [&'w str],
) -> impl Iterator<Item = FunctionCx<'a>> + use<'a, 'w> {
    let package = *package;
    let funcs = package.index.package(package.package).funcs.iter();
    let all = funcs.map(move |func| FunctionCx { package, func: func.id });
    all.filter(move |cx| !package.index.is_in_test_file(cx.func) && holds_any(cx, words))
}

/// Whether a finding counts in any function of a package, those of tests left out, whose text holds one of
/// `words`.
pub fn counts_where(package: &PackageCx<'_>, words: &[&str]) -> bool {
    package.counts_everywhere() || counted(package).any(|cx| holds_any(&cx, words))
}

/// The functions of a package, those of tests left out, in which a finding counts.
pub fn counted<'a>(package: &PackageCx<'a>) -> impl Iterator<Item = FunctionCx<'a>> + use<'a> {
    let package = *package;
    let funcs = package.index.package(package.package).funcs.iter();
    let counted = funcs.filter(move |func| package.counts_in(func));
    let all = counted.map(move |func| FunctionCx { package, func: func.id });
    all.filter(move |cx| !package.index.is_in_test_file(cx.func))
}

/// As [`holds_any`]: whether a function may start goroutines.
pub fn may_start_goroutines(cx: &FunctionCx<'_>) -> bool {
    holds_any(cx, &["go ", "go\t"])
}

/// Whether the function belongs to tests, or to what helps them: what it starts ends soon after what went wrong
/// in it.
pub fn is_beside_tests(cx: &FunctionCx<'_>) -> bool {
    serves_tests(cx.index(), cx.func)
}

/// Whether a file imports what tests are written with, other than `testing`.
pub fn is_written_as_test(index: &Index<'_>, file: &File) -> bool {
    let is_for_tests = |path: &str| index.catalog().package(path).of::<Testing>().next().is_some();
    file.imports.iter().any(|import| is_for_tests(import.path.as_str()))
}

/// Whether a function belongs to tests, or to what helps them: its file is a test's, or imports what
/// tests are written with, `testing` not for a few of its functions alone.
pub fn serves_tests(index: &Index<'_>, func: FuncId) -> bool {
    if index.is_in_test_file(func) {
        return true;
    }
    let (package, declared) = (index.package(func.package), index.func(func));
    package.file(declared.file).is_some_and(|head| {
        *head.serves_tests.get_or_init(|| helps_tests(index, package, declared.file, head))
            || imports_testing(head) && is_made_by_tests(index, package, declared)
    })
}

/// Whether a method belongs to what only functions make that are given a test.
fn is_made_by_tests(index: &Index<'_>, package: &Package, method: &Func) -> bool {
    let Some(owner) = method.receiver.and_then(|receiver| receiver.ty) else { return false };
    let makes = |func: &&Func| {
        let Type::Func(signature) = index.func_type(func.id) else { return false };
        let made = signature.results.first().map(Type::strip_pointer);
        let is_owner = |made: &Type| made.identical(&index.object_type(owner)) == Some(true);
        func.receiver.is_none() && made.is_some_and(is_owner)
    };
    let is_given_test = |func: &Func| match index.func_type(func.id) {
        Type::Func(signature) => signature.params.iter().any(|param| {
            let param = param.strip_pointer();
            ["T", "B", "F", "TB"].iter().any(|name| param.is_named("testing", name))
        }),
        _ => false,
    };
    let mut makers = package.funcs.iter().filter(makes).peekable();
    makers.peek().is_some() && makers.all(is_given_test)
}

fn imports_testing(head: &File) -> bool {
    head.imports.iter().any(|import| import.path.as_str() == "testing")
}

/// Whether a file imports what tests are written with, `testing` not for a few of its functions alone.
/// `head` is what of it is there where its functions are parsed one by one.
fn helps_tests(index: &Index<'_>, package: &Package, id: FileId, head: &File) -> bool {
    if is_written_as_test(index, head) {
        return true;
    }
    let Some(import) = head.imports.iter().find(|import| import.path.as_str() == "testing") else {
        return false;
    };
    let named = import.name.map_or("testing", |name| name.name.as_str());
    let qualified = format!("{named}.");
    let (mut all, mut helping) = (0, 0);
    for func in package.funcs.iter().filter(|func| func.file == id) {
        let file = index.file_of(func.id);
        let decl = file.decl(func.decl);
        let DeclKind::Func(declared) = &decl.kind else { continue };
        if file.literals.contains(&func.decl) {
            continue;
        }
        let end = match file.body(declared) {
            Body::Parsed(body) => file.stmt(body).span.start,
            _ => decl.span.end,
        };
        let signature = file.source.slice(Span::new(decl.span.start, end));
        let holds = |text: &str| memchr::memmem::find(signature, text.as_bytes()).is_some();
        all += 1;
        let takes_test = holds(&qualified) || holds(".TB");
        helping += u32::from(takes_test);
    }
    helping * FEW >= all
}

/// What part of a file's functions may help tests in a file that is none of theirs.
const FEW: u32 = 8;

/// Whether a package is there for tests alone: its path says so, and all that is known to import it are tests,
/// programs whose path says the same, and other such packages; or nobody imports it, and it is such a program
/// or has tests of its own. What goes wrong in it goes wrong in a test. A program that is
/// an example counts as one, too: nothing rests on it.
pub fn supports_tests(cx: &PackageCx<'_>) -> bool {
    let index = cx.index;
    if index.is_with_tests(cx.package) {
        return false;
    }
    if index.package(cx.package).name.as_str() == "main" {
        // Its own name may be that of a product.
        let path = index.path_in_module(cx.package);
        let (around, own) = path.rsplit_once('/').unwrap_or(("", path));
        return matches!(own, "test" | "tests" | "e2e") || is_for_tests(around) || is_example(path);
    }
    let mut met = FxHashSet::from_iter([cx.package]);
    let mut open = vec![cx.package];
    let mut by_tests = false;
    let mut tested = false;
    while let Some(package) = open.pop() {
        if !is_for_tests(index.path_in_module(package)) {
            return false;
        }
        for importer in packages_around(cx, package) {
            let with_tests = index.is_with_tests(importer);
            if !index.imports_in_run(importer).contains(&package) {
                let path = |package: PackageId| index.package(package).path;
                tested |= with_tests && path(importer) == path(cx.package);
                continue;
            }
            // The tests of a package import what they like.
            by_tests |= with_tests || index.package(importer).name.as_str() == "main";
            if !with_tests && met.insert(importer) {
                open.push(importer);
            }
        }
    }
    by_tests || tested && met.len() == 1
}

/// The packages of the run that import one.
pub fn importers(cx: &PackageCx<'_>, package: PackageId) -> Vec<PackageId> {
    let imports = |&importer: &PackageId| cx.index.imports_in_run(importer).contains(&package);
    packages_around(cx, package).filter(imports).collect()
}

/// The packages of the run that have the last word of a package's path, as those do that import it.
fn packages_around(cx: &PackageCx<'_>, package: PackageId) -> impl Iterator<Item = PackageId> {
    let path = cx.index.package(package).path.as_str().as_bytes();
    let word = path.rsplit(|byte| !is_of_word(byte)).find(|word| !word.is_empty());
    let word = word.map(|word| Symbol::new(&String::from_utf8_lossy(word)));
    word.into_iter().flat_map(|word| cx.packages_with(word))
}

/// Whether the path of a package has an element that is written for tests by custom: `e2e`, `testutil`,
/// `httptest`, `fakes`, `mock_store`.
pub fn is_for_tests(path: &str) -> bool {
    path.split('/').any(|element| {
        let ends = ["test", "tests", "testing"].into_iter().any(|end| element.ends_with(end));
        let holds = ["testutil", "fake", "mock"].into_iter().any(|word| element.contains(word));
        let named = ends || holds || element == "e2e" || element.starts_with("test");
        named && element != "latest"
    })
}

/// The calls of a declared function in a body, in order of source.
pub fn calls_in(file: &File, info: &BodyInfo, func: FuncId) -> Vec<ExprId> {
    let mut calls: Vec<ExprId> = info.calls_of(func).collect();
    // The outer one of two that begin at one place first.
    calls.sort_unstable_by_key(|&call| {
        let span = file.expr(call).span;
        (span.start, Reverse(span.end))
    });
    calls
}

/// What a condition compares with nil, and whether it asks for something that is not.
pub fn compared_with_nil(
    file: &File,
    info: &BodyInfo,
    condition: ExprId,
) -> Option<(ExprId, bool)> {
    let ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } =
        file.expr(file.unparen(condition)).kind
    else {
        return None;
    };
    let is_nil = |expr: ExprId| matches!(info.resolve(file.unparen(expr)), Def::Nil);
    let compared = match (is_nil(left), is_nil(right)) {
        (false, true) => left,
        (true, false) => right,
        _ => return None,
    };
    Some((compared, op == BinaryOp::Ne))
}

/// Whether the path of a package says that it shows how another is used.
pub fn is_example(path: &str) -> bool {
    path.split('/').any(|element| element.contains("example"))
}

/// The graph of one body.
pub struct Graph<'a> {
    read: Arc<Read<'a>>,
    body: BodyId,
}

impl Graph<'_> {
    /// The function that the body is of.
    pub fn function(&self) -> &Function<'_> {
        &self.read.function
    }

    /// Which of its bodies it is.
    pub fn body(&self) -> BodyId {
        self.body
    }
}

impl Deref for Graph<'_> {
    type Target = Cfg;

    fn deref(&self) -> &Cfg {
        &self.read.function.body(self.body).cfg
    }
}

/// The declared function of the package around a place.
pub fn declared_at(cx: &PackageCx<'_>, place: Location) -> Option<FuncId> {
    let mut declared = cx.index.package(cx.package).funcs.iter();
    let around = declared.find(|func| {
        func.file == place.file
            && cx.index.file_of(func.id).decl(func.decl).span.contains(place.span)
    });
    around.map(|func| func.id)
}

impl<'a> Scene<'a> {
    /// The declared function of the package around a place.
    pub fn at(cx: &PackageCx<'a>, place: Location) -> Option<Scene<'a>> {
        Scene::of(cx, declared_at(cx, place)?)
    }

    /// Where the field is declared that an expression selects.
    pub fn field(&self, expr: ExprId) -> Option<Location> {
        match self.info.resolve(self.file.unparen(expr)) {
            Def::Field(selection) => selection.location,
            _ => None,
        }
    }

    /// The channel that a node sends on or receives from itself, and whether it receives.
    pub fn transfer(&self, node: Node) -> Option<(ExprId, bool)> {
        match node {
            Node::Stmt(stmt) => match self.file.stmt(stmt).kind {
                StmtKind::Send { channel, .. } => Some((channel, false)),
                _ => None,
            },
            Node::Expr(expr) => match self.file.expr(expr).kind {
                ExprKind::Unary { op: UnaryOp::Recv, operand } => Some((operand, true)),
                _ => None,
            },
            Node::Decl(_) => None,
        }
    }

    /// The `select` with several clauses that a send or receive is a communication of, and which of them.
    pub fn select_of(&self, node: Node) -> Option<(StmtId, u32)> {
        let comm = match node {
            Node::Stmt(stmt) => stmt,
            Node::Expr(_) => match self.parent(node)? {
                Node::Stmt(stmt) => stmt,
                _ => return None,
            },
            Node::Decl(_) => return None,
        };
        let Node::Stmt(select) = self.parent(Node::Stmt(comm))? else { return None };
        let StmtKind::Select(clauses) = &self.file.stmt(select).kind else { return None };
        let place = clauses.iter().position(|clause| clause.comm == Some(comm))?;
        (clauses.len() > 1).then_some((select, place as u32))
    }

    /// Whether the function assigns to something, or counts it up or down.
    pub fn assigns(&self, is_it: impl Fn(ExprId) -> bool) -> bool {
        self.nodes.iter().any(|&node| {
            let Node::Stmt(stmt) = node else { return false };
            match &self.file.stmt(stmt).kind {
                StmtKind::Assign { left, .. } => left.iter().any(|&target| is_it(target)),
                StmtKind::IncDec { operand, .. } => is_it(*operand),
                _ => false,
            }
        })
    }

    /// Whether an expression is given to `delete`.
    pub fn is_deleted(&self, expr: ExprId) -> bool {
        self.given_to(expr)
            .is_some_and(|call| matches!(self.info.callee(call), Callee::Builtin(Builtin::Delete)))
    }

    /// Whether a receive is the communication of an arm of a `select`.
    pub fn is_arm(&self, receive: ExprId) -> bool {
        self.around(Node::Expr(receive)).take(2).any(|around| match around {
            Node::Stmt(stmt) => matches!(self.file.stmt(stmt).kind, StmtKind::Select(_)),
            _ => false,
        })
    }

    /// A function of any package.
    pub fn of(cx: &PackageCx<'a>, func: FuncId) -> Option<Scene<'a>> {
        let package = PackageCx { package: func.package, ..*cx };
        Scene::new(FunctionCx { package, func })
    }

    /// The function of `cx`; `None` if its body is not there to be read.
    pub fn new(cx: FunctionCx<'a>) -> Option<Scene<'a>> {
        let file: &'a File = cx.file();
        let decl = cx.declared().decl;
        let DeclKind::Func(func) = &file.decl(decl).kind else { return None };
        let Body::Parsed(body) = file.body(func) else { return None };
        let tree = || {
            let nodes: Arc<[Node]> = file.descendants(Node::Decl(decl)).collect();
            let parents = Arc::new(file.parents_of(&nodes));
            (nodes, parents)
        };
        let (nodes, parents) = cx.package.memo.tree(cx.func, tree);
        Some(Scene {
            cx,
            file,
            info: cx.body(),
            name: func.name,
            nodes,
            parents,
            body,
            uses: OnceLock::new(),
            outermost: OnceLock::new(),
        })
    }

    /// The bytes of a node.
    pub fn span(&self, node: Node) -> Span {
        match node {
            Node::Expr(id) => self.file.expr(id).span,
            Node::Stmt(id) => self.file.stmt(id).span,
            Node::Decl(id) => self.file.decl(id).span,
        }
    }

    /// The text of an expression, as it stands in the source.
    pub fn text(&self, expr: ExprId) -> String {
        self.file.source.text(self.file.expr(expr).span).into_owned()
    }

    /// What stands directly around a node, parentheses left out.
    pub fn parent(&self, node: Node) -> Option<Node> {
        self.parents.around(node).find(|&around| !self.is_paren(around))
    }

    /// What stands around a node, from the inside out.
    pub fn around(&self, node: Node) -> impl Iterator<Item = Node> {
        self.parents.around(node)
    }

    fn is_paren(&self, node: Node) -> bool {
        matches!(node, Node::Expr(expr) if matches!(self.file.expr(expr).kind, ExprKind::Paren(_)))
    }

    /// The function literal that a node stands in: `None` for the declared function itself.
    pub fn literal_around(&self, node: Node) -> Option<ExprId> {
        self.parents.around(node).find_map(|around| self.as_literal(around))
    }

    /// The outermost function literal that lies in `owner` (a literal, or the declared function)
    /// and holds `node`; `None` if the node stands in `owner` itself.
    pub fn literal_below(&self, owner: Option<ExprId>, node: Node) -> Option<ExprId> {
        self.parents
            .around(node)
            .filter_map(|around| self.as_literal(around))
            .take_while(|&literal| Some(literal) != owner)
            .last()
    }

    fn as_literal(&self, node: Node) -> Option<ExprId> {
        match node {
            Node::Expr(expr) if matches!(self.file.expr(expr).kind, ExprKind::FuncLit(_)) => {
                Some(expr)
            }
            _ => None,
        }
    }

    /// The body of a function literal, or of the declared function.
    pub fn body_of(&self, owner: Option<ExprId>) -> StmtId {
        match owner.map(|literal| &self.file.expr(literal).kind) {
            Some(ExprKind::FuncLit(literal)) => literal.body,
            _ => self.body,
        }
    }

    /// The graph of the body of a function literal, or of the declared function; `None` for a
    /// literal that is never reached.
    pub fn graph(&self, owner: Option<ExprId>) -> Option<Graph<'a>> {
        let read = self.cx.summaries().read(self.cx.func)?;
        let body = read.function.body_of(owner)?;
        Some(Graph { read, body })
    }

    /// The step of `graph` that a node is part of.
    pub fn step_of(&self, graph: &Cfg, node: Node) -> Option<StepId> {
        std::iter::once(node).chain(self.parents.around(node)).find_map(|node| match node {
            Node::Expr(expr) => graph.step_of_expr(expr),
            Node::Stmt(stmt) => graph.step_of_stmt(stmt),
            Node::Decl(_) => None,
        })
    }

    /// The variable that an expression names.
    pub fn local(&self, expr: ExprId) -> Option<LocalId> {
        match self.info.resolve(self.file.unparen(expr)) {
            Def::Local(local) => Some(*local),
            _ => None,
        }
    }

    /// All places where a variable is named, but for its declaration by `var` or as a parameter.
    pub fn uses(&self, local: LocalId) -> impl Iterator<Item = ExprId> {
        let uses = self.uses.get_or_init(|| {
            let mut uses: FxHashMap<LocalId, Vec<ExprId>> = FxHashMap::default();
            for &node in self.nodes.iter() {
                if let Node::Expr(expr) = node
                    && matches!(self.file.expr(expr).kind, ExprKind::Ident(_))
                    && let Some(local) = self.local(expr)
                {
                    uses.entry(local).or_default().push(expr);
                }
            }
            uses
        });
        uses.get(&local).into_iter().flatten().copied()
    }

    /// The outermost node with these bytes.
    pub fn outermost(&self, span: Span) -> Option<Node> {
        let outermost = self.outermost.get_or_init(|| {
            let mut outermost = FxHashMap::default();
            for &node in self.nodes.iter() {
                outermost.entry(self.span(node)).or_insert(node);
            }
            outermost
        });
        outermost.get(&span).copied()
    }

    /// Whether a variable is named at or below a node.
    pub fn mentions(&self, node: Node, local: LocalId) -> bool {
        self.file.descendants(node).any(|node| match node {
            Node::Expr(expr) => {
                matches!(self.file.expr(expr).kind, ExprKind::Ident(_))
                    && self.local(expr) == Some(local)
            }
            _ => false,
        })
    }

    /// `x` and `name` of an expression `x.name`.
    pub fn selector(&self, expr: ExprId) -> Option<(ExprId, Ident)> {
        match self.file.expr(self.file.unparen(expr)).kind {
            ExprKind::Selector { base, name } => Some((base, name)),
            _ => None,
        }
    }

    /// `x` and `name` of a call `x.name(...)`.
    pub fn method_call(&self, expr: ExprId) -> Option<(ExprId, Ident)> {
        self.file.method_call(expr)
    }

    /// Whether a call is that of a `defer` statement.
    pub fn is_deferred(&self, call: ExprId) -> bool {
        let around = self.parent(Node::Expr(call));
        matches!(around, Some(Node::Stmt(stmt))
            if matches!(self.file.stmt(stmt).kind, StmtKind::Defer(_)))
    }

    /// The `go` statement that a call is that of.
    pub fn go_of(&self, call: ExprId) -> Option<StmtId> {
        let Some(Node::Stmt(stmt)) = self.parent(Node::Expr(call)) else { return None };
        matches!(self.file.stmt(stmt).kind, StmtKind::Go(_)).then_some(stmt)
    }

    /// The `go` statement that starts a literal where it stands.
    pub fn go_around(&self, literal: ExprId) -> Option<StmtId> {
        match self.parent(Node::Expr(literal)) {
            Some(Node::Expr(call)) => self.go_of(call),
            _ => None,
        }
    }

    /// Whether a body (a literal's, or that of the declared function) runs a call where it is written: neither
    /// deferred nor in a goroutine.
    pub fn runs_in_turn(&self, owner: Option<ExprId>, call: ExprId) -> bool {
        self.literal_around(Node::Expr(call)) == owner
            && !self.is_deferred(call)
            && self.go_of(call).is_none()
    }

    /// The methods that a body calls where they are written: the call, what it calls, and what of.
    pub fn methods_in_turn(
        &self,
        owner: Option<ExprId>,
    ) -> impl Iterator<Item = (ExprId, FuncId, ExprId)> {
        self.nodes.iter().filter_map(move |&node| {
            let Node::Expr(call) = node else { return None };
            let Callee::Func(callee) = *self.info.callee(call) else { return None };
            let (base, _) = self.method_call(call)?;
            self.runs_in_turn(owner, call).then_some((call, callee, base))
        })
    }

    /// The receiver, if the function is a method that names it.
    pub fn receiver(&self) -> Option<LocalId> {
        let mut locals = self.info.locals().iter();
        let at = locals.position(|local| local.kind == LocalKind::Receiver)?;
        Some(LocalId(at as u32))
    }

    /// Whether an expression is a field of the receiver itself.
    pub fn is_of_receiver(&self, expr: ExprId) -> bool {
        let own = self.selector(expr).and_then(|(base, _)| self.local(base));
        own.is_some() && own == self.receiver()
    }

    /// The calls of a declared function, those that start or defer it too.
    pub fn calls(&self, func: FuncId) -> impl Iterator<Item = ExprId> {
        calls_in(self.file, &self.info, func).into_iter()
    }

    /// The variable in which the function keeps what ends a context that this call gives.
    pub fn cancel_of(&self, call: ExprId) -> Option<LocalId> {
        let known = facts(self.cx.catalog(), self.cx.index(), self.info.callee(call));
        let mut contexts = known.all_in_force::<Context>(self.cx.versions());
        let cancel = contexts.find_map(|fact| fact.cancel)?;
        let (targets, _) =
            self.around(Node::Expr(call)).find_map(|around| self.assignment(around))?;
        targets.get(cancel as usize).copied().flatten()
    }

    /// The loops around a node in its own body, innermost first.
    pub fn loops_around(&self, node: Node) -> Vec<StmtId> {
        let own = self.around(node).take_while(|&around| self.as_literal(around).is_none());
        let loops = own.filter_map(|around| {
            let Node::Stmt(stmt) = around else { return None };
            let kind = &self.file.stmt(stmt).kind;
            matches!(kind, StmtKind::For { .. } | StmtKind::Range { .. }).then_some(stmt)
        });
        loops.collect()
    }

    /// The `go` statements that start a declared function, and their calls.
    pub fn starts(&self, func: FuncId) -> impl Iterator<Item = (StmtId, ExprId)> {
        self.nodes.iter().filter_map(move |&node| {
            let Node::Stmt(stmt) = node else { return None };
            let StmtKind::Go(call) = self.file.stmt(stmt).kind else { return None };
            let call = self.file.unparen(call);
            let started = matches!(self.info.callee(call), Callee::Func(callee) if *callee == func);
            started.then_some((stmt, call))
        })
    }

    /// The call that an expression is an argument of.
    pub fn given_to(&self, expr: ExprId) -> Option<ExprId> {
        let Some(Node::Expr(call)) = self.parent(Node::Expr(expr)) else { return None };
        self.args(call).iter().any(|&arg| self.file.unparen(arg) == expr).then_some(call)
    }

    /// Whether an expression is assigned to.
    pub fn is_target(&self, expr: ExprId) -> bool {
        let Some(Node::Stmt(stmt)) = self.parent(Node::Expr(expr)) else { return false };
        match &self.file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } | StmtKind::Define { left, .. } => left.contains(&expr),
            _ => false,
        }
    }

    /// Whether a literal of a struct sets a field of this name.
    pub fn is_key(&self, literal: ExprId, name: Symbol) -> bool {
        let ExprKind::CompositeLit { ref elements, .. } = self.file.expr(literal).kind else {
            return false;
        };
        let mut keys = elements.iter().filter_map(|element| element.key);
        keys.any(|key| matches!(self.file.expr(key).kind, ExprKind::Ident(key) if key == name))
    }

    /// The arguments of a call.
    pub fn args(&self, call: ExprId) -> &'a [ExprId] {
        self.file.args(call)
    }

    /// Whether an expression is `nil`.
    pub fn is_nil(&self, expr: ExprId) -> bool {
        matches!(self.info.resolve(self.file.unparen(expr)), Def::Nil)
    }

    /// The variable that a condition compares with nil, and whether it asks for one that is not nil.
    pub fn nil_test(&self, condition: ExprId) -> Option<(LocalId, bool)> {
        let (compared, is_set) = compared_with_nil(self.file, &self.info, condition)?;
        Some((self.local(compared)?, is_set))
    }

    /// The variable that an edge compares with nil, and whether it is not nil there.
    pub fn nil_decided(&self, kind: EdgeKind) -> Option<(LocalId, bool)> {
        let (compared, asks_for_one) = self.nil_test(conditions::condition(kind)?)?;
        Some((compared, asks_for_one == matches!(kind, EdgeKind::True(_))))
    }

    /// The left and right sides of an assignment, short variable declaration or `var`, if a node
    /// is one.
    pub fn assignment(&self, node: Node) -> Option<(Vec<Option<LocalId>>, &'a [ExprId])> {
        match node {
            Node::Stmt(stmt) => match &self.file.stmt(stmt).kind {
                StmtKind::Assign { left, op: None, right } | StmtKind::Define { left, right } => {
                    Some((left.iter().map(|&left| self.local(left)).collect(), right))
                }
                _ => None,
            },
            Node::Decl(decl) => match &self.file.decl(decl).kind {
                DeclKind::Var(spec) => {
                    let declared = |name: &Ident| self.info.declared_at(name.span);
                    Some((spec.names.iter().map(declared).collect(), &spec.values))
                }
                _ => None,
            },
            Node::Expr(_) => None,
        }
    }

    /// The variable that an expression is assigned to.
    pub fn assigned_to(&self, value: ExprId) -> Option<LocalId> {
        let (targets, values) = self.assignment(self.parent(Node::Expr(value))?)?;
        let place = values.iter().position(|&other| self.file.unparen(other) == value)?;
        *targets.get(place)?
    }

    /// What the catalog knows of a name.
    pub fn facts_of(&self, name: QualifiedName) -> &'a Facts {
        let receiver = name.receiver.map(|receiver| receiver.as_str());
        self.cx.catalog().facts(name.path.as_str(), receiver, name.name.as_str())
    }

    /// Whether a call derives a context that ends before its parent may, as far as the catalog tells of it.
    pub fn may_end_context(&self, call: ExprId) -> bool {
        let known = facts(self.cx.catalog(), self.cx.index(), self.info.callee(call));
        let mut known = known.all_in_force::<Context>(self.cx.versions()).peekable();
        known.peek().is_none() || known.any(|fact| fact.cancel.is_some() || fact.deadline)
    }

    /// What a call makes that goes on until it is ended, as far as the catalog tells of the name
    /// of what is called.
    pub fn resource(&self, call: ExprId) -> Option<&'a Resource> {
        let name = self.info.callee(call).qualified(self.cx.index())?;
        self.facts_of(name).in_force(self.cx.versions())
    }

    /// As [`Scene::resource`], for a call of a method whose name says little, by the types of its
    /// arguments: generated clients are of many types and of one form.
    pub fn resource_by_form(&self, call: ExprId) -> Option<(&'a Entry, &'a Resource)> {
        let called = self.info.callee(call).qualified(self.cx.index());
        let method = match called {
            Some(name) => name.name,
            None => self.method_call(call)?.1.name,
        };
        let package = called.map_or("", |name| name.path.as_str());
        let shapes = self.cx.catalog().shapes();
        shapes
            .filter(|(shape, _)| shape.admits(package, method.as_str()) && self.fits(call, shape))
            .flat_map(|(_, facts)| facts.of::<Resource>())
            .find(|(entry, _)| entry.gate.holds(self.cx.versions()) == Some(true))
    }

    /// Whether the arguments of a call are known to have the types that a shape asks for. One that
    /// asks for none fits no call.
    fn fits(&self, call: ExprId, shape: &Shape) -> bool {
        let args = self.args(call);
        let Some(params) = &shape.params else { return false };
        let fixed = match params.last() {
            Some(TypeExpr::Variadic(_)) => params.len() - 1,
            _ if params.len() != args.len() => return false,
            _ => params.len(),
        };
        args.len() >= fixed
            && args.iter().zip(params).all(|(&arg, param)| match param {
                TypeExpr::Variadic(param) => has_type(self.info.type_of(arg), param),
                param => has_type(self.info.type_of(arg), param),
            })
    }
}

/// Whether a type is known to be what the catalog writes, pointers and arguments of types aside.
fn has_type(ty: &Type, expected: &TypeExpr) -> bool {
    match expected {
        TypeExpr::Any => true,
        TypeExpr::Named(name) => ty.is_named(&name.package, &name.name),
        TypeExpr::Pointer(expected) => match ty {
            Type::Pointer(base) => has_type(base, expected),
            _ => false,
        },
        _ => false,
    }
}

/// The functions of a package that may name something, those of tests left out.
pub fn naming<'a>(cx: &FunctionCx<'a>, name: Symbol) -> impl Iterator<Item = Scene<'a>> + use<'a> {
    let cx = *cx;
    let funcs = cx.index().package(cx.func.package).funcs.iter();
    let named = funcs.filter(move |func| {
        cx.index().may_name(func.id, name) && !cx.index().is_in_test_file(func.id)
    });
    named.filter_map(move |func| Scene::new(FunctionCx { func: func.id, ..cx }))
}

/// Whether something stands in a loop without a condition, of the same function or literal.
pub fn is_in_endless_loop(file: &File, parents: &Parents, node: Node) -> bool {
    let mut around = parents.around(node).take_while(|node| match node {
        Node::Expr(expr) => !matches!(file.expr(*expr).kind, ExprKind::FuncLit(_)),
        _ => true,
    });
    around.any(|node| match node {
        Node::Stmt(stmt) => matches!(file.stmt(stmt).kind, StmtKind::For { cond: None, .. }),
        _ => false,
    })
}
