//! Constructors of the run whose result somebody has to end: they start a goroutine that goes on
//! until a method of the result says stop.

use rustc_hash::FxHashMap;

use crate::index::{Callee, FuncId, Type, TypeDecl};
use crate::source::Location;
use crate::summary::effect::{Act, Deed, Mode};
use crate::summary::function::{BodyId, Function};
use crate::summary::place::{Place, Root};
use crate::summary::{Read, Summaries};
use crate::syntax::{ExprId, Symbol};

/// A result that holds a goroutine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Which result.
    pub result: u32,
    /// Where the goroutine is started.
    pub started: Location,
    /// The channel or context within the result that every way out of the goroutine looks at.
    pub stop: Vec<Symbol>,
    /// The methods of the result that close that channel, send on it, or call a function that is
    /// stored beside it, sorted by name; never empty.
    pub ends: Vec<Symbol>,
}

/// How many calls are followed from a function to the constructor whose result it returns.
const MAX_WRAPPERS: u32 = 8;

impl<'a> Summaries<'a> {
    /// The resources that a function of the run gives to its callers.
    pub fn resources(&self, func: FuncId) -> Vec<Resource> {
        self.resources_within(func, MAX_WRAPPERS, &mut FxHashMap::default())
    }

    /// `known` holds the answers for this question so far, so that each function is asked once.
    fn resources_within(
        &self,
        func: FuncId,
        wrappers: u32,
        known: &mut FxHashMap<FuncId, Vec<Resource>>,
    ) -> Vec<Resource> {
        if let Some(known) = known.get(&func) {
            return known.clone();
        }
        // One that is asked for itself has nothing to add.
        known.insert(func, Vec::new());
        let Some(read) = self.read(func) else { return Vec::new() };
        let mut found: Vec<Resource> = Vec::new();
        for returned in &read.effects(BodyId::OWN).effects {
            let Act::Returned(result) = returned.act else { continue };
            let told = found.iter().any(|resource| resource.result == result);
            if told || !returned.place.path.is_empty() {
                continue;
            }
            match returned.place.root {
                Root::Made(made) if !is_kept(&read, returned.place.root) => {
                    found.extend(self.started_in(&read, made, result));
                }
                Root::Call(call, of_callee)
                    if wrappers > 0 && !is_kept(&read, returned.place.root) =>
                {
                    let Callee::Func(callee) = read.function.info.callee(call) else { continue };
                    let inner = self.resources_within(*callee, wrappers - 1, known);
                    let inner = inner.into_iter().find(|inner| inner.result == of_callee);
                    found.extend(inner.map(|inner| Resource { result, ..inner }));
                }
                _ => {}
            }
        }
        known.insert(func, found.clone());
        found
    }

    /// What is made here, if a goroutine that is started here stays until a method of it is
    /// called.
    fn started_in(&self, read: &Read<'a>, made: ExprId, result: u32) -> Option<Resource> {
        let function = &read.function;
        for effect in &read.effects(BodyId::OWN).effects {
            let waits = matches!(effect.act, Act::Received(_) | Act::Drained);
            if effect.mode != Mode::Spawned || !effect.sure || !waits {
                continue;
            }
            if effect.place.root != Root::Made(made) || effect.place.path.is_empty() {
                continue;
            }
            let ends = self.ends(function, made, &effect.place.path);
            if !ends.is_empty() {
                let span = function.step(effect.at).span(function.file);
                let started = Location { file: function.file_id, span };
                let stop = effect.place.path.to_vec();
                return Some(Resource { result, started, stop, ends });
            }
        }
        None
    }

    /// The methods of the type of `made` that end what looks at its part `stop`.
    fn ends(&self, function: &Function<'_>, made: ExprId, stop: &[Symbol]) -> Vec<Symbol> {
        let ty = function.info.type_of(made);
        let Some(named) = ty.named() else { return Vec::new() };
        let TypeDecl::Global(object) = named.decl else { return Vec::new() };
        let fields = match self.index.underlying(ty.strip_pointer()) {
            Type::Struct(fields) => fields,
            _ => return Vec::new(),
        };
        let is_cancel = |name: Symbol| {
            fields.fields.iter().find(|field| field.name == name).is_some_and(|field| {
                let plain = |ty: &Type| match ty {
                    Type::Func(signature) => {
                        signature.params.is_empty() && signature.results.is_empty()
                    }
                    _ => false,
                };
                field.ty.is_named("context", "CancelFunc") || plain(&field.ty)
            })
        };
        let of_context = stop.last().is_some_and(|name| name.as_str() == "Done()");
        let stops = |deed: &Deed| match (deed.act, &deed.place.path[..]) {
            _ if deed.place.root != Root::Receiver => false,
            (Act::Closed | Act::SentTo(_), path) => path == stop,
            (Act::Called, [field]) => of_context && is_cancel(*field),
            _ => false,
        };
        let methods = self.index.package(object.package).methods(named.name);
        let mut ends: Vec<Symbol> = methods
            .filter(|method| {
                self.of(method.id).is_some_and(|summary| summary.deeds.iter().any(stops))
            })
            .map(|method| method.name)
            .collect();
        ends.sort_by_key(|name| name.as_str());
        ends.dedup();
        ends
    }
}

/// Whether a function keeps what it returns: it stores it where others find it too, or gives it to
/// code that may.
fn is_kept(read: &Read<'_>, root: Root) -> bool {
    let whole = Place::root(root);
    let made = matches!(root, Root::Made(_));
    read.effects(BodyId::OWN).effects.iter().any(|effect| {
        effect.place == whole
            && match effect.act {
                Act::Stored | Act::Sent => true,
                // What is made here may well give itself to its own goroutines.
                Act::Passed | Act::Captured => !made,
                _ => false,
            }
    })
}
