//! What callers are told of a function that does very much.
//!
//! In a program where everything calls everything, each function does in the end whatever any other
//! does. Told in full, that grows with the square of the program and helps nobody.

use crate::summary::effect::{Act, Deed, Mode};
use crate::summary::place::{Place, Root};

/// How many deeds on the receiver or one parameter are told.
const MAX_OF_ROOT: usize = 128;
/// How many deeds on variables of package level are told.
const MAX_OF_GLOBALS: usize = 96;

/// The deeds that callers are told of, sorted, from all that a function does to what they have,
/// sorted. A parameter to which too much is done counts as given to code of which nothing is known;
/// what is done to its channels and the like is still told, as far as that is not too much either.
pub(super) fn told(deeds: Vec<Deed>) -> Vec<Deed> {
    let mut told = Vec::new();
    let mut globals = Vec::new();
    for of_root in deeds.chunk_by(|a, b| a.place.root == b.place.root) {
        match of_root[0].place.root {
            // A variable of package level is in everybody's hands anyway.
            Root::Global(_) => {
                globals.extend(of_root.iter().filter(|deed| !deed.act.escapes()).cloned());
            }
            _ if of_root.len() <= MAX_OF_ROOT => told.extend_from_slice(of_root),
            root => {
                told.push(Deed {
                    place: Place::root(root),
                    act: Act::Passed,
                    mode: Mode::Now,
                    always: false,
                });
                let signals = of_root.iter().filter(|deed| is_signal(deed.act));
                told.extend(signals.take(MAX_OF_ROOT).cloned());
            }
        }
    }
    if globals.len() > MAX_OF_GLOBALS {
        globals.retain(|deed| is_signal(deed.act));
    }
    // Their order depends on numbers of packages, so either all are told or none.
    if globals.len() > MAX_OF_GLOBALS {
        globals.clear();
    }
    told.extend(globals);
    told.sort_unstable_by(|a, b| (&a.place, a.act, a.mode).cmp(&(&b.place, b.act, b.mode)));
    told
}

/// Whether another goroutine may wait for the act, or the act for another goroutine.
fn is_signal(act: Act) -> bool {
    match act {
        Act::Called | Act::Closed | Act::SentTo(_) | Act::Received(_) | Act::Drained => true,
        Act::Method(name) => matches!(name.as_str(), "Wait" | "Done" | "Stop" | "Close"),
        Act::Touched(..) => true,
        Act::Returned(_) | Act::Stored | Act::Sent | Act::Captured | Act::Passed => false,
    }
}
