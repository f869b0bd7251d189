//! Control-flow graphs: a body in, the printed graph out.

use straggler::flow::{CallEnd, Cfg, Ends, Path, Start, Step, StepId};
use straggler::source::SourceText;
use straggler::syntax::{self, Body, ExprId, ExprKind, File};

fn parse(body: &str) -> File {
    syntax::parse(SourceText::new(format!("package p\nfunc f() {{\n{body}\n}}\n").into_bytes()))
}

fn graph(file: &File) -> Cfg {
    let (_, func) = file.funcs().next().expect("the text declares a function");
    let Body::Parsed(body) = file.body(func) else { panic!("the function has a body") };
    let calls = |call| call_end(file, call);
    let endless = |subject| &*file.source.text(file.expr(subject).span) == "ticker.C";
    Cfg::new(file, body, Ends { calls: &calls, endless: &endless })
}

/// What the tests' calls do, by the names of their callees.
fn call_end(file: &File, call: ExprId) -> CallEnd {
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return CallEnd::Returns };
    match &*file.source.text(file.expr(callee).span) {
        "panic" => CallEnd::Panics,
        "os.Exit" => CallEnd::Never,
        _ => CallEnd::Returns,
    }
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let file = parse(body);
    let cfg = graph(&file);
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
    };
    let actual = cfg.print(&file);
    assert_eq!(lines(&actual), lines(expected), "the graph is\n{actual}");
}

#[test]
fn straight_line() {
    check(
        "
            x := g(h(), <-c)
            x++
            c <- x
        ",
        "
            0:
              call h()
              recv <-c
              call g(h(), <-c)
              x := g(h(), <-c)
              x++
              send c <- x
              exit end
        ",
    );
}

#[test]
fn nothing() {
    check(
        "

        ",
        "
            0:
              exit end
        ",
    );
}

#[test]
fn if_else_joins() {
    check(
        "
            if x := g(); x > 0 {
                a()
            } else if x < 0 {
                b()
            }
            d()
        ",
        "
            0:
              call g()
              x := g()
              eval x > 0
              true -> 1, false -> 2
            1:
              call a()
              -> 4
            2:
              eval x < 0
              true -> 3, false -> 4
            3:
              call b()
              -> 4
            4:
              call d()
              exit end
        ",
    );
}

#[test]
fn conditions_are_split() {
    check(
        "
            if !(a && (b() || !c)) {
                d()
            }
        ",
        "
            0:
              eval a
              true -> 1, false -> 3
            1:
              call b()
              eval b()
              true -> 4, false -> 2
            2:
              eval c
              true -> 3, false -> 4
            3:
              call d()
              -> 4
            4:
              exit end
        ",
    );
}

#[test]
fn values_of_short_circuits_are_split_only_around_steps() {
    check(
        "
            x := a && b
            y := a && b()
            return a || (<-c && d)
        ",
        "
            0:
              x := a && b
              eval a
              true -> 1, false -> 2
            1:
              call b()
              -> 2
            2:
              y := a && b()
              eval a
              true -> 4, false -> 3
            3:
              recv <-c
              -> 4
            4:
              return a || (<-c && d)
              exit return
        ",
    );
}

#[test]
fn for_clause_with_continue_and_break() {
    check(
        "
            for i := 0; i < n(); i++ {
                if a {
                    continue
                }
                if b {
                    break
                }
                d()
            }
        ",
        "
            0:
              i := 0
              -> 1
            1:
              call n()
              eval i < n()
              true -> 2, false -> 6
            2:
              eval a
              true -> 5, false -> 3
            3:
              eval b
              true -> 6, false -> 4
            4:
              call d()
              -> 5
            5:
              i++
              -> 1
            6:
              exit end
        ",
    );
}

#[test]
fn for_ever_never_ends() {
    check(
        "
            for {
                a()
            }
        ",
        "
            0:
              -> 1
            1:
              call a()
              -> 1
        ",
    );
}

