//! Channels that an object lists and sends on under a lock, which who receives needs to take its own out: pairs that
//! differ in little.

use crate::cli::tells_of_file as check;

const HUB: &str = r#"package m

import "sync"

type hub struct {
	mu   sync.RWMutex
	subs map[string]chan string
}

func (h *hub) tell(what string) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, c := range h.subs {
		c <- what
	}
}

func (h *hub) add(name string) chan string {
	c := make(chan string, 8)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[name] = c
	return c
}

func (h *hub) remove(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs, name)
}

func (h *hub) serve(name string, send func(string) error, gone <-chan struct{}) error {
	c := h.add(name)
	defer h.remove(name)
	for {
		select {
		case what := <-c:
			if err := send(what); err != nil {
				return err
			}
		case <-gone:
			return nil
		}
	}
}
"#;

#[test]
fn a_receiver_that_takes_its_channel_out_of_the_list() {
    check(HUB, &["m.go:14 lock-held-while-blocked medium"]);
    // The sender does not wait, or has given the lock back.
    let send = "\t\tc <- what\n";
    let tries = "\t\tselect {\n\t\tcase c <- what:\n\t\tdefault:\n\t\t}\n";
    check(&HUB.replace(send, tries), &[]);
    let copied = HUB.replace("\tdefer h.mu.RUnlock()\n\tfor _, c := range h.subs {\n", "\tall := make([]chan string, 0, len(h.subs))\n\tfor _, c := range h.subs {\n\t\tall = append(all, c)\n\t}\n\th.mu.RUnlock()\n\tfor _, c := range all {\n");
    check(&copied, &[]);
    // Who leaves takes what is sent until it is out of the list.
    let drains = "\tc := h.add(name)\n\tdefer func() {\n\t\tgo func() {\n\t\t\tfor range c {\n\t\t\t}\n\t\t}()\n\t\th.remove(name)\n\t\tclose(c)\n\t}()\n";
    check(&HUB.replace("\tc := h.add(name)\n\tdefer h.remove(name)\n", drains), &[]);
    // It is taken out under another lock.
    let other =
        HUB.replace("\tmu   sync.RWMutex\n", "\tmu   sync.RWMutex\n\tout  sync.Mutex\n").replace(
            "\th.mu.Lock()\n\tdefer h.mu.Unlock()\n\tdelete",
            "\th.out.Lock()\n\tdefer h.out.Unlock()\n\tdelete",
        );
    check(&other, &[]);
}

const WATCHED: &str = r#"package m

import "sync"

type Set struct {
	mu      sync.Mutex
	watches map[chan int]bool
}

func (s *Set) Put(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.watches {
		c <- n
	}
}

func (s *Set) Watch() <-chan int {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan int)
	s.watches[c] = true
	return c
}

func (s *Set) Unwatch(c chan int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, c)
}
"#;

#[test]
fn a_method_by_which_others_leave() {
    check(WATCHED, &["m.go:14 lock-held-while-blocked medium"]);
    // It takes what is sent meanwhile, or there is room: how much others leave unread is not known.
    let drained = WATCHED.replace(
        "(c chan int) {\n",
        "(c chan int) {\n\tgo func() {\n\t\tfor range c {\n\t\t}\n\t}()\n\tdefer close(c)\n",
    );
    check(&drained, &[]);
    check(&WATCHED.replace("make(chan int)", "make(chan int, 16)"), &[]);
}
