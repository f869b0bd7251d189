//! What is found where a callback sends, a caller keeps a channel in a variable of its own, or another lock stands
//! beside: pairs that differ in little.

use crate::cli::{tells_of_file as check, tells_of_module};

const WALK: &str = r#"package m

import (
	"os"
	"path/filepath"
)

func Find(root, name string) string {
	paths := make(chan string)
	go func() {
		defer close(paths)
		filepath.Walk(root, func(path string, _ os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			paths <- path
			return nil
		})
	}()
	for path := range paths {
		if filepath.Base(path) == name {
			return path
		}
	}
	return ""
}
"#;

#[test]
fn a_walk_through_files_calls_what_it_was_given() {
    check(WALK, &["m.go:16 send-without-receiver medium"]);
    check(&WALK.replace("\t\t\treturn path\n", "\t\t\tname = path\n"), &[]);
    // The first call that fails is the last one.
    let failed = WALK
        .replace("make(chan string)", "make(chan string, 1)")
        .replace(
            "\t\t\tpaths <- path\n\t\t\treturn nil\n",
            "\t\t\tpaths <- path\n\t\t\treturn os.ErrExist\n",
        )
        .replace(
            "\tfor path := range paths {",
            "\tif root == \"\" {\n\t\treturn root\n\t}\n\tfor path := range paths {",
        );
    check(&failed, &[]);
}

const INPUT: &str = r#"package m

type Format interface{ Parse(each func(string) bool) }

type Runner struct {
	format Format
	names  []string
}

func (r *Runner) input() (chan string, error) {
	out := make(chan string)
	go func() {
		defer close(out)
		if r.format != nil {
			r.format.Parse(func(name string) bool {
				out <- name
				return true
			})
			return
		}
		for _, name := range r.names {
			out <- name
		}
	}()
	return out, nil
}

func (r *Runner) Run(handle func(string) error) {
	var in chan string
	var err error
	if in, err = r.input(); err != nil {
		return
	}
	for name := range in {
		if handle(name) != nil {
			break
		}
	}
}
"#;

#[test]
fn a_channel_that_its_user_declares_before_and_that_a_callback_sends_on_too() {
    check(INPUT, &["m.go:22 send-without-receiver medium"]);
    check(&INPUT.replace("\t\t\tbreak\n", "\t\t\tcontinue\n"), &[]);
    check(&INPUT.replace("\t\t\tbreak\n", "\t\t\tfor range in {\n\t\t\t}\n\t\t\tbreak\n"), &[]);
}

/// A lock that one function keeps, in a package that also has a lock of a function.
const KEPT: &str = r#"package m

import "sync"

type Config struct {
	mu     sync.Mutex
	values map[string]string
}

func (c *Config) Get(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values[key]
}

func (c *Config) Handle(key string) string {
	c.mu.Lock()
	return c.values[key]
}

func Sum(values []int) (sum int) {
	var all sync.Mutex
	var done sync.WaitGroup
	for _, value := range values {
		done.Add(1)
		go func(value int) {
			defer done.Done()
			all.Lock()
			defer all.Unlock()
			sum += value
		}(value)
	}
	done.Wait()
	return sum
}
"#;

#[test]
fn a_lock_of_a_function_gives_no_other_lock_back() {
    check(KEPT, &["m.go:17 unlock-missing medium"]);
    // Which lock that is, is not known.
    let pointer = KEPT
        .replace("var all sync.Mutex", "all := any")
        .replace("func Sum(values []int)", "func Sum(any *sync.Mutex, values []int)");
    check(&pointer, &[]);
}

/// All are stopped, one after the other.
const STOP: &str = r#"package m

import "sync"

var (
	mu        sync.Mutex
	instances []func() error
)

func Start(stop func() error) {
	mu.Lock()
	instances = append(instances, stop)
	mu.Unlock()
}

func Stop() error {
	for {
		mu.Lock()
		if len(instances) == 0 {
			break
		}
		stop := instances[0]
		instances = instances[1:]
		mu.Unlock()
		if err := stop(); err != nil {
			return err
		}
	}
	return nil
}
"#;

#[test]
fn a_loop_that_is_left_with_the_lock_held() {
    check(STOP, &["m.go:18 unlock-missing high"]);
    check(&STOP.replace("\t\t\tbreak\n", "\t\t\tmu.Unlock()\n\t\t\tbreak\n"), &[]);
    // It is given back behind the loop.
    check(&STOP.replace("\treturn nil\n", "\tmu.Unlock()\n\treturn nil\n"), &[]);
    // The loop goes on.
    let other = "\t\t\tfor range instances {\n\t\t\t\tbreak\n\t\t\t}\n\t\t\tmu.Unlock()\n\t\t\treturn nil\n";
    check(&STOP.replace("\t\t\tbreak\n", other), &[]);
}

