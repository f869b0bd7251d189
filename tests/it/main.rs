//! The one test binary: each module is an area.

mod harness;

mod adopt;
mod cache;
mod catalog;
mod chain;
mod cli;
mod config;
mod docs;
mod doubtful;
mod editors;
mod explore;
mod facts;
mod fixes;
mod fixtures;
mod flow;
mod fuzz;
mod hostile;
mod index;
mod layering;
mod lsp;
mod once;
mod oracle;
mod oracle_ast;
mod order;
mod output;
mod pages;
mod program;
mod project;
mod real;
mod robustness;
mod schedules;
mod summary;
mod supply;
mod suppress;
mod syntax;
