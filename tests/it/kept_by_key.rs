//! Locks that are got by a call or locked by a key, and locks that goroutines and literals give back: pairs of
//! programs.

use crate::cli::tells_of_file as check;

const USERS: &str = r#"package m

import (
	"errors"
	"sync"
)

type locker struct {
	all [16]sync.Mutex
}

func (l *locker) Lock(key uint)   { l.all[key%16].Lock() }
func (l *locker) Unlock(key uint) { l.all[key%16].Unlock() }

type users struct {
	locks  *locker
	mu     sync.RWMutex
	series map[uint]string
	held   []uint
	count  int
}

func (u *users) get(key uint) (string, bool) {
	u.mu.RLock()
	s, ok := u.series[key]
	u.mu.RUnlock()
	return s, ok
}

var errNone = errors.New("none")

"#;

const EACH: &str = r#"func (u *users) each(keys []uint, names []string, call func(string)) {
outer:
	for _, key := range keys {
		u.locks.Lock(key)
		s, ok := u.get(key)
		if !ok {
			u.locks.Unlock(key)
			continue
		}
		for _, name := range names {
			if name != s {
				continue outer
			}
		}
		call(s)
		u.locks.Unlock(key)
	}
}
"#;

fn users(rest: &str) -> String {
    format!("{USERS}{rest}")
}

#[test]
fn a_turn_that_keeps_its_key() {
    check(&users(EACH), &["m.go:35 unlock-missing high"]);
    let skip = "\t\t\t\tcontinue outer\n";
    let unlocked = EACH.replace(skip, &format!("\t\t\t\tu.locks.Unlock(key)\n{skip}"));
    check(&users(&unlocked), &[]);
    // Who keeps the key, or what is kept with it, may unlock later.
    for keeps in ["u.held = append(u.held, key)", "u.count++", "n++"] {
        let kept = EACH
            .replace(skip, &format!("\t\t\t\t{keeps}\n{skip}"))
            .replace("outer:\n", "\tvar n int\n\tdefer func() { println(n) }()\nouter:\n");
        check(&users(&kept), &[]);
    }
    // Who gets the key may unlock.
    let given = EACH.replace(skip, &format!("\t\t\t\tgo u.later(key)\n{skip}"));
    let later = "\nfunc (u *users) later(key uint) {\n\tu.locks.Unlock(key)\n}\n";
    check(&users(&(given + later)), &[]);
    let called = EACH
        .replace("call func(string)", "call func(string), keep func(uint)")
        .replace(skip, &format!("\t\t\t\tkeep(key)\n{skip}"));
    check(&users(&called), &[]);
    // All are unlocked at the end.
    let end = "\tfor _, key := range keys {\n\t\tu.locks.Unlock(key)\n\t}\n}\n";
    let all = EACH.strip_suffix("}\n").expect("it ends with a brace");
    check(&users(&format!("{all}{end}")), &[]);
}

const ONE: &str = r#"func (u *users) one(key uint) error {
	u.locks.Lock(key)
	s, ok := u.get(key)
	if !ok {
		return errNone
	}
	println(s)
	u.locks.Unlock(key)
	return nil
}
"#;

#[test]
fn a_way_out_that_keeps_its_key() {
    check(&users(ONE), &["m.go:33 unlock-missing high"]);
    let deferred = ONE.replace(
        "\ts, ok := u.get(key)\n",
        "\tdefer func() {\n\t\tu.locks.Unlock(key)\n\t}()\n\ts, ok := u.get(key)\n",
    );
    check(&users(&deferred.replace("\tu.locks.Unlock(key)\n\treturn nil", "\treturn nil")), &[]);
    // The caller gets it, with the key that it has.
    let found = ONE
        .replace(") error {", ") (string, error) {")
        .replace("if !ok {\n\t\treturn errNone", "if ok {\n\t\treturn s, nil")
        .replace("return nil\n}", "return s, errNone\n}");
    let change = "\nfunc (u *users) change(key uint) {\n\tif _, err := u.one(key); err == nil {\n\t\tu.set(key)\n\t}\n}\n\
                  \nfunc (u *users) set(key uint) {\n\tu.series[key] = \"\"\n\tu.locks.Unlock(key)\n}\n";
    check(&users(&(found + change)), &[]);
    // A key that is another one by then.
    let other = ONE.replace("\tif !ok {\n", "\tkey++\n\tif !ok {\n");
    check(&users(&other), &[]);
    // What is given is no key.
    let context = users(ONE)
        .replace("import (\n", "import (\n\t\"context\"\n")
        .replace("(key uint)   {", "(key context.Context)   {")
        .replace("Unlock(key uint) {", "Unlock(key context.Context) {")
        .replace("[key%16]", "[0]")
        .replace("one(key uint)", "one(key context.Context)")
        .replace("u.get(key)", "u.get(0)");
    check(&context, &[]);
}

const BUFFER: &str = r#"package m

import (
	"errors"
	"sync"
)

