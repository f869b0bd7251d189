//! Go source text to a compact, owned tree of one file. The only room that knows tree-sitter.
//!
//! [`parse`] never fails: what cannot be understood becomes a *missing* node and a [`SyntaxError`].
//! The tree follows the Go specification's productions, with the simplifications of `go/ast`:
//! types are expressions (so that `x[T]` and `T(x)` need no knowledge of what `T` is), and
//! declarations of several names are flattened into one [`Decl`] for each specification.
//!
//! Nodes live in one arena per file and are named by index ([`ExprId`], [`StmtId`]). The bodies of
//! declared functions are asked for through [`File::body`]; a body may have been left out of the
//! parse, so nobody may assume it.

pub mod ast;
mod causes;
mod excerpt;
mod intern;
mod lazy;
mod lex;
pub mod literal;
mod lower;
mod mask;
pub mod outline;
mod parse;
mod print;
mod surface;
mod walk;

pub use ast::*;
pub use intern::Symbol;
pub use lazy::{Declared, LazyFile};
pub use lower::MAX_DEPTH;
pub use outline::{Features, Outline, OutlineDecl, OutlineKind, outline};
pub use parse::{Former, may_be_generated, parse, parse_edited};
pub use print::print;
pub use surface::{Functions, functions, surface};
pub use walk::{Descendants, Node, Parents};
