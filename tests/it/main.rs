//! The one test binary: each module is an area.

mod flow;
mod syntax;
