//! `watch-not-drained`: a consumer that leaves a watch with `Stop` alone, while the producer's send
//! knows nothing of `Stop`.

mod producer;
mod worker;

use crate::catalog::Gate;
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::rules::scene::Scene;
use crate::rules::watch::life::{self, Leaving};
use crate::rules::watch::{self, Opening, Watch};
use crate::rules::{Check, FunctionCx, PackageCx, Rule};
use crate::source::Span;
use crate::syntax::Node;

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/watch-not-drained.md"), check: Check::Package(check) };

/// How many ways out a finding shows besides the first.
const SHOWN: usize = 3;

fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let funcs = package.index.package(package.package).funcs.iter();
    for func in funcs.filter(|func| package.counts_in(func)) {
        let cx = FunctionCx { package: *package, func: func.id };
        let (consumes, produces) = (watch::may_have_any(&cx), producer::may_be(&cx));
        if !consumes && !produces {
            continue;
        }
        let Some(scene) = Scene::new(cx) else { continue };
        if consumes {
            consumers(&scene, findings);
        }
        if produces {
            producer::check(&scene, findings);
        }
    }
}

fn consumers(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let watches = Watch::all(scene);
    if watches.is_empty() || watch::is_about_tests(scene) {
        return;
    }
    for watch in watches {
        if watch.owner.is_none() && watch::is_main(scene) {
            continue;
        }
        for opening in watch.openings(scene) {
            if !watch::needs_stop(scene, opening.call) {
                continue;
            }
            let Some(producer) = watch::producer(scene, &watch, &opening) else { continue };
            let confidence = match producer.gate.holds(scene.cx.versions()) {
                Some(true) => Confidence::High,
                Some(false) => continue,
                None => Confidence::Low,
            };
            findings.extend(left(scene, &watch, &opening, &producer.gate, confidence));
        }
    }
}

fn left(
    scene: &Scene<'_>,
    watch: &Watch,
    opening: &Opening,
    gate: &Gate,
    confidence: Confidence,
) -> Option<Finding> {
    let graph = scene.graph(watch.owner)?;
    let paths = life::exits(scene, &graph, watch, Some(opening), Leaving::StoppedWithEvents);
    let mut exits: Vec<Span> =
        paths.iter().map(|path| life::exit_span(scene, watch, path)).collect();
    exits.sort_unstable();
    let (&first, others) = exits.split_first()?;
    let name = watch.name;
    let message = format!(
        "leaving `{name}` with `{name}.Stop()` alone: the goroutine behind it sends its next event \
         to nobody, and stays"
    );
    let mut finding = scene.cx.finding(first, "nobody receives from here on", message);
    finding.confidence = confidence;
    let label = |span: Span, role: Role, message: String| Label {
        location: scene.cx.location(span),
        role,
        message,
    };
    let call = scene.span(Node::Expr(opening.call));
    finding.defect = scene.cx.location(call);
    finding.labels.push(label(call, Role::Started, "the goroutine starts here".to_owned()));
    finding.labels.extend(
        others.iter().take(SHOWN).map(|&span| label(span, Role::Left, "left here too".to_owned())),
    );
    finding.labels.sort_by_key(|label| label.location.span.start);
    let module = &gate.module;
    let selected = match scene.cx.versions().module(module) {
        Some(version) => format!("{module} {version} is selected"),
        None => format!("the version of {module} is not known"),
    };
    let until = gate.until.as_ref().map_or_else(String::new, |until| format!(" {}", until.version));
    finding.why = format!(
        "`Stop` closes the connection and receives nothing; before {module}{until} the goroutine \
         sends each event without looking whether it was stopped ({selected})"
    );
    finding.help = format!(
        "require {module}{until} or later, or drain: `defer func() {{ {name}.Stop(); for range \
         {name}.ResultChan() {{}} }}()`"
    );
    Some(finding)
}
