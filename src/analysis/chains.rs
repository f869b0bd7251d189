//! The chains of filters that a program builds, with what each filter does: what one wants to have
//! open when a server is reviewed. Nothing is judged here.

use rayon::prelude::*;

use crate::catalog::Catalog;
use crate::diagnostic::Note;
use crate::index::{Func, Index};
use crate::project::{PackageId, Snapshot};
use crate::rules::chain::{self, Chain, Kind, Link};
use crate::rules::filter::{FilterFacts, Given, HeaderRead, Known, StateUse};
use crate::rules::memo::Memo;
use crate::rules::{Asked, EVERYWHERE, FunctionCx, PackageCx, registry};
use crate::source::{FileId, Location};
use crate::summary::Summaries;

use super::trees::{self, Forest};
use super::{Progress, guard, report, versions};

/// What was found.
pub struct Chains {
    /// The chains, by path and line.
    pub chains: Vec<ToldChain>,
    /// What could not be read or was left out.
    pub notes: Vec<Note>,
}

/// One chain.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToldChain {
    /// Where the function that builds it is declared.
    pub at: Place,
    /// The name of that function.
    pub function: String,
    /// Whether its filters are registered with a router, instead of being given one another.
    pub registered: bool,
    /// The code that the innermost filter is given, or of the router.
    pub handler: Option<String>,
    /// The filters, outermost first.
    pub filters: Vec<FilterRow>,
}

/// One filter.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilterRow {
    /// What the code calls it.
    pub name: String,
    /// Where it becomes a part of the chain.
    pub at: Place,
    /// Whether there are ways on which it does not.
    pub conditional: bool,
    /// Where its handler stands, if that is known.
    pub body: Option<Place>,
    /// Whether anything is known of it: by its body, or by the catalog.
    pub known: bool,
    /// What the inner side gets of the request: `same`, `derived`, `own`; `None` if not known.
    pub request: Option<&'static str>,
    /// The same of the response writer.
    pub writer: Option<&'static str>,
    /// What else it does.
    pub facts: Vec<Fact>,
}

/// Something that a filter does.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// Its name, in kebab-case.
    pub id: &'static str,
    /// It, for people.
    pub told: String,
    /// Where, if that is known.
    pub at: Option<Place>,
}

/// A place for people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The path, as it is shown.
    pub path: String,
    /// The line, counted from 1.
    pub line: u32,
}

/// The chains that functions build which were asked for, tests left out. Called inside
/// [`on_threads`](super::on_threads).
pub fn chains(snapshot: &Snapshot, catalog: &Catalog) -> Chains {
    let mut notes = snapshot.notes.clone();
    let forest = Forest::new(snapshot, &trees::Known::default());
    let files: Vec<FileId> = snapshot.files.iter().map(|file| file.id).collect();
    forest.grow(&files, &Progress::default());
    notes.extend(files.iter().filter_map(|&file| forest.parsed(file).1.clone()));
    let asked = Asked::default();
    let index = Index::new(snapshot, &forest, catalog);
    let built_with = snapshot.packages.iter().map(|package| versions(snapshot, package));
    let summaries = Summaries::new(&index, catalog, built_with.collect());
    let memos: Vec<Memo> = snapshot.packages.iter().map(|_| Memo::default()).collect();
    let of_package = |&id: &PackageId| {
        let package = snapshot.package(id);
        let page = &registry().first().expect("there are rules").page;
        let package = PackageCx {
            page,
            index: &index,
            catalog,
            versions: versions(snapshot, package),
            summaries: &summaries,
            asked: &asked,
            doubtful: false,
            memo: &memos[id.0 as usize],
            counted: &EVERYWHERE,
            package: id,
        };
        let found = in_package(snapshot, &package);
        summaries.forget(id);
        memos[id.0 as usize].forget();
        found
    };
    let mut chains: Vec<ToldChain> =
        summaries.order().iter().par_bridge().flat_map_iter(of_package).collect();
    chains.sort();
    chains.dedup();
    notes.extend(snapshot.dependency_notes());
    Chains { chains, notes: report::sorted_notes(notes) }
}