const FETCH: &str = r#"package m

import "sync"

func Fetch(names []string, fetch func(string) string) (all []string) {
	results := make(chan string)
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Add(1)
		go func(name string) {
			results <- fetch(name)
		}(name)
	}
	go func() {
		wg.Wait()
		close(results)
	}()
	for result := range results {
		all = append(all, result)
	}
	return all
}
"#;

#[test]
fn a_group_of_a_function_that_nobody_counts_down() {
    check(FETCH, &["m.go:15 waitgroup-unbalanced medium", "m.go:18 range-never-closed medium"]);
    let done = FETCH.replace("\t\t\tresults <-", "\t\t\tdefer wg.Done()\n\t\t\tresults <-");
    check(&done, &[]);
    // Somebody else may count it down.
    check(
        &FETCH.replace("results <- fetch(name)", "results <- fetch(name)\n\t\t\tcount(&wg)"),
        &[],
    );
}

#[test]
fn a_channel_that_only_one_way_gives() {
    let source = |waits: &str| {
        format!(
            "package m\n\ntype Builder struct {{\n\tVerbose bool\n}}\n\n\
             func (b *Builder) Run(attach func() chan error, start func() error) error {{\n\tvar failed chan error\n\
             \tif b.Verbose {{\n\t\tfailed = attach()\n\t}}\n\tif err := start(); err != nil {{\n\t\treturn err\n\t}}\n{waits}}}\n"
        )
    };
    tells_of_module(&source("\treturn <-failed\n"), &["m.go:15 nil-channel medium"]);
    let guarded = "\tif b.Verbose {\n\t\treturn <-failed\n\t}\n\treturn nil\n";
    tells_of_module(&source(guarded), &[]);
}

#[test]
fn a_part_that_a_method_found() {
    let source = |found: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype Server struct {{\n\tmu  sync.Mutex\n\tall []*Job\n}}\n\n\
             type Job struct {{\n\tmu   sync.Mutex\n\tid   string\n\ts    *Server\n\tdone bool\n}}\n\n\
             func (s *Server) Start(id string) *Job {{\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\
             \tj := &Job{{id: id, s: s}}\n\ts.all = append(s.all, j)\n\treturn j\n}}\n\n\
             func (s *Server) Finish(id string) {{\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tj := s.find(id)\n\
             \tif j == nil {{\n\t\treturn\n\t}}\n\tj.finish()\n}}\n\n\
             func (j *Job) finish() {{\n\tj.mu.Lock()\n\tj.done = true\n\tj.mu.Unlock()\n}}\n\n\
             func (j *Job) Close() {{\n\tj.mu.Lock()\n\tdefer j.mu.Unlock()\n\tj.s.mu.Lock()\n\tdefer j.s.mu.Unlock()\n\
             \tj.s.all = nil\n}}\n\n\
             func (s *Server) find(id string) *Job {{\n{found}\treturn nil\n}}\n"
        )
    };
    let own = "\tfor _, j := range s.all {\n\t\tif j.id == id {\n\t\t\treturn j\n\t\t}\n\t}\n";
    tells_of_module(&source(own), &["m.go:32 lock-order medium"]);
    // One that nobody else has.
    tells_of_module(&source("\tif id != \"\" {\n\t\treturn &Job{id: id}\n\t}\n"), &[]);
}

/// A callback that is given to code out of sight, and a wait that time ends.
const CALLED_BACK: &str = r#"package m

import (
	"context"
	"errors"
	"time"

	"example.com/far/server"
)

type asker struct{ far *server.Server }

func (a *asker) Names(ctx context.Context) ([]string, error) {
	var err error
	ch := make(chan []string)
	answered := func(names []string) {
		ch <- names
	}
	err = a.far.Send(ctx, answered)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(time.Second)
	defer late.Stop()
	select {
	case names := <-ch:
		return names, nil
	case <-late.C:
		return nil, errors.New("too late")
	}
}
"#;

#[test]
fn a_callback_that_code_out_of_sight_may_call_late() {
    check(CALLED_BACK, &["m.go:17 send-without-receiver medium"]);
    check(&CALLED_BACK.replace("make(chan []string)", "make(chan []string, 1)"), &[]);
    // What is given back may take the callback back.
    let order = CALLED_BACK
        .replace(
            "\terr = a.far.Send(ctx, answered)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n",
            "\torder := a.far.Send(ctx, answered)\n\tdefer order.Drop()\n",
        )
        .replace("\tvar err error\n", "");
    check(&order, &[]);
}
