//! The rules: what each one is, and the judgement that it passes.
//!
//! A rule is two files and one line here: its page `rules/<rule-id>.md`, which says what it is and
//! carries its examples, and its module `src/rules/<rule_id>.rs`, which holds a `RULE` and the
//! check. A rule never uses another rule, never reads the disk, and never prints. What it does
//! not know counts as benign: without evidence there is no finding.
//!
//! ```ignore
//! pub const RULE: Rule =
//!     Rule { page: include_str!("../../rules/nil-channel.md"), check: Check::Function(check) };
//!
//! fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) { ... }
//! ```

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

mod access;
pub mod bad_suppression;
mod body_not_closed;
mod bound;
mod cache_sync_missing;
mod callee_cannot_be_cancelled;
pub mod cancel_not_called;
pub mod chain;
mod comments;
mod conditions;
mod context_not_propagated;
mod done_arm_does_not_leave;
mod endable;
mod evidence;
mod fatal;
mod fields;
pub mod filter;
mod filter_order;
mod goroutine_ignores_context;
mod handoff;
mod header_after_handoff;
pub mod held;
mod helper_outlives;
mod lifecycle_not_ended;
mod literals;
mod live_header_exposed;
mod makers;
pub mod memo;
pub mod mend;
mod missing_deadline;
pub mod page;
mod part_not_ended;
mod peer;
mod pipe_end_not_closed;
mod recurrence;
mod request_context_escapes;
mod request_shared_after_handoff;
pub mod scene;
pub mod selection;
mod shared_after_timeout;
mod sharing;
mod signal_notify_unbuffered;
mod spared;
mod stop_bound_too_early;
mod stop_channel_never_closed;
mod stream_not_drained;
pub mod stuck;
mod timer_not_stopped;
mod turns;
mod unended;
pub mod untaken;
mod wait_ignores_context;
pub mod watch;
mod watch_closed_unchecked;
mod watch_not_drained;
mod watch_not_stopped;
mod writer_outlives_handler;

use crate::catalog::{Catalog, Model, Op, TypeRole, TypeRoles, Versions};
use crate::diagnostic::Finding;
use crate::index::{BodyInfo, Callee, Func, FuncId, Index, ObjectId, Type};
use crate::project::PackageId;
use crate::source::{FileId, Location, Span};
use crate::summary::{self, Function, Summaries, facts};
use crate::syntax::{ExprId, ExprKind, File, Node, Symbol};
use evidence::Evidence;
use memo::{Memo, Uses};
use page::Page;

/// All rules, sorted by id.
pub const ALL: &[Rule] = &[
    bad_suppression::RULE,
    body_not_closed::RULE,
    cache_sync_missing::RULE,
    callee_cannot_be_cancelled::RULE,
    cancel_not_called::RULE,
    stuck::CLOSE_MISUSE,
    stuck::COND_WAIT_LOST,
    context_not_propagated::RULE,
    done_arm_does_not_leave::RULE,
    stuck::DOUBLE_LOCK,
    filter_order::RULE,
    goroutine_ignores_context::RULE,
    header_after_handoff::RULE,
    helper_outlives::RULE,
    lifecycle_not_ended::RULE,
    live_header_exposed::RULE,
    stuck::LOCK_HELD_WHILE_BLOCKED,
    stuck::LOCK_ORDER,
    missing_deadline::RULE,
    stuck::NIL_CHANNEL,
    stuck::ONCE_SELF,
    part_not_ended::RULE,
    pipe_end_not_closed::RULE,
    stuck::RANGE_NEVER_CLOSED,
    stuck::RECEIVE_WITHOUT_SENDER,
    request_context_escapes::RULE,
    request_shared_after_handoff::RULE,
    stuck::SELECT_NEVER_READY,
    stuck::SEND_AND_RECEIVE_IN_ONE_GOROUTINE,
    stuck::SEND_WITHOUT_RECEIVER,
    shared_after_timeout::RULE,
    signal_notify_unbuffered::RULE,
    stop_bound_too_early::RULE,
    stop_channel_never_closed::RULE,
    stream_not_drained::RULE,
    timer_not_stopped::RULE,
    stuck::UNLOCK_MISSING,
    wait_ignores_context::RULE,
    stuck::WAITGROUP_UNBALANCED,
    watch_closed_unchecked::RULE,
    watch_not_drained::RULE,
    watch_not_stopped::RULE,
    writer_outlives_handler::RULE,
];

/// A rule: what it is and how it judges.
pub struct Rule {
    /// The text of `rules/<rule-id>.md`.
    pub page: &'static str,
    /// What it looks at.
    pub check: Check,
}

