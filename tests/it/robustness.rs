//! Bad input: one clear message each, with its place, and the rest of the run goes on.

mod edits;
mod parse;
mod repeated;
mod run;
