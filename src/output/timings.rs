//! Where the time of a run went: a table for people, and one line of JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use crate::analysis::Taken;
use crate::output::json_text;

/// Of how many hundredths of the roots it is told how long they took.
const PARTS: [usize; 3] = [50, 99, 100];

/// Writes a table: the phases in their order, then exploring and the rules, slowest first.
pub fn write(taken: &Taken, out: &mut dyn Write) -> io::Result<()> {
    let mut row =
        |name: &str, time: Duration| writeln!(out, "{name:<32} {:>9.3} s", time.as_secs_f64());
    for &(name, time) in &taken.phases {
        row(name, time)?;
    }
    let mut checks: Vec<(&str, Duration)> =
        taken.rules.iter().map(|(&rule, &time)| (rule, time)).collect();
    checks.push(("exploring", taken.exploring));
    checks.sort_by_key(|&(name, time)| (std::cmp::Reverse(time), name));
    for (name, time) in checks {
        row(&format!("  {name}"), time)?;
    }
    let explored = &taken.explored;
    write!(
        out,
        "explored: {} roots completely, {} up to a bound; {} states, {} instructions",
        explored.complete, explored.cut, explored.states, explored.steps
    )?;
    if let Some(roots) = taken.of_roots(PARTS) {
        let [half, most, all] = roots.map(|time| time.as_secs_f64() * 1000.0);
        write!(
            out,
            "; half of the roots took up to {half:.2} ms, 99 of 100 up to {most:.1} ms, the longest {all:.0} ms"
        )?;
    }
    writeln!(out)
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    /// Seconds by the clock, in the order of the phases.
    phases: Vec<Phase<'a>>,
    /// Seconds summed over all threads.
    rules: BTreeMap<&'a str, f64>,
    exploring: Exploring,
}

#[derive(Serialize)]
struct Phase<'a> {
    name: &'a str,
    seconds: f64,
}

#[derive(Serialize)]
struct Exploring {
    seconds: f64,
    complete: u64,
    cut: u64,
    states: u64,
    instructions: u64,
    /// Seconds that half of the roots took at most, 99 of 100, and all of them.
    half: Option<f64>,
    most: Option<f64>,
    longest: Option<f64>,
}

/// Writes one line of JSON.
pub fn write_json(taken: &Taken, out: &mut dyn Write) -> io::Result<()> {
    let phase =
        |&(name, time): &(&'static str, Duration)| Phase { name, seconds: time.as_secs_f64() };
    let explored = &taken.explored;
    let roots = taken.of_roots(PARTS).map(|roots| roots.map(|time| time.as_secs_f64()));
    let [half, most, longest] = roots.map_or([None; 3], |roots| roots.map(Some));
    let document = Document {
        schema_version: 1,
        phases: taken.phases.iter().map(phase).collect(),
        rules: taken.rules.iter().map(|(&rule, time)| (rule, time.as_secs_f64())).collect(),
        exploring: Exploring {
            seconds: taken.exploring.as_secs_f64(),
            complete: explored.complete,
            cut: explored.cut,
            states: explored.states,
            instructions: explored.steps,
            half,
            most,
            longest,
        },
    };
    json_text::write(&document, out)
}