/// What a rule looks at, and so what has to be run again when something changes.
#[derive(Clone, Copy)]
pub enum Check {
    /// One declared function or method at a time, with the literals in it.
    Function(fn(&FunctionCx<'_>, &mut Vec<Finding>)),
    /// One package in one view.
    Package(fn(&PackageCx<'_>, &mut Vec<Finding>)),
    /// The states that can be reached from one root, explored once for all rules that ask for it;
    /// and what the text of one package shows without running it.
    Exploration(Option<Evidence>),
    /// The directives that suppress findings, after all findings are known.
    Directives,
}

/// What checks asked for that lies out of their package.
#[derive(Debug, Default)]
pub struct Asked {
    names: Mutex<BTreeSet<&'static str>>,
    cut: Mutex<BTreeSet<Location>>,
}

impl Asked {
    fn insert(&self, name: Symbol) {
        locked(&self.names).insert(name.as_str());
    }

    /// The names by which they looked for code in all packages of the run: besides the package and
    /// what it imports, their answers depend on the packages whose files hold one of these words, and
    /// on nothing else.
    pub fn names(&self) -> BTreeSet<&'static str> {
        locked(&self.names).clone()
    }

    /// Says that a question led to more functions of dependencies than are read for one.
    fn insert_cut(&self, function: Location) {
        locked(&self.cut).insert(function);
    }

    /// The functions from which more functions of dependencies are within reach than are read for one
    /// question.
    pub fn cut(&self) -> BTreeSet<Location> {
        locked(&self.cut).clone()
    }
}

fn locked<T>(known: &Mutex<T>) -> MutexGuard<'_, T> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files of a package in which what its checks find counts; not set if it does in all.
pub type Counted = OnceLock<BTreeSet<FileId>>;

/// All files count.
pub static EVERYWHERE: Counted = Counted::new();

/// What a check of a package knows.
#[derive(Clone, Copy)]
pub struct PackageCx<'a> {
    /// The page of the rule that is checked.
    pub page: &'static Page,
    /// Names and types.
    pub index: &'a Index<'a>,
    /// What libraries do.
    pub catalog: &'a Catalog,
    /// The versions that the package is built with: the catalog's facts hold for some of them.
    pub versions: &'a (dyn Versions + Sync),
    /// What functions do, as their callers see it.
    pub summaries: &'a Summaries<'a>,
    /// Where to say which code of packages was looked at that this one does not import.
    pub asked: &'a Asked,
    /// Whether somebody may see what is told with low confidence.
    pub doubtful: bool,
    /// What its other checks have worked out.
    pub memo: &'a Memo,
    /// Where what a check finds counts.
    pub counted: &'a Counted,
    /// The package.
    pub package: PackageId,
}

/// What a check of a function knows.
#[derive(Clone, Copy)]
pub struct FunctionCx<'a> {
    /// What is known of its package.
    pub package: PackageCx<'a>,
    /// The function.
    pub func: FuncId,
}

impl<'a> PackageCx<'a> {
    /// The packages of the run whose files hold a word, imported or not, in the order of
    /// [`Summaries::order`]. The only way for a rule to code that its package does not import: what
    /// was looked for is a part of what its answer depends on.
    pub fn packages_with(&self, word: Symbol) -> impl Iterator<Item = PackageId> {
        self.asked.insert(word);
        let index = self.index;
        let packages = self.summaries.order().iter().copied();
        packages.filter(move |&package| index.mentions(package, word))
    }

    /// Whether what is found in a function of the package counts. What can only be found where it does not
    /// need not be looked for.
    pub fn counts_in(&self, func: &Func) -> bool {
        self.counted.get().is_none_or(|counted| counted.contains(&func.file))
    }

    /// Whether what is found counts wherever it is in the package.
    pub fn counts_everywhere(&self) -> bool {
        self.counted.get().is_none()
    }

    /// Whether a type, or what it points to, has such a part in what libraries do.
    pub fn has_role(&self, ty: &Type, role: TypeRole) -> bool {
        let Some(named) = ty.named() else { return false };
        let facts = summary::named(self.catalog, named.qualified());
        facts.in_force::<TypeRoles>(self.versions).is_some_and(|roles| roles.roles.contains(&role))
    }

    /// Says that from a function more functions of dependencies are within reach than were read.
    pub fn cut_at(&self, func: FuncId) {
        self.asked.insert_cut(self.index.name_of(func));
    }

    /// Where the functions of the package are named and called in it.
    fn uses(&self) -> Arc<Uses> {
        self.memo.uses(self.package, || {
            let mut uses = Uses::default();
            for func in &self.index.package(self.package).funcs {
                let (file, info) = (self.index.file_of(func.id), self.index.body(func.id));
                let is_of_tests = scene::serves_tests(self.index, func.id);
                for node in file.descendants(Node::Decl(func.decl)) {
                    let Node::Expr(expr) = node else { continue };
                    if let Some(named) = self.index.func_named(&info, expr) {
                        uses.named.entry(named).or_default().push((func.id, expr));
                    }
                    if is_of_tests || !matches!(file.expr(expr).kind, ExprKind::Call { .. }) {
                        continue;
                    }
                    match *info.callee(expr) {
                        Callee::Func(callee) => {
                            uses.calls.entry(callee).or_default().push((func.id, expr));
                        }
                        Callee::Value(value) => uses.of_values.push((func.id, expr, value)),
                        _ => {}
                    }
                }
            }
            uses
        })
    }

