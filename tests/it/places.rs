//! Places in channels that are taken and not given back: pairs that differ in little.

use crate::cli::tells_of_file as check;

const LIMIT: &str = r#"package m

type limit struct{ places chan struct{} }

func newLimit(n int) *limit { return &limit{places: make(chan struct{}, n)} }

func (l *limit) run(work func() error) error {
	l.places <- struct{}{}
	err := work()
	if err != nil {
		return err
	}
	<-l.places
	return nil
}
"#;

const TOLD: &[&str] = &["m.go:8 send-without-receiver medium"];

#[test]
fn a_place_that_an_error_keeps() {
    check(LIMIT, TOLD);
    check(&LIMIT.replace("\t\treturn err\n", "\t\t<-l.places\n\t\treturn err\n"), &[]);
    // Given back whatever comes.
    let deferred = LIMIT
        .replace("\terr := work()", "\tdefer func() { <-l.places }()\n\terr := work()")
        .replace("\t<-l.places\n\treturn nil", "\treturn nil");
    check(&deferred, &[]);
    // A `select` that gives it back finds it there.
    let selected = "\t\tselect {\n\t\tcase <-l.places:\n\t\tdefault:\n\t\t}\n\t\treturn err\n";
    check(&LIMIT.replace("\t\treturn err\n", selected), &[]);
}

#[test]
fn a_place_that_is_taken_where_a_condition_says_so() {
    let asked = LIMIT
        .replace("run(work", "run(limited bool, work")
        .replace("\tl.places <- struct{}{}", "\tif limited {\n\t\tl.places <- struct{}{}\n\t}")
        .replace("\tif err != nil {\n\t\treturn err\n\t}\n", "")
        .replace("\t<-l.places\n\treturn nil", "\tif limited {\n\t\t<-l.places\n\t}\n\treturn err");
    check(&asked, &[]);
    check(&asked.replace("\tif limited {\n\t\t<-l", "\tif err == nil {\n\t\t<-l"), &[]);
}

#[test]
fn a_place_that_others_give_back() {
    // Another method does.
    let apart = "\nfunc (l *limit) leave() { <-l.places }\n";
    check(&format!("{LIMIT}{apart}"), &[]);
    // Whoever works in the place gives it back.
    let handed = LIMIT.replace(
        "\tif err != nil {\n\t\treturn err\n\t}\n",
        "\tif err != nil {\n\t\tgo func() { <-l.places }()\n\t\treturn err\n\t}\n",
    );
    check(&handed, &[]);
    // Who has the channel is not known.
    check(
        &LIMIT
            .replace("places", "Places")
            .replace("limit struct", "Limit struct")
            .replace("*limit", "*Limit")
            .replace("&limit", "&Limit"),
        &[],
    );
    // It says that something has come, and who waits for it takes it.
    let notice = LIMIT.replace(
        "\terr := work()",
        "\tgo func() {\n\t\tfor range l.places {\n\t\t\t_ = work()\n\t\t}\n\t}()\n\terr := work()",
    );
    check(&notice, &[]);
}

#[test]
fn a_place_in_a_variable_of_the_package() {
    let variable = LIMIT
        .replace("type limit struct{ places chan struct{} }\n\nfunc newLimit(n int) *limit { return &limit{places: make(chan struct{}, n)} }", "var places = make(chan struct{}, 4)\n\n")
        .replace("func (l *limit) run", "func run")
        .replace("l.places", "places");
    check(&variable, &["m.go:8 send-without-receiver medium"]);
    check(&variable.replace("struct{}, 4)", "struct{})"), &[]);
}

#[test]
fn more_room_than_32_bits_can_count() {
    let source = |size: &str| {
        format!(
            "package m\n\nimport (\n\t\"math\"\n\t\"sync\"\n)\n\nconst most = {size}\n\nvar _ = math.MaxInt\n\n\
             func all(work []func()) {{\n\twg := sync.WaitGroup{{}}\n\troom := make(chan struct{{}}, most)\n\
             \tfor _, run := range work {{\n\t\twg.Add(1)\n\t\troom <- struct{{}}{{}}\n\t\tgo func() {{\n\
             \t\t\tdefer func() {{ <-room; wg.Done() }}()\n\t\t\trun()\n\t\t}}()\n\t}}\n\twg.Wait()\n}}\n"
        )
    };
    crate::cli::tells_of_file(&source("math.MaxInt"), &[]);
    // Nobody receives before the send is over.
    crate::cli::tells_of_file(&source("0"), &["m.go:17 send-without-receiver medium"]);
}