#[test]
fn empty_for_ever() {
    check(
        "
            for {
            }
        ",
        "
            0:
              -> 1
            1:
              -> 1
        ",
    );
}

#[test]
fn labels_of_nested_loops() {
    check(
        "
            outer:
            for a {
                for {
                    select {
                    case <-c:
                        continue outer
                    case d <- 1:
                        break outer
                    }
                    break
                }
                e()
            }
        ",
        "
            0:
              -> 1
            1:
              eval a
              true -> 2, false -> 5
            2:
              select
              arm 0 -> 3, arm 1 -> 4
            3:
              comm <-c
              -> 1
            4:
              comm d <- 1
              -> 5
            5:
              exit end
        ",
    );
}

#[test]
fn range_forms() {
    check(
        "
            for range 10 {
                a()
            }
            for i, m[k()] = range seq {
                if i {
                    return
                }
            }
        ",
        "
            0:
              eval 10
              -> 1
            1:
              next 10
              more -> 2, done -> 3
            2:
              call a()
              -> 1
            3:
              eval seq
              -> 4
            4:
              next seq
              more -> 5, done -> 7
            5:
              call k()
              bind i, m[k()]
              eval i
              true -> 6, false -> 4
            6:
              return
              exit return
            7:
              exit end
        ",
    );
}

#[test]
fn only_a_break_leaves_a_range_that_nobody_closes() {
    check(
        "
            for range ticker.C {
                if a() {
                    break
                }
            }
            b()
        ",
        "
            0:
              eval ticker.C
              -> 1
            1:
              next ticker.C
              more -> 2
            2:
              call a()
              eval a()
              true -> 3, false -> 1
            3:
              call b()
              exit end
        ",
    );
}

#[test]
fn select_evaluates_all_channels_first() {
    check(
        "
            select {
            case v := <-a():
                use(v)
            case b() <- e():
            case x[i()], ok = <-c:
                return
            default:
                d()
            }
        ",
        "
            0:
              call a()
              call b()
              call e()
              select
              arm 0 -> 1, arm 1 -> 2, arm 2 -> 3, arm 3 -> 4
            1:
              comm v := <-a()
              call use(v)
              -> 5
            2:
              comm b() <- e()
              -> 5
            3:
              call i()
              comm x[i()], ok = <-c
              return
              exit return
            4:
              call d()
              -> 5
            5:
              exit end
        ",
    );
}

#[test]
fn select_without_clauses_stays() {
    check(
        "
            a()
            select {}
        ",
        "
            0:
              call a()
              select
              stays
        ",
    );
}

#[test]
fn break_leaves_the_select_only() {
    check(
        "
            for {
                select {
                case <-done:
                    break
                case v, ok := <-c:
                    if !ok {
                        return
                    }
                    use(v)
                }
            }
        ",
        "
            0:
              -> 1
            1:
              select
              arm 0 -> 2, arm 1 -> 3
            2:
              comm <-done
              -> 1
            3:
              comm v, ok := <-c
              eval ok
              true -> 4, false -> 5
            4:
              call use(v)
              -> 1
            5:
              return
              exit return
        ",
    );
}

#[test]
fn switch_with_fallthrough_and_default() {
    check(
        "
            switch x := g(); x {
            case 1, k():
                a()
                fallthrough
            case 2:
                b()
            default:
                d()
                break
            }
            e()
        ",
        "
            0:
              call g()
              x := g()
              eval x
              call k()
              eval k()
              case 0 -> 1, case 1 -> 2, case 2 -> 3
            1:
              call a()
              -> 2
            2:
              call b()
              -> 4
            3:
              call d()
              -> 4
            4:
              call e()
              exit end
        ",
    );
}

#[test]
fn switch_without_tag_is_a_ladder() {
    check(
        "
            switch {
            case a:
                f1()
            case b && c, d():
                f2()
            default:
                f3()
            }
        ",
        "
            0:
              eval a
              true -> 1, false -> 2
            1:
              call f1()
              -> 7
            2:
              eval b
              true -> 3, false -> 4
            3:
              eval c
              true -> 5, false -> 4
            4:
              call d()
              eval d()
              true -> 5, false -> 6
            5:
              call f2()
              -> 7
            6:
              call f3()
              -> 7
            7:
              exit end
        ",
    );
}