    /// The expressions of the package that name a function, and the functions that they stand in, those of test
    /// files left out.
    fn named_outside_tests(&self, func: FuncId) -> Vec<(FuncId, ExprId)> {
        let uses = self.uses();
        let named = uses.named.get(&func).into_iter().flatten().copied();
        named.filter(|(user, _)| !self.index.is_in_test_file(*user)).collect()
    }

    /// The functions whose bodies the forms of evidence ask for, whichever of them runs first.
    pub fn read_first(&self) -> Vec<FuncId> {
        match evidence::tells_of_channels(self) {
            true => evidence::read_in(self).collect(),
            false => Vec::new(),
        }
    }

    /// A finding of this rule, with the severity and confidence of its page: its labels, its
    /// reasons and a defect other than the primary place are for the check to fill in.
    pub fn finding(&self, primary: Location, label: &str, message: String) -> Finding {
        Finding {
            rule: self.page.id,
            severity: self.page.severity,
            confidence: self.page.confidence,
            message,
            primary,
            primary_label: label.to_owned(),
            labels: Vec::new(),
            why: String::new(),
            help: String::new(),
            fixes: Vec::new(),
            defect: primary,
        }
    }
}

impl<'a> FunctionCx<'a> {
    /// Names and types.
    pub fn index(&self) -> &'a Index<'a> {
        self.package.index
    }

    /// What libraries do.
    pub fn catalog(&self) -> &'a Catalog {
        self.package.catalog
    }

    /// The versions that the package is built with.
    pub fn versions(&self) -> &'a (dyn Versions + Sync) {
        self.package.versions
    }

    /// What functions do, as their callers see it.
    pub fn summaries(&self) -> &'a Summaries<'a> {
        self.package.summaries
    }

    /// The declaration of the function.
    pub fn declared(&self) -> &'a Func {
        self.package.index.func(self.func)
    }

    /// The type that the function is a method of.
    pub fn owner(&self) -> Option<ObjectId> {
        self.declared().receiver.and_then(|receiver| receiver.ty)
    }

    /// The tree of the function's file.
    pub fn file(&self) -> &'a Arc<File> {
        self.package.index.file_of(self.func)
    }

    /// Names and types in the function.
    pub fn body(&self) -> Arc<BodyInfo> {
        self.package.index.body(self.func)
    }

    /// A place in the function's file.
    pub fn location(&self, span: Span) -> Location {
        Location { file: self.declared().file, span }
    }

    /// Whether the catalog says that a call does this.
    pub fn is_op(&self, function: &Function<'_>, call: ExprId, op: Op) -> bool {
        let known = facts(self.catalog(), function.index, function.info.callee(call));
        known.in_force::<Model>(self.versions()).is_some_and(|model| model.op == op)
    }

    /// As [`PackageCx::finding`], at a place in the function's file.
    pub fn finding(&self, primary: Span, label: &str, message: String) -> Finding {
        self.package.finding(self.location(primary), label, message)
    }
}

/// A set of rules that belong together: `--select` takes its id too.
pub struct Group {
    /// Its name, in kebab-case.
    pub id: &'static str,
    /// What the rules of it have in common.
    pub title: &'static str,
}

/// All groups, in the order in which they are shown.
pub const GROUPS: &[Group] = &[
    Group { id: "stuck", title: "a goroutine that nothing will ever wake" },
    Group { id: "watch", title: "things that run until they are stopped" },
    Group { id: "handoff", title: "what two sides still share after one has left" },
    Group { id: "context", title: "blocking where no cancellation reaches" },
    Group { id: "suppression", title: "directives that suppress findings" },
];

/// A rule whose page has been read.
pub struct Entry {
    /// The rule.
    pub rule: &'static Rule,
    /// Its page.
    pub page: Page,
}

/// All rules with their pages, sorted by id.
pub fn registry() -> &'static [Entry] {
    static REGISTRY: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let entry = |rule: &'static Rule| Entry {
            page: Page::parse(rule.page)
                .unwrap_or_else(|error| panic!("pages are tested to parse: {error}")),
            rule,
        };
        ALL.iter().map(entry).collect()
    });
    &REGISTRY
}

/// The rule called `id`.
pub fn find(id: &str) -> Option<&'static Entry> {
    registry().iter().find(|entry| entry.page.id == id)
}

/// Whether findings of `winner` replace those of `loser` on the same defect: its page says so, or
/// the page of a rule that it replaces does.
pub fn supersedes(winner: &str, loser: &str) -> bool {
    let mut seen: Vec<&str> = vec![winner];
    let mut next = 0;
    while let Some(&rule) = seen.get(next) {
        next += 1;
        for &superseded in find(rule).map_or(&[][..], |entry| &entry.page.supersedes) {
            if superseded == loser {
                return true;
            }
            if !seen.contains(&superseded) {
                seen.push(superseded);
            }
        }
    }
    false
}
