//! straggler finds goroutines left behind in Go source.
//!
//! The rooms of the house, in the order in which they may use each other, are listed in
//! `docs/ARCHITECTURE.md`; a module uses only modules declared above it here.

#![forbid(unsafe_code)]

pub mod source;

pub mod diagnostic;

pub mod config;

pub mod catalog;

pub mod syntax;

pub mod project;

pub mod index;

pub mod flow;

pub mod summary;

pub mod cache;

pub mod program;

pub mod explore;

pub mod rules;

pub mod analysis;

pub mod output;

pub mod lsp;

pub mod cli;