#[test]
fn default_first_is_decided_last() {
    check(
        "
            switch {
            default:
                f0()
            case a:
                f1()
            }
        ",
        "
            0:
              eval a
              true -> 1, false -> 2
            1:
              call f1()
              -> 3
            2:
              call f0()
              -> 3
            3:
              exit end
        ",
    );
}

#[test]
fn type_switch() {
    check(
        "
            switch v := x().(type) {
            case int, nil:
                use(v)
            case T:
                return
            }
        ",
        "
            0:
              call x()
              eval x()
              case 0 -> 1, case 1 -> 2, no case -> 3
            1:
              call use(v)
              -> 3
            2:
              return
              exit return
            3:
              exit end
        ",
    );
}

#[test]
fn goto_back_and_forth() {
    check(
        "
            again:
            a()
            if b {
                goto end
            }
            if c {
                goto again
            }
            return
            end:
            d()
        ",
        "
            0:
              -> 1
            1:
              call a()
              eval b
              true -> 2, false -> 3
            2:
              call d()
              exit end
            3:
              eval c
              true -> 1, false -> 4
            4:
              return
              exit return
        ",
    );
}

#[test]
fn goto_into_the_middle_of_dead_code() {
    check(
        "
            goto l
            a()
            l:
            b()
            return
            c()
            m:
            goto m
        ",
        "
            0:
              call b()
              return
              exit return
        ",
    );
}

#[test]
fn goto_ring() {
    check(
        "
            goto a
            b:
            goto a
            a:
            goto b
        ",
        "
            0:
              -> 1
            1:
              -> 1
        ",
    );
}

#[test]
fn defers_in_branches_and_loops() {
    check(
        "
            defer a(b())
            for c {
                defer d()
            }
            if e {
                return
            }
            defer func() { g() }()
        ",
        "
            0:
              call b()
              defer a(b())
              -> 1
            1:
              eval c
              true -> 2, false -> 3
            2:
              defer d()
              -> 1
            3:
              eval e
              true -> 4, false -> 5
            4:
              return
              exit return; runs a(b()); perhaps runs d()
            5:
              literal func() { g() }
              defer func() { g() }()
              exit end; runs a(b()); perhaps runs d(); runs func() { g() }()
        ",
    );
}

#[test]
fn panic_runs_defers() {
    check(
        r#"
            defer a()
            if b {
                panic("b")
            }
            defer c()
            os.Exit(g())
        "#,
        r#"
            0:
              defer a()
              eval b
              true -> 1, false -> 2
            1:
              call panic("b")
              exit panic; runs a()
            2:
              defer c()
              call g()
              call os.Exit(g())
              exit never; runs a(); runs c()
        "#,
    );
}

#[test]
fn go_evaluates_its_operands() {
    check(
        "
            go h(x)(a(), func() { b() })
        ",
        "
            0:
              call h(x)
              call a()
              literal func() { b() }
              go h(x)(a(), func() { b() })
              exit end
        ",
    );
}

#[test]
fn immediately_called_literal() {
    check(
        "
            func() { return }()
            a()
        ",
        "
            0:
              literal func() { return }
              call func() { return }()
              call a()
              exit end
        ",
    );
}

#[test]
fn declarations() {
    check(
        "
            var x, y = a(), <-c
            var z int
            const k = 1
            type t int
        ",
        "
            0:
              call a()
              recv <-c
              var x, y = a(), <-c
              var z int
              exit end
        ",
    );
}

#[test]
fn literals_and_selectors_evaluate_their_parts() {
    check(
        "
            x.y(z()).w[i()] = T{a: b(), k(): <-c}
            *p() = s[lo():hi()].(U)
        ",
        "
            0:
              call z()
              call x.y(z())
              call i()
              call b()
              call k()
              recv <-c
              x.y(z()).w[i()] = T{a: b(), k(): <-c}
              call p()
              call lo()
              call hi()
              *p() = s[lo():hi()].(U)
              exit end
        ",
    );
}