fn in_package(snapshot: &Snapshot, package: &PackageCx<'_>) -> Vec<ToldChain> {
    let asked = &snapshot.package(package.package).report;
    let of_server = |func: &&Func| asked.contains(&func.file) && !snapshot.file(func.file).test;
    let funcs = package.index.package(package.package).funcs.iter().filter(of_server);
    let mut found = Vec::new();
    for func in funcs {
        let cx = FunctionCx { package: *package, func: func.id };
        // What is too hard in one function need not be missed in the others.
        let chains = guard::run(|| chain::of_function(&cx)).unwrap_or_default();
        found.extend(chains.iter().map(|chain| told(snapshot, &cx, chain)));
    }
    found
}

fn told(snapshot: &Snapshot, cx: &FunctionCx<'_>, chain: &Chain) -> ToldChain {
    let declared = cx.declared();
    let place = |location: Location| place(snapshot, location);
    let rows = chain.links.iter().rev().map(|link| row(link, &link.facts(cx), &place));
    ToldChain {
        at: place(cx.location(cx.file().decl(declared.decl).span)),
        function: match declared.qualified.receiver {
            Some(receiver) => format!("{receiver}.{}", declared.name),
            None => declared.name.to_string(),
        },
        registered: chain.kind == Kind::Registered,
        handler: chain.handler.clone(),
        filters: rows.collect(),
    }
}

fn place(snapshot: &Snapshot, location: Location) -> Place {
    let file = snapshot.file(location.file);
    Place { path: file.display.clone(), line: file.text.position(location.span.start).line }
}

fn row(link: &Link, known: &FilterFacts, place: &dyn Fn(Location) -> Place) -> FilterRow {
    let given = |given| match given {
        Given::Unknown => None,
        Given::Same => Some("same"),
        Given::Derived => Some("derived"),
        Given::Own => Some("own"),
    };
    FilterRow {
        name: link.name.clone(),
        at: place(link.at),
        conditional: link.conditional,
        body: match known.known {
            Known::Body(at) => Some(place(at)),
            _ => None,
        },
        known: known.known != Known::Nothing,
        request: given(known.request),
        writer: given(known.writer),
        facts: facts(known, place),
    }
}

fn facts(known: &FilterFacts, place: &dyn Fn(Location) -> Place) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |id, told: String, at: Option<Location>| {
        facts.push(Fact { id, told, at: at.map(place) });
    };
    if let Some(hands_off) = known.hands_off {
        let request = match hands_off.request {
            Given::Same => "the same request",
            Given::Derived => "a request with the same header map",
            Given::Own => "a request of its own",
            Given::Unknown => "a request that is not known",
        };
        let writer = match hands_off.writer {
            Given::Same => "the same writer",
            Given::Derived | Given::Own => "a writer of its own",
            Given::Unknown => "a writer that is not known",
        };
        add("hands-off", format!("hands off, with {request} and {writer}"), hands_off.at);
    }
    if let Some(stash) = known.stashes {
        add("stashes-writer", "keeps its writer in the context".to_owned(), stash.at);
    }
    for HeaderRead { told } in &known.reads_after {
        let text = match told {
            Some(told) => format!("reads request headers after next: `{}`", told.code),
            None => "reads request headers after next".to_owned(),
        };
        add("reads-header-after", text, told.as_ref().map(|told| told.read));
    }
    let mut named: Vec<&str> = Vec::new();
    for StateUse { used, name, .. } in &known.state_after {
        if !named.contains(&&*used.code) {
            named.push(&used.code);
            let text = format!(
                "uses `{}` after next, which the inner side changes through the `{name}` in the context",
                used.code
            );
            add("uses-state-after", text, Some(used.owner));
        }
    }
    if let Some(at) = known.changes_request {
        add("changes-request-header", "changes request headers".to_owned(), Some(at));
    }
    if let Some(at) = known.answers_before {
        add("response-before", "touches the response before next".to_owned(), Some(at));
    }
    if let Some(at) = known.answers_after {
        add("response-after", "touches the response after next".to_owned(), Some(at));
    }
    if known.recovers {
        add("recovers", "recovers panics".to_owned(), None);
    }
    facts
}
