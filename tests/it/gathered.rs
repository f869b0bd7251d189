//! Channels that who receives has left, by what the package tells of how they are used: pairs that differ in little.

use crate::cli::{found, module, straggler, tells};

/// Compares what a run tells of one file, at any confidence.
#[track_caller]
fn check(source: &str, expected: &[&str]) {
    tells(&[("m.go", source)], expected);
}

/// Compares what a run says is to be done in one file.
#[track_caller]
fn helps(source: &str, expected: &[&str]) {
    let module = module(&[("m.go", source)]);
    let run = straggler(module.path()).args(["check", "--no-cache", "--format", "jsonl"]).output();
    assert_eq!(found(run.expect("straggler runs"), ["rule", "help"]), expected, "of {source}");
}

const BATCH: &str = r#"package m

import "sync"

func Each(all []string, skip func(string) bool, work func(string)) {
	var chosen []string
	for _, one := range all {
		if skip(one) {
			continue
		}
		chosen = append(chosen, one)
	}
	var wg sync.WaitGroup
	wg.Add(len(all))
	for i := range chosen {
		go func(i int) {
			defer func() {
				wg.Done()
			}()
			work(chosen[i])
		}(i)
	}
	wg.Wait()
}
"#;

#[test]
fn a_count_of_all_for_those_that_were_chosen() {
    check(BATCH, &["m.go:23 waitgroup-unbalanced high"]);
    helps(BATCH, &["m.go:23 waitgroup-unbalanced count what is started: `wg.Add(len(chosen))`"]);
    check(&BATCH.replace("wg.Add(len(all))", "wg.Add(len(chosen))"), &[]);
    // No turn goes on without it.
    check(&BATCH.replace("continue", "one = one[1:]"), &[]);
    // What was left out is noted, and is why nothing is started.
    let noted = BATCH
        .replace("continue", "failed = true\n\t\t\tcontinue")
        .replace("\tvar chosen", "\tfailed := false\n\tvar chosen")
        .replace("\tvar wg", "\tif failed {\n\t\treturn\n\t}\n\tvar wg");
    check(&noted, &[]);
    let compared = "\tif len(chosen) != len(all) {\n\t\treturn\n\t}\n\tvar wg";
    check(&BATCH.replace("\tvar wg", compared), &[]);
    // The rest is counted down apart.
    let rest = "\tfor range len(all) - len(chosen) {\n\t\twg.Done()\n\t}\n\twg.Wait()";
    check(&BATCH.replace("\twg.Wait()", rest), &[]);
}

/// Whoever mends one of them has to know of the other.
#[test]
fn each_goroutine_that_leaves_without_counting_itself_down() {
    let source = |first: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nfunc Both(one, other func() error) {{\n\tvar wg sync.WaitGroup\n\twg.Add(2)\n\
             \tgo func() {{\n\t\tif one() != nil {{\n{first}\t\t\treturn\n\t\t}}\n\t\twg.Done()\n\t}}()\n\
             \tgo func() {{\n\t\tif other() != nil {{\n\t\t\treturn\n\t\t}}\n\t\twg.Done()\n\t}}()\n\
             \twg.Wait()\n}}\n"
        )
    };
    let each =
        "m.go:20 waitgroup-unbalanced `defer wg.Done()` as the first statement of each goroutine";
    helps(&source(""), &[each]);
    let the =
        "m.go:21 waitgroup-unbalanced `defer wg.Done()` as the first statement of the goroutine";
    helps(&source("\t\t\twg.Done()\n"), &[the]);
}
