// Runs each of a list of programs many times, and says in how many runs somebody stayed behind.
// The list, `programs`, and the functions in it are generated.
package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// Run counts the goroutines of one run that have not ended.
type Run struct{ left atomic.Int64 }

const runs = 40

func (r *Run) enter() func() {
	r.left.Add(1)
	return func() { r.left.Add(-1) }
}

// yield lets others go first, now and then.
func (r *Run) yield() {
	if rand.IntN(2) == 0 {
		runtime.Gosched()
	}
}

func maybe() bool { return rand.IntN(2) == 0 }

func main() {
	all := make([][runs]Run, len(programs))
	for run := range runs {
		runtime.GOMAXPROCS(1 + run%2)
		for number, program := range programs {
			go program(&all[number][run])
		}
		runtime.Gosched()
	}
	// Nobody sleeps: who is left when nothing has changed for a second stays.
	for before, same := -1, 0; same < 10; time.Sleep(100 * time.Millisecond) {
		if left := runtime.NumGoroutine(); left == before {
			same++
		} else {
			before, same = left, 0
		}
	}
	for number := range programs {
		stayed := 0
		for run := range runs {
			if all[number][run].left.Load() > 0 {
				stayed++
			}
		}
		fmt.Println(stayed)
	}
}
