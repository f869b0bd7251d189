//! Groups that are counted up when somebody may have waited for them already: pairs that differ in little.

use crate::cli::tells_of_file as check;

const SERVER: &str = r#"package m

import "sync"

type Server struct {
	wg       sync.WaitGroup
	mu       sync.Mutex
	errs     <-chan error
	requests chan func()
	stop     chan struct{}
	ready    chan struct{}
}

func New(errs <-chan error, requests chan func()) *Server {
	return &Server{errs: errs, requests: requests, stop: make(chan struct{}), ready: make(chan struct{})}
}

func (s *Server) Start(publish, purge func()) {
	s.begin()
	s.attach(publish)
	s.attach(purge)
}

func (s *Server) begin() {
	go s.run()
}

func (s *Server) attach(work func()) {
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		work()
	}()
}

func (s *Server) run() {
	defer func() {
		close(s.stop)
		s.wg.Wait()
	}()
	for {
		select {
		case request := <-s.requests:
			request()
		case err := <-s.errs:
			println(err.Error())
			return
		}
	}
}
"#;

#[test]
fn a_wait_in_what_was_started_before() {
    check(SERVER, &["m.go:39 waitgroup-unbalanced medium"]);
    let plain = SERVER.replace(
        "println(err.Error())\n\t\t\treturn",
        "println(err.Error())\n\t\t\ts.wg.Wait()\n\t\t\treturn",
    );
    let plain = plain.replace("\t\ts.wg.Wait()\n\t}()", "\t}()");
    check(&plain, &["m.go:46 waitgroup-unbalanced medium"]);
    // It ends when it is told to, and nobody tells it while the server starts.
    check(&SERVER.replace("err := <-s.errs", "<-s.stop").replace("println(err.Error())", ""), &[]);
    // Counted before.
    check(
        &SERVER.replace("\ts.begin()\n\ts.attach(publish)", "\ts.attach(publish)\n\ts.begin()"),
        &[],
    );
    // Whoever has ended takes nobody in any more.
    let asks = "s.mu.Lock()\n\tdefer s.mu.Unlock()\n\tselect {\n\tcase <-s.stop:\n\t\treturn\n\tdefault:\n\t}\n\ts.wg.Add(1)";
    check(&SERVER.replacen("s.wg.Add(1)", asks, 1), &[]);
    // The server says that it goes on.
    let says = SERVER.replace("\ts.begin()\n", "\ts.begin()\n\t<-s.ready\n");
    let run = "func (s *Server) run() {\n";
    assert!(says.contains(run));
    check(&says.replace(run, &format!("{run}\tclose(s.ready)\n")), &[]);
}

const STOPPER: &str = r#"package m

import "sync"

type Stopper struct {
	work sync.WaitGroup
	mu   sync.Mutex
}

func (s *Stopper) Run(f func()) {
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		f()
	}()
}

func (s *Stopper) Stop() {
	s.work.Wait()
}

type gossip struct {
	stopper *Stopper
	told    chan bool
}

func (g *gossip) start() {
	g.stopper.Run(func() { println("hello") })
}

func Serve(f func()) {
	stopper := &Stopper{}
	defer stopper.Stop()
	g := &gossip{stopper: stopper}
	go g.start()
	f()
}
"#;

#[test]
fn an_add_in_what_is_started() {
    check(STOPPER, &["m.go:35 waitgroup-unbalanced high"]);
    let own = STOPPER.replace("\tgo g.start()\n\tf()", "\tgo stopper.Run(f)\n\tstopper.Stop()");
    check(&own, &["m.go:35 waitgroup-unbalanced high"]);
    check(&STOPPER.replace("go g.start()", "g.start()"), &[]);
    // Another one is waited for.
    check(&STOPPER.replace("stopper: stopper}", "stopper: &Stopper{}}"), &[]);
    // Whether it counts is decided only there.
    check(
        &STOPPER.replace("\ts.work.Add(1)", "\tif f == nil {\n\t\treturn\n\t}\n\ts.work.Add(1)"),
        &[],
    );
    // Who waits has heard that it was counted.
    let hears = own.replace("go stopper.Run(f)", "told := make(chan bool, 1)\n\tgo func() {\n\t\tstopper.Run(f)\n\t\ttold <- true\n\t}()\n\t<-told");
    check(&hears, &[]);
}
