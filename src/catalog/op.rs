//! The operations that the abstract machine knows: what the functions of Go's library and of its
//! nearest neighbours do to channels, locks, counters, contexts and timers.
//!
//! Which function is which operation is data (`[[model]]`); what an operation does is the
//! machine's business.

use serde::Deserialize;

/// An operation of the abstract machine. Operands are the receiver, then the parameters, of the
/// function that the table names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// `sync.Mutex.Lock`, `sync.Locker.Lock`, `sync.RWMutex.Lock`.
    Lock,
    /// `Unlock` of the same.
    Unlock,
    /// `TryLock` of the same.
    TryLock,
    /// `sync.RWMutex.RLock`.
    RLock,
    /// `sync.RWMutex.RUnlock`.
    RUnlock,
    /// `sync.RWMutex.TryRLock`.
    TryRLock,
    /// `sync.RWMutex.RLocker`: a `Locker` whose `Lock` is `RLock`.
    RLocker,
    /// `sync.WaitGroup.Add`.
    WaitGroupAdd,
    /// `sync.WaitGroup.Done`.
    WaitGroupDone,
    /// `sync.WaitGroup.Wait`.
    WaitGroupWait,
    /// `sync.WaitGroup.Go`: `Add(1)`, then the function in a goroutine, then `Done`.
    WaitGroupGo,
    /// `sync.Once.Do`.
    OnceDo,
    /// `sync.OnceFunc`, `OnceValue`, `OnceValues`: a function that runs its argument once.
    OnceFunc,
    /// `sync.NewCond`.
    NewCond,
    /// `sync.Cond.Wait`.
    CondWait,
    /// `sync.Cond.Signal`.
    CondSignal,
    /// `sync.Cond.Broadcast`.
    CondBroadcast,
    /// `sync.Map` and `sync.Pool`: holds what it is given and may give it to anybody.
    SharedStore,
    /// A load of an atomic value.
    AtomicLoad,
    /// A store to an atomic value.
    AtomicStore,
    /// An addition to an atomic integer; gives the new value.
    AtomicAdd,
    /// A swap of an atomic value; gives the old one.
    AtomicSwap,
    /// A compare-and-swap of an atomic value; gives whether it swapped.
    AtomicCompareAndSwap,
    /// `context.Background`, `context.TODO`: never ends.
    ContextBackground,
    /// `context.WithCancel`, `WithCancelCause`: a context and its cancel function.
    ContextWithCancel,
    /// `context.WithTimeout`, `WithDeadline` and their causes: may also end by itself.
    ContextWithDeadline,
    /// `context.WithValue`: ends with its parent.
    ContextWithValue,
    /// `context.WithoutCancel`: never ends.
    ContextWithoutCancel,
    /// `context.AfterFunc`: runs a function in a goroutine once the context has ended.
    ContextAfterFunc,
    /// `context.Context.Done`.
    ContextDone,
    /// `context.Context.Err`, `context.Cause`: not nil iff it has ended.
    ContextErr,
    /// `time.After`: a channel that gets one value some time.
    After,
    /// `time.AfterFunc`: runs a function in a goroutine some time.
    AfterFunc,
    /// `time.NewTimer`.
    NewTimer,
    /// `time.NewTicker`.
    NewTicker,
    /// `time.Tick`.
    Tick,
    /// `time.Timer.Stop`.
    TimerStop,
    /// `time.Timer.Reset`.
    TimerReset,
    /// `time.Ticker.Stop`.
    TickerStop,
    /// `time.Ticker.Reset`.
    TickerReset,
    /// `time.Sleep`: others run.
    Sleep,
    /// `runtime.Gosched`: others may run.
    Yield,
    /// `errgroup.WithContext`: a group, and a context that ends with the first error or `Wait`.
    ErrgroupWithContext,
    /// `errgroup.Group.Go`.
    ErrgroupGo,
    /// `errgroup.Group.TryGo`.
    ErrgroupTryGo,
    /// `errgroup.Group.Wait`.
    ErrgroupWait,
    /// `errgroup.Group.SetLimit`: `Go` waits for a place.
    ErrgroupSetLimit,
    /// `semaphore.NewWeighted`.
    NewSemaphore,
    /// `semaphore.Weighted.Acquire`: waits for its weight or the context.
    SemaphoreAcquire,
    /// `semaphore.Weighted.TryAcquire`.
    SemaphoreTryAcquire,
    /// `semaphore.Weighted.Release`.
    SemaphoreRelease,
    /// `singleflight.Group.Do`: runs the function, or waits for the one that does.
    SingleflightDo,
    /// `singleflight.Group.DoChan`: the same in a goroutine; the result comes on a channel of
    /// capacity 1.
    SingleflightDoChan,
    /// `io.Pipe`: a reader and a writer that wait for each other.
    NewPipe,
    /// A read from a pipe's reader.
    PipeRead,
    /// A write to a pipe's writer: waits until all of it is read.
    PipeWrite,
    /// `Close`, `CloseWithError` of a pipe's reader: ends writes.
    PipeCloseReader,
    /// `Close`, `CloseWithError` of a pipe's writer: ends reads.
    PipeCloseWriter,
    /// `signal.Notify`: the system may send on the channel, never blocking.
    SignalNotify,
    /// `signal.Stop`.
    SignalStop,
    /// `signal.NotifyContext`: a context that may end by itself, and its stop function.
    SignalNotifyContext,
    /// `testing.T.Error` and the like: the test has failed and goes on.
    TestFail,
    /// `testing.T.Cleanup`: runs when the test has ended.
    TestCleanup,
    /// `testing.T.Run`: runs the function as a subtest in a goroutine and waits for it.
    TestRun,
    /// `wait.Until` and the like: calls a function again and again until a channel closes.
    UntilStopped,
    /// `wait.UntilWithContext` and the like: the same until a context ends.
    UntilContext,
    /// `workqueue` `New...`: a queue that starts goroutines.
    NewQueue,
    /// `workqueue` `Get`: waits for an item or `ShutDown`.
    QueueGet,
    /// `workqueue` `Add`, `Done` and the like: never wait.
    QueueAdd,
    /// `workqueue` `ShutDown`: ends every `Get`.
    QueueShutDown,
}
