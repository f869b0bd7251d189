//! Locks that a function keeps on one way out, or gives back by the wrong method: pairs that differ in little.

use crate::cli::tells_of_file as check;

const LOOP: &str = r#"package m

import "sync"

type loop struct {
	mu   sync.Mutex
	in   chan int
	done bool
	sum  int
}

// run adds in a goroutine of its own: what it is given may hold the same mutex, and this could deadlock.
func (l *loop) run() {
	for n := range l.in {
		l.mu.Lock()
		if l.done {
			return
		}
		l.sum += n
		l.mu.Unlock()
	}
}

func (l *loop) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
}
"#;

#[test]
fn a_comment_that_speaks_of_locks() {
    check(LOOP, &["m.go:15 unlock-missing high"]);
    check(&LOOP.replace("\t\t\treturn\n", "\t\t\tl.mu.Unlock()\n\t\t\treturn\n"), &[]);
    // Somebody gives back what others have taken: the comment may tell whom to.
    let given =
        LOOP.to_owned() + "\nfunc (l *loop) after() {\n\tif l.done {\n\t\tl.mu.Unlock()\n\t}\n}\n";
    check(&given, &[]);
}

const LIST: &str = r#"package m

import "sync"

type list struct {
	sync.RWMutex
	all []int
}

func (l *list) trim(most int) {
	l.RLock()
	if len(l.all) > most {
		l.RUnlock()
		l.set(l.all[:most])
		return
	}
}

func (l *list) set(all []int) {
	l.Lock()
	defer l.Unlock()
	l.all = all
}
"#;

#[test]
fn a_function_that_gives_nothing_ends_with_the_lock() {
    check(LIST, &["m.go:11 unlock-missing high"]);
    check(&LIST.replace("\t\treturn\n\t}\n", "\t\treturn\n\t}\n\tl.RUnlock()\n"), &[]);
    // What it gives may say that it holds the lock.
    let tells = LIST
        .replace("trim(most int) {", "trim(most int) bool {")
        .replace("\t\treturn\n\t}\n", "\t\treturn false\n\t}\n\treturn true\n");
    check(&tells, &[]);
}

const NODES: &str = r#"package m

import (
	"errors"
	"sync"
)

type Nodes struct {
	Mu    sync.Mutex
	nodes map[string]int
}

func (n *Nodes) Add(name string, store func(string) error) (err error) {
	n.Mu.Lock()
	if len(n.nodes) > 7 {
		err = errors.New("too many")
		goto failed
	}
	if err = store(name); err != nil {
		n.Mu.Unlock()
		goto failed
	}
	n.nodes[name] = 1
	n.Mu.Unlock()
	return nil
failed:
	println(err.Error())
	return err
}
"#;

#[test]
fn a_goto_that_leaves_with_the_lock() {
    check(NODES, &["m.go:14 unlock-missing high"]);
    let first = "\t\terr = errors.New(\"too many\")\n";
    check(&NODES.replace(first, &(first.to_owned() + "\t\tn.Mu.Unlock()\n")), &[]);
}

const CACHE: &str = r#"package m

import "sync"

type cache struct {
	mu    sync.RWMutex
	stale bool
	all   []int
}

func (c *cache) get() []int {
	c.mu.RLock()
	if !c.stale {
		c.mu.RUnlock()
		return c.all
	}
	c.mu.RUnlock()
	c.mu.Lock()
	if !c.stale {
		return c.all
	}
	defer c.mu.Unlock()
	c.all, c.stale = nil, false
	return c.all
}
"#;

/// What was asked under a lock that has been given back may be answered otherwise by now.
#[test]
fn a_field_that_is_asked_again_when_the_lock_is_taken_again() {
    check(CACHE, &["m.go:18 unlock-missing high"]);
    let ends = "\tdefer c.mu.Unlock()\n";
    let early =
        CACHE.replace(ends, "").replace("\tc.mu.Lock()\n", &("\tc.mu.Lock()\n".to_owned() + ends));
    check(&early, &[]);
}

const READ: &str = r#"package m

import "sync"

type table struct {
	mu  *sync.RWMutex
	all map[string]int
}

func (t *table) get(name string) int {
	if t.mu != nil {
		t.mu.RLock()
		defer t.mu.RUnlock()
	}
	return t.all[name]
}