type Buffer struct {
	sync.RWMutex
	all map[string]int
}

type Txn struct {
	buffer *Buffer
	free   []*Buffer
}

func (t *Txn) Buffer() *Buffer { return t.buffer }

type committer struct {
	txn *Txn
}

func (c *committer) check(key string) error {
	c.txn.Buffer().RLock()
	if c.txn.buffer.all[key] == 0 {
		return errors.New("none: " + key)
	}
	c.txn.Buffer().RUnlock()
	return nil
}
"#;

#[test]
fn a_lock_that_a_getter_gives() {
    check(BUFFER, &["m.go:25 unlock-missing high"]);
    let lock = "\tc.txn.Buffer().RLock()\n";
    let unlock = "\tc.txn.Buffer().RUnlock()\n";
    let deferred = BUFFER
        .replace(unlock, "")
        .replace(lock, &format!("{lock}\tdefer c.txn.Buffer().RUnlock()\n"));
    check(&deferred, &[]);
    // Under another name.
    let named = BUFFER.replace(
        "\t\treturn errors.New",
        "\t\tbuffer := c.txn.buffer\n\t\tbuffer.RUnlock()\n\t\treturn errors.New",
    );
    check(&named, &[]);
    // It gives another one each time.
    let another = BUFFER.replace(
        "{ return t.buffer }",
        "{\n\tfirst := t.free[0]\n\tt.free = t.free[1:]\n\treturn first\n}",
    );
    check(&another, &[]);
    // Who is told that it went well may have it.
    check(
        &BUFFER.replace("errors.New(\"none: \" + key)", "nil").replace("\t\"errors\"\n", ""),
        &[],
    );
}

const SEARCH: &str = r#"package m

import "sync"

type store struct {
	headMu sync.RWMutex
	head   []int
}

func (s *store) search(n int) (int, error) {
	var wg sync.WaitGroup
	found := 0
	// To avoid deadlocks all others have to acquire both mutexes in the same order.
	s.headMu.RLock()
	if s.head != nil {
		wg.Add(1)
		go func() {
			defer s.headMu.RUnlock()
			defer wg.Done()
			for _, one := range s.head {
				if one == n {
					found++
				}
			}
		}()
	}
	wg.Wait()
	return found, nil
}

func (s *store) Add(n int) {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	s.head = append(s.head, n)
}
"#;

#[test]
fn a_lock_that_only_a_goroutine_gives_back_that_may_not_be_started() {
    check(SEARCH, &["m.go:14 unlock-missing high"]);
    let end = "\t\t}()\n\t}\n";
    check(&SEARCH.replace(end, "\t\t}()\n\t} else {\n\t\ts.headMu.RUnlock()\n\t}\n"), &[]);
    // It always runs.
    check(&SEARCH.replace("\tif s.head != nil {\n", "\t{\n"), &[]);
    // A comment that tells more of it, on any of its lines.
    let order =
        "\t// To avoid deadlocks all others have to acquire both mutexes in the same order.\n";
    check(&SEARCH.replace(order, &format!("{order}\t// It is held until close.\n")), &[]);
    // Somebody else gives it back.
    let close =
        "\nfunc (s *store) close() {\n\tif s.head == nil {\n\t\ts.headMu.RUnlock()\n\t}\n}\n";
    check(&format!("{SEARCH}{close}"), &[]);
}

const CLEANUP: &str = r#"package m

import (
	"os"
	"sync"
)

type volume struct {
	lock  sync.Mutex
	dirty bool
}

func (v *volume) update() error {
	_, err := os.Stat("volume")
	return err
}

func copyTo(v *volume) []func() {
	var cleanups []func()
	cleanups = append(cleanups, func() {
		v.lock.Lock()
		if err := v.update(); err != nil {
			v.lock.Unlock()
			return
		}
		if v.dirty {
			v.dirty = false
			v.lock.Unlock()
			println("clean")
		}
	})
	return cleanups
}

func (v *volume) touch() {
	own := v.lock2()
	own.Lock()
	own.Unlock()
	v.lock.Lock()
	defer func() {
		v.lock.Unlock()
	}()
	v.dirty = true
}

func (v *volume) lock2() sync.Locker { return new(sync.Mutex) }
"#;

#[test]
fn a_literal_that_ends_with_the_lock() {
    check(CLEANUP, &["m.go:21 unlock-missing high"]);
    let clean = "\t\t\tprintln(\"clean\")\n\t\t}\n";
    check(&CLEANUP.replace(clean, "\t\t\treturn\n\t\t}\n\t\tv.lock.Unlock()\n"), &[]);
    // A literal of another function gives back what that has not taken.
    let defers = "\tv.lock.Lock()\n\tdefer func() {\n";
    check(&CLEANUP.replace(defers, "\tdefer func() {\n"), &[]);
    // A variable that is not locked where it is unlocked may be it.
    check(&CLEANUP.replace("\town.Lock()\n", ""), &[]);
}
