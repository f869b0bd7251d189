//! The routers of a function, and of those that it calls: which filters each has, and which of them
//! is made out of which.

use crate::catalog::{Inherits, Order};
use crate::index::FuncId;
use crate::rules::chain::{Chain, Kind, Link, MAX_LINKS};
use crate::summary::{At, Place, Root};
use crate::syntax::Symbol;

/// How many routers are made out of one another.
const MAX_NESTED: usize = 32;

/// A function that is read: where it is called, and what it is given there.
#[derive(Default)]
pub(super) struct Frame<'w> {
    /// The function that was asked about has 0, each call that was followed one of its own.
    pub number: u32,
    /// What its receiver is in its caller.
    pub receiver: Option<Id>,
    /// What its parameters are there.
    pub params: Vec<Option<Id>>,
    /// The calls on the way to it.
    pub way: &'w [(FuncId, At)],
}

impl Frame<'_> {
    /// What a place of its function is.
    pub fn id(&self, place: &Place) -> Id {
        let given = match place.root {
            Root::Receiver => self.receiver.as_ref(),
            Root::Param(param) => self.params.get(param as usize).and_then(Option::as_ref),
            Root::Global(_) => return Id::Thing(0, place.clone()),
            _ => None,
        };
        match given {
            Some(given) => place.path.iter().fold(given.clone(), |id, &name| id.field(name)),
            None => Id::Thing(self.number, place.clone()),
        }
    }
}

/// What tells one router from another: a thing of one of the functions that are read, or the code
/// where that is not known.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Id {
    Thing(u32, Place),
    Text(u32, String),
}

impl Id {
    /// A field of it.
    pub fn field(self, name: Symbol) -> Id {
        match self {
            Id::Thing(frame, place) => Id::Thing(frame, place.field(name)),
            Id::Text(frame, text) => Id::Text(frame, format!("{text}.{name}")),
        }
    }
}

/// What filters are added to.
pub(super) struct Added {
    pub to: Id,
    /// Whether they stand outside of what is added in other ways.
    pub outside: bool,
    pub order: Order,
    /// What the code calls the router.
    pub title: String,
}

/// The routers, in the order in which they are seen.
#[derive(Default)]
pub(super) struct Routers(Vec<Router>);

struct Router {
    id: Id,
    outside: bool,
    order: Order,
    title: String,
    /// The filters, in the order in which they are added.
    links: Vec<Link>,
    /// The router that this one is made out of, and how many filters of that it passes.
    outer: Option<(Id, usize)>,
}

impl Routers {
    /// Adds filters to a router.
    pub fn add(&mut self, added: Added, links: Vec<Link>) {
        let Added { to: id, outside, order, title } = added;
        let known = self.0.iter().position(|router| router.id == id && router.outside == outside);
        let at = known.unwrap_or_else(|| {
            self.0.push(Router { id, outside, order, title, links: Vec::new(), outer: None });
            self.0.len() - 1
        });
        self.0[at].links.extend(links);
        self.0[at].links.truncate(MAX_LINKS);
    }

    /// Makes a router out of another one.
    pub fn derive(&mut self, own: &Id, outer: &Id, inherits: Inherits, title: &str) {
        if self.knows(own) {
            return;
        }
        let limit = match inherits {
            Inherits::All => usize::MAX,
            Inherits::Before => self.find(outer, false).map_or(0, |outer| outer.links.len()),
        };
        self.0.push(Router {
            id: own.clone(),
            outside: false,
            order: Order::OutermostFirst,
            title: title.to_owned(),
            links: Vec::new(),
            outer: (own != outer).then(|| (outer.clone(), limit)),
        });
    }

    /// Gives a router another name, for what is done with it from here on.
    pub fn same(&mut self, own: &Id, known: &Id) {
        let title = self.find(known, false).map_or_else(String::new, |known| known.title.clone());
        self.derive(own, known, Inherits::All, &title);
    }

    /// Whether anything was done with a router.
    pub fn knows(&self, id: &Id) -> bool {
        self.find(id, false).is_some()
    }

    fn find(&self, id: &Id, outside: bool) -> Option<&Router> {
        self.0.iter().find(|router| router.id == *id && router.outside == outside)
    }

    /// The chains of the routers that have filters of their own.
    pub fn chains(self) -> Vec<Chain> {
        // What stands outside of a router is told with it.
        let is_told = |router: &Router| router.outside && self.knows(&router.id);
        let own = self.0.iter().filter(|router| !router.links.is_empty() && !is_told(router));
        let chain = |router: &Router| Chain {
            kind: Kind::Registered,
            handler: Some(router.title.clone()),
            links: self.passed(router),
            start: None,
            innermost: None,
            returned: false,
        };
        own.map(chain).filter(|chain| !is_of_one_call(&chain.links)).collect()
    }

    /// The filters that the requests of a router pass, innermost first.
    fn passed(&self, router: &Router) -> Vec<Link> {
        let mut passed = Vec::new();
        let mut next = Some((router, usize::MAX));
        for _ in 0..MAX_NESTED {
            let Some((router, limit)) = next else { break };
            passed.extend(router.innermost_first(limit));
            if !router.outside
                && let Some(outside) = self.find(&router.id, true)
            {
                passed.extend(outside.innermost_first(usize::MAX));
            }
            next =
                router.outer.as_ref().and_then(|(id, limit)| Some((self.find(id, false)?, *limit)));
        }
        passed.truncate(MAX_LINKS);
        passed
    }
}

/// Whether all filters are registered by one call of another function, which tells of them itself.
fn is_of_one_call(links: &[Link]) -> bool {
    match links.first().map(|first| &first.way[..]) {
        Some([call, _, ..]) => links.iter().all(|link| link.way.first() == Some(call)),
        _ => false,
    }
}

impl Router {
    fn innermost_first(&self, limit: usize) -> Vec<Link> {
        let mut links = self.links[..limit.min(self.links.len())].to_vec();
        if self.order == Order::OutermostFirst {
            links.reverse();
        }
        links
    }
}
