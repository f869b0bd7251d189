//! What holds for any input at all: each target takes bytes, makes of them what its module says, and
//! panics where a promise is broken. The crate in `fuzz/` looks for such bytes; what it has found is
//! kept in `fixtures/fuzz` and tried again by each run of the tests.

pub mod cache_entry;
pub mod check;
pub mod choices;
pub mod config;
pub mod editor;
pub mod edits;
pub mod modules;
pub mod pack;
#[cfg(test)]
mod replay;
pub mod soup;

/// Takes any bytes, and panics where a promise is broken.
pub type Target = fn(&[u8]);

/// The targets by their names.
pub const TARGETS: &[(&str, Target)] = &[
    ("check", check::target),
    ("soup", soup::target),
    ("edits", edits::target),
    ("lsp", editor::target),
    ("config", config::target),
    ("modules", modules::target),
    ("cache", cache_entry::target),
    ("facts", pack::target),
];