#[test]
fn labelled_block_and_continue_through_switch() {
    check(
        "
            for a {
                switch b {
                case 1:
                    continue
                }
            }
        ",
        "
            0:
              -> 1
            1:
              eval a
              true -> 2, false -> 3
            2:
              eval b
              case 0 -> 1, no case -> 1
            3:
              exit end
        ",
    );
}

#[test]
fn fallthrough_without_a_next_clause_is_not_understood() {
    check(
        "
            switch x {
            case 1:
                fallthrough
            }
        ",
        "
            0:
              eval x
              case 0 -> 1, no case -> 2
            1:
              missing fallthrough
              exit unknown
              -> 2
            2:
              exit end
        ",
    );
}

#[test]
fn goto_nowhere_is_not_understood() {
    check(
        "
            if a {
                goto nowhere
            }
            b()
        ",
        "
            0:
              eval a
              true -> 1, false -> 2
            1:
              exit unknown
            2:
              call b()
              exit end
        ",
    );
}

#[test]
fn break_outside_of_a_loop_is_not_understood() {
    check(
        "
            break
            a()
        ",
        "
            0:
              missing break
              exit unknown
              -> 1
            1:
              call a()
              exit end
        ",
    );
}

/// The step of the first line of the printed graph that is `text`.
fn step(file: &File, cfg: &Cfg, text: &str) -> StepId {
    let printed = cfg.print(file);
    let steps = printed.lines().filter(|line| {
        let line = line.trim();
        !line.ends_with(':') && !line.contains("->") && !line.starts_with("exit") && line != "stays"
    });
    let at = steps.map(str::trim).position(|line| line == text);
    StepId(at.unwrap_or_else(|| panic!("no step `{text}` in\n{printed}")) as u32)
}

/// From after `from`, avoiding calls of `avoid`: the exits by text, each with
/// the conditions on the way.
#[track_caller]
fn check_escapes(body: &str, from: &str, avoid: &str, expected: &[&str]) {
    let file = parse(body);
    let cfg = graph(&file);
    let settled = |step: StepId| {
        let call = cfg.step(step).call(&file);
        call.is_some_and(|call| file.source.text(file.expr(call).span) == avoid)
    };
    let paths = cfg.escapes(step(&file, &cfg, from), &settled);
    let shown: Vec<String> = paths.iter().map(|path| show(&file, path)).collect();
    assert_eq!(shown, expected, "{}", cfg.print(&file));
}

fn show(file: &File, path: &Path) -> String {
    use straggler::flow::{EdgeKind, Exit, PathEnd};
    let expr = |id: ExprId| file.source.text(file.expr(id).span).into_owned();
    let mut words: Vec<String> = path
        .decisions()
        .map(|kind| match kind {
            EdgeKind::Jump => "jump".into(),
            EdgeKind::True(cond) => expr(cond),
            EdgeKind::False(cond) => format!("not {}", expr(cond)),
            EdgeKind::Case(_, index) => format!("case {index}"),
            EdgeKind::NoCase(_) => "no case".into(),
            EdgeKind::Arm(_, index) => format!("arm {index}"),
            EdgeKind::More(_) => "more".into(),
            EdgeKind::Done(_) => "done".into(),
        })
        .collect();
    words.push(match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => file.source.text(file.stmt(stmt).span).into_owned(),
        PathEnd::Exit(_, exit) => format!("{exit:?}"),
        PathEnd::Step(step) => format!("{step:?}"),
    });
    words.join(", ")
}

#[test]
fn escapes_show_the_conditions_of_each_exit() {
    let body = "
        w := watch()
        for {
            select {
            case <-done:
                return 1
            case e := <-c:
                if e == nil {
                    w.Stop()
                    return 2
                }
            }
            if late { break }
        }
        a()
    ";
    check_escapes(
        body,
        "w := watch()",
        "w.Stop()",
        &["arm 0, return 1", "arm 1, not e == nil, late, End"],
    );
    check_escapes(body, "call a()", "w.Stop()", &["End"]);
}