func (t *table) put(name string) {
	t.mu.Lock()
	t.all[name]++
	t.mu.Unlock()
}
"#;

#[test]
fn a_lock_that_is_unlocked_by_the_wrong_method() {
    check(READ, &[]);
    let defers = "\t\tdefer t.mu.RUnlock()\n";
    check(&READ.replace(defers, "\t\tdefer t.mu.RLock()\n"), &["m.go:13 unlock-missing high"]);
    check(&READ.replace(defers, "\t\tdefer t.mu.Unlock()\n"), &["m.go:13 unlock-missing high"]);
    check(&READ.replace("\tt.mu.Unlock()", "\tt.mu.RUnlock()"), &["m.go:21 unlock-missing high"]);
    // It is given back before it is to be taken again.
    let around = READ.replace(
        "\t\tt.mu.RLock()\n\t\tdefer t.mu.RUnlock()\n",
        "\t\tt.mu.RUnlock()\n\t\tdefer t.mu.RLock()\n",
    );
    check(&around, &[]);
}

const TRIED: &str = r#"package m

import "sync"

type store struct {
	mu  sync.Mutex
	all map[string]int
}

func (s *store) check() error { return nil }

func (s *store) try(key string) error {
	if !s.mu.TryLock() {
		return nil
	}
	if err := s.check(); err != nil {
		return err
	}
	s.all[key]++
	s.mu.Unlock()
	return nil
}

func (s *store) set(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[key] = 0
}
"#;

#[test]
fn a_lock_that_was_tried() {
    check(TRIED, &["m.go:13 unlock-missing high"]);
    let given = TRIED.replace("\t\treturn err\n", "\t\ts.mu.Unlock()\n\t\treturn err\n");
    check(&given, &[]);
    // Nobody waits for a lock that is only ever tried.
    let flag =
        TRIED.replace("\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\ts.all[key] = 0\n", "\ts.try(key)\n");
    check(&flag, &[]);
    // Where it is not taken there is nothing to give back.
    let either = TRIED
        .replace(
            "\tif !s.mu.TryLock() {\n\t\treturn nil\n\t}\n",
            "\tif !s.mu.TryLock() {\n\t\ts.mu.Lock()\n\t}\n",
        )
        .replace("\t\treturn err\n", "\t\ts.mu.Unlock()\n\t\treturn err\n");
    check(&either, &[]);
}

/// A lock for readers or for one who writes, and how it is given back.
fn either(take: &str, give: &str) -> String {
    format!(
        "package m\n\nimport \"sync\"\n\ntype table struct {{\n\tmu   sync.RWMutex\n\tfile func() error\n\
         \twide bool\n}}\n\nfunc (t *table) begin(reads bool) error {{\n{take}\tif err := t.file(); err != nil {{\n\
         {give}\t\treturn err\n\t}}\n\treturn nil\n}}\n\nfunc (t *table) end(reads bool) {{\n\tif reads {{\n\
         \t\tt.mu.RUnlock()\n\t}} else {{\n\t\tt.mu.Unlock()\n\t}}\n}}\n"
    )
}

#[test]
fn an_unlock_of_the_other_kind_on_one_way() {
    let take = |asks: &str| {
        format!("\tif {asks} {{\n\t\tt.mu.RLock()\n\t}} else {{\n\t\tt.mu.Lock()\n\t}}\n")
    };
    let give = |asks: &str| {
        format!(
            "\t\tif {asks} {{\n\t\t\tt.mu.RUnlock()\n\t\t}} else {{\n\t\t\tt.mu.Unlock()\n\t\t}}\n"
        )
    };
    let told = "m.go:18 unlock-missing high";
    check(&either(&take("reads"), "\t\tt.mu.Unlock()\n"), &[told]);
    check(&either(&take("reads"), &give("reads")), &[]);
    check(&either(&take("t.wide"), &give("t.wide")), &[]);
    check(&either(&take("t.lone()"), &give("t.lone()")), &[]);
    // What is set where it is locked may tell how.
    let noted = "\twide := false\n\tif reads {\n\t\tt.mu.RLock()\n\t} else {\n\t\tt.mu.Lock()\n\t\twide = true\n\t}\n";
    let as_noted =
        "\t\tif wide {\n\t\t\tt.mu.Unlock()\n\t\t} else {\n\t\t\tt.mu.RUnlock()\n\t\t}\n";
    check(&either(noted, as_noted), &[]);
}
