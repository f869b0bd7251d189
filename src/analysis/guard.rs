//! Panics as values.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What `work` gives, or what it said and where when it panicked. The panic prints nothing.
///
/// `work` may leave nothing half-done behind that anybody looks at afterwards: what it was
/// building is dropped with it, and the memos of the lower rooms are filled in whole or not at all.
pub fn run<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    install_hook();
    let outer = GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.map_err(|payload| format!("{} at {}", message(payload.as_ref()), PLACE.take()))
}

/// Makes guarded panics silent, once for the process; others go where they went before.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                return before(info);
            }
            let place = info.location().map_or_else(String::new, ToString::to_string);
            PLACE.set(place);
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_its_message_and_place() {
        let error = run(|| panic!("no {}", "way")).expect_err("a panic");
        assert!(error.starts_with("no way at src/analysis/guard.rs:"), "{error}");
        assert_eq!(run(|| 7), Ok(7));
    }
}