#[test]
fn a_defer_settles_the_paths_that_register_it() {
    check_escapes(
        "
        w := watch()
        if err { return }
        defer w.Stop()
        if other { return }
        ",
        "w := watch()",
        "w.Stop()",
        &["err, return"],
    );
}

#[test]
fn panics_endless_loops_and_missing_text_are_no_escapes() {
    check_escapes(
        "
        w := watch()
        switch x {
        case 1: panic(1)
        case 2: os.Exit(1)
        case 3: for { a() }
        default: break nowhere
        }
        ",
        "w := watch()",
        "w.Stop()",
        &[],
    );
}

#[test]
fn dominators_and_reachability() {
    let file = parse(
        "
        a()
        for b() {
            if c() { continue }
            d()
        }
        e()
        ",
    );
    let cfg = graph(&file);
    let at = |name: &str| step(&file, &cfg, &format!("call {name}()"));
    let dominates = |above: &str, below: &str| cfg.dominates(at(above), at(below));
    assert!(dominates("a", "e") && dominates("b", "d") && dominates("b", "e"));
    assert!(dominates("c", "d") && !dominates("d", "e") && !dominates("e", "a"));
    assert!(cfg.reaches(at("d"), at("c")) && cfg.reaches(at("d"), at("d")));
    assert!(!cfg.reaches(at("e"), at("d")) && !cfg.reaches(at("a"), at("a")));
}

#[test]
fn steps_are_found_by_expression() {
    let file = parse("defer (a(b()))\nreturn\nd()");
    let cfg = graph(&file);
    let calls: Vec<Option<Step>> = (0..file.expr_count() as u32)
        .map(ExprId)
        .filter(|&expr| matches!(file.expr(expr).kind, ExprKind::Call { .. }))
        .map(|call| cfg.step_of_expr(call).map(|step| cfg.step(step)))
        .collect();
    assert!(calls.iter().any(|step| matches!(step, Some(Step::Defer(_)))), "{calls:?}");
    assert!(calls.iter().any(|step| matches!(step, Some(Step::Call(_)))), "{calls:?}");
    assert!(calls.contains(&None), "what is never reached has no step: {calls:?}");
    assert!(cfg.escapes(StepId(0), &|_| false).len() == 1);
}

#[test]
fn deep_nests_and_long_ladders_need_no_stack() {
    let nest = |open: &str, close: &str, times: usize| {
        format!("{}a(){}", open.repeat(times), close.repeat(times))
    };
    let bodies = [
        nest("if x {\n", "\n}", 3_000),
        nest("for {\n", "\n}", 3_000),
        nest("func() {\n", "\n}()", 1_000),
        format!("if {} {{ a() }}", nest("(!", ")", 3_000)),
        format!("x = {}", vec!["a()"; 20_000].join(" && ")),
        format!("if x {{ a() }} {}", "else if x { a() }".repeat(3_000)),
        format!("switch {{ {} }}", "case x: a()\n".repeat(20_000)),
        "if x { goto l }\n".repeat(5_000) + "l:",
    ];
    let blocks: Vec<usize> = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            bodies
                .iter()
                .map(|body| {
                    let file = parse(body);
                    let cfg = graph(&file);
                    cfg.search(Start::Entry, (), &mut Everywhere);
                    cfg.blocks().count()
                })
                .collect()
        })
        .expect("the thread starts")
        .join()
        .expect("no graph needs much stack");
    assert!(blocks.iter().all(|&blocks| blocks > 0), "{blocks:?}");
}

struct Everywhere;

impl straggler::flow::Walk for Everywhere {
    type State = ();

    fn step(&mut self, (): &(), _: StepId) -> straggler::flow::Passing<()> {
        straggler::flow::Passing::On(())
    }

    fn exit(&mut self, (): &(), _: straggler::flow::Exit) -> bool {
        true
    }
}
