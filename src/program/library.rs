//! What the machine knows of Go's libraries: the types and functions that are part of Go's
//! concurrency, and the packages that keep nothing of what they are given.
//!
//! These are the run-time primitives themselves (`sync`, `context`, `time`), which the machine
//! implements; what other libraries do is data in the catalog.

/// A library type that the machine implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LibType {
    /// `sync.Mutex`
    Mutex,
    /// `sync.RWMutex`
    RwMutex,
    /// `sync.WaitGroup`
    WaitGroup,
    /// `sync.Once`
    Once,
    /// `sync.Cond`
    Cond,
    /// `sync.Locker`
    Locker,
    /// A boolean of `sync/atomic`.
    AtomicBool,
    /// A number of `sync/atomic`.
    AtomicInt,
    /// A pointer or value of `sync/atomic`.
    AtomicValue,
    /// `context.Context`
    Context,
    /// `context.CancelFunc` and `context.CancelCauseFunc`
    CancelFunc,
    /// `time.Timer`
    Timer,
    /// `time.Ticker`
    Ticker,
    /// `time.Duration`
    Duration,
    /// `errgroup.Group`
    Group,
    /// `semaphore.Weighted`
    Semaphore,
    /// `testing.T` and its kin.
    Testing,
    /// `http.Request`: its context ends with the request.
    Request,
}

/// What a function or variable of a library means to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intrinsic {
    /// Unknown: its arguments escape.
    Unknown,
    /// Keeps nothing of its arguments and waits for nobody; functions given to it are still
    /// called by it.
    Pure,
    /// Makes an error from text.
    NewError,
    /// A server of `net/http`, which comes back with an error and never without one.
    Serves,
    /// Adds to the error that it is given first; gives nil if that is nil.
    WrapError,
    /// `errors.Is`: never of nil.
    ErrorIs,
    /// Ends the process.
    Exit,
    /// `context.Background`, `context.TODO`
    Background,
    /// `context.WithCancel` and the like.
    WithCancel,
    /// `context.WithTimeout` and the like: may end by itself.
    WithDeadline,
    /// `context.WithValue`
    WithValue,
    /// `context.WithoutCancel`
    WithoutCancel,
    /// `signal.NotifyContext`
    NotifyContext,
    /// `context.AfterFunc`
    ContextAfterFunc,
    /// `time.After`
    After,
    /// `time.Tick`
    Tick,
    /// `time.NewTimer`
    NewTimer,
    /// `time.NewTicker`
    NewTicker,
    /// `time.AfterFunc`
    AfterFunc,
    /// `time.Sleep`
    Sleep,
    /// `runtime.Gosched`
    Yield,
    /// `runtime.Goexit`
    Goexit,
    /// `runtime.NumCPU` and the like: more than none.
    Processors,
    /// `sync.NewCond`
    NewCond,
    /// `sync.OnceFunc` and the like.
    OnceFunc,
    /// `errgroup.WithContext`
    GroupWithContext,
    /// `semaphore.NewWeighted`
    NewSemaphore,
    /// `signal.Notify`
    Notify,
    /// `atomic.LoadInt32` and the like.
    AtomicLoad,
    /// `atomic.StoreInt32` and the like.
    AtomicStore,
    /// `atomic.AddInt32` and the like.
    AtomicAdd,
    /// `atomic.SwapInt32` and the like.
    AtomicSwap,
    /// `atomic.CompareAndSwapInt32` and the like.
    AtomicCompareAndSwap,
    /// `io.ReadAll` and the like: calls `Read` of its argument, once or until it ends.
    CallsRead,
    /// `fmt.Println` and the like: calls `String` or `Error` of its arguments.
    CallsString,
    /// `fmt.Fprintln` and the like: calls `Write` of what is printed to, and what [`Intrinsic::CallsString`] does.
    CallsWrite,
}

/// The package `sync` for what stands in for it: packages that wrap it have types of the same names and methods,
/// which do something besides. <https://github.com/sasha-s/go-deadlock> with its forks tells of deadlocks (deadlock.go
/// of v0.3.9); many projects have a package `sync`, `syncs` or `syncutil` of their own that can log or check.
fn as_of_sync<'p>(path: &'p str, name: &str) -> &'p str {
    let last = path.rsplit('/').next().unwrap_or(path);
    let wraps = matches!(last, "sync" | "syncs" | "syncutil") && path.contains('/');
    let is_lock = matches!(name, "Mutex" | "RWMutex");
    if last == "go-deadlock" || wraps && is_lock { "sync" } else { path }
}

/// The value of a constant of package `math`, as on a machine of 64 bits.
pub fn library_constant(path: &str, name: &str) -> Option<i64> {
    match (path, name) {
        ("math", "MaxInt" | "MaxInt64") => Some(i64::MAX),
        ("math", "MaxInt32") => Some(i32::MAX.into()),
        _ => None,
    }
}

/// The modelled type `path.name`.
pub fn lib_type(path: &str, name: &str) -> Option<LibType> {
    Some(match (as_of_sync(path, name), name) {
        ("sync", "Mutex") => LibType::Mutex,
        ("sync", "RWMutex") => LibType::RwMutex,
        ("sync", "WaitGroup") => LibType::WaitGroup,
        ("sync", "Once") => LibType::Once,
        ("sync", "Cond") => LibType::Cond,
        ("sync", "Locker") => LibType::Locker,
        ("sync/atomic", "Bool") => LibType::AtomicBool,
        ("sync/atomic", "Int32" | "Int64" | "Uint32" | "Uint64" | "Uintptr") => LibType::AtomicInt,
        ("sync/atomic", "Value" | "Pointer") => LibType::AtomicValue,
        ("context" | "golang.org/x/net/context", "Context") => LibType::Context,
        ("context" | "golang.org/x/net/context", "CancelFunc" | "CancelCauseFunc") => {
            LibType::CancelFunc
        }
        ("time", "Timer") => LibType::Timer,
        ("time", "Ticker") => LibType::Ticker,
        ("time", "Duration") => LibType::Duration,
        ("golang.org/x/sync/errgroup", "Group") => LibType::Group,
        ("golang.org/x/sync/semaphore", "Weighted") => LibType::Semaphore,
        ("testing", "T" | "B" | "F" | "TB") => LibType::Testing,
        ("net/http", "Request") => LibType::Request,
        _ => return None,
    })
}

impl Intrinsic {
    /// Whether a call gives a channel that somebody may wait for without naming an operation, or a
    /// function that does.
    pub fn gives_waits(self) -> bool {
        matches!(
            self,
            Intrinsic::After
                | Intrinsic::Tick
                | Intrinsic::NewTimer
                | Intrinsic::NewTicker
                | Intrinsic::OnceFunc
        )
    }

    /// The methods of its arguments that a call runs.
    pub fn runs(self) -> &'static [&'static str] {
        match self {
            Intrinsic::CallsString => &["String", "Error"],
            Intrinsic::CallsRead => &["Read", "Write"],
            Intrinsic::CallsWrite => &["Write", "String", "Error"],
            _ => &[],
        }
    }

    /// Whether a call keeps nothing of its arguments and waits for nobody.
    pub fn is_harmless(self) -> bool {
        matches!(
            self,
            Intrinsic::Pure
                | Intrinsic::NewError
                | Intrinsic::WrapError
                | Intrinsic::ErrorIs
                | Intrinsic::CallsString
                | Intrinsic::CallsWrite
                | Intrinsic::Processors
        )
    }
}

/// What `path.name` means, when it is called.
pub fn intrinsic(path: &str, name: &str) -> Intrinsic {
    match (path, name) {
        ("context" | "golang.org/x/net/context", _) => match name {
            "Background" | "TODO" => Intrinsic::Background,
            "WithCancel" | "WithCancelCause" => Intrinsic::WithCancel,
            "WithTimeout" | "WithDeadline" | "WithTimeoutCause" | "WithDeadlineCause" => {
                Intrinsic::WithDeadline
            }
            "WithValue" => Intrinsic::WithValue,
            "WithoutCancel" => Intrinsic::WithoutCancel,
            "AfterFunc" => Intrinsic::ContextAfterFunc,
            _ => Intrinsic::Pure,
        },
        ("time", _) => match name {
            "After" => Intrinsic::After,
            "Tick" => Intrinsic::Tick,
            "NewTimer" => Intrinsic::NewTimer,
            "NewTicker" => Intrinsic::NewTicker,
            "AfterFunc" => Intrinsic::AfterFunc,
            "Sleep" => Intrinsic::Sleep,
            _ => Intrinsic::Pure,
        },
        ("runtime", "Gosched") => Intrinsic::Yield,
        ("runtime", "Goexit") => Intrinsic::Goexit,
        ("runtime", "NumCPU" | "GOMAXPROCS") => Intrinsic::Processors,
        ("sync", "NewCond") => Intrinsic::NewCond,
        ("sync", "OnceFunc" | "OnceValue" | "OnceValues") => Intrinsic::OnceFunc,
        ("golang.org/x/sync/errgroup", "WithContext") => Intrinsic::GroupWithContext,
        ("golang.org/x/sync/semaphore", "NewWeighted") => Intrinsic::NewSemaphore,
        ("os/signal", "NotifyContext") => Intrinsic::NotifyContext,
        ("os/signal", "Notify") => Intrinsic::Notify,
        ("os", "Exit") => Intrinsic::Exit,
        ("log", _) if name.starts_with("Fatal") || name.starts_with("Panic") => Intrinsic::Exit,
        ("errors", "New")
        | ("fmt", "Errorf")
        | ("google.golang.org/grpc/status", "Error" | "Errorf") => Intrinsic::NewError,
        (
            "errors"
            | "github.com/pkg/errors"
            | "golang.org/x/xerrors"
            | "github.com/cockroachdb/errors",
            "Is",
        ) => Intrinsic::ErrorIs,
        ("net/http", "Serve" | "ServeTLS") => Intrinsic::Serves,
        ("net/http", _) if serves(name) => Intrinsic::Serves,
        (
            "github.com/pkg/errors" | "golang.org/x/xerrors" | "github.com/cockroachdb/errors",
            "New" | "Errorf",
        ) => Intrinsic::NewError,
        (
            "github.com/pkg/errors" | "github.com/cockroachdb/errors",
            "Wrap" | "Wrapf" | "WithMessage" | "WithMessagef" | "WithStack",
        ) => Intrinsic::WrapError,
        ("fmt", _) if name.starts_with("Fprint") => Intrinsic::CallsWrite,
        ("fmt", _) if name.contains("rint") => Intrinsic::CallsString,
        ("io" | "io/ioutil", "ReadAll" | "ReadFull" | "Copy" | "CopyN" | "ReadAtLeast") => {
            Intrinsic::CallsRead
        }
        ("sync/atomic", _) => match name {
            _ if name.starts_with("Load") => Intrinsic::AtomicLoad,
            _ if name.starts_with("Store") => Intrinsic::AtomicStore,
            _ if name.starts_with("Add") => Intrinsic::AtomicAdd,
            _ if name.starts_with("Swap") => Intrinsic::AtomicSwap,
            _ if name.starts_with("CompareAndSwap") => Intrinsic::AtomicCompareAndSwap,
            _ => Intrinsic::Pure,
        },
        ("reflect", _) => Intrinsic::Unknown,
        _ if PURE_PACKAGES.contains(&path) => Intrinsic::Pure,
        // As with methods of this name: loggers end the process.
        (_, "Fatal" | "Fatalf" | "Fatalln" | "FatalDepth" | "Fatalw") => Intrinsic::Exit,
        _ => Intrinsic::Unknown,
    }
}

/// Whether a function or method of this name serves until it fails, as those of `net/http`: "ListenAndServe always
/// returns a non-nil error" (<https://pkg.go.dev/net/http#ListenAndServe>).
pub fn serves(name: &str) -> bool {
    matches!(name, "ListenAndServe" | "ListenAndServeTLS")
}

/// Whether a method of this name may block on, or wake, another goroutine when the receiver is
/// not known: the names of the methods of [`LibType`].
pub fn may_synchronise(name: &str) -> bool {
    matches!(
        name,
        "Lock"
            | "Unlock"
            | "RLock"
            | "RUnlock"
            | "TryLock"
            | "TryRLock"
            | "Wait"
            | "Done"
            | "Add"
            | "Broadcast"
            | "Signal"
            | "Do"
            | "Go"
            | "Acquire"
            | "Release"
            | "Fatal"
            | "Fatalf"
            | "FailNow"
            | "Skip"
            | "Skipf"
            | "SkipNow"
    )
}

/// Whether a method of a [`LibType`] of this name may wait, or count below zero, or give what may be
/// waited for.
pub fn may_wait(name: &str) -> bool {
    matches!(name, "Lock" | "RLock" | "Wait" | "Done" | "Add" | "Do" | "Go" | "TryGo" | "Acquire")
}

/// The methods of interfaces that functions of [`PURE_PACKAGES`] take, and may call: `io.Writer`,
/// `sort.Interface`, `fmt.Formatter`, `json.Marshaler`, `slog.Handler` and the like.
pub const CALLED_BACK: [&str; 16] = [
    "Write",
    "WriteString",
    "Read",
    "Len",
    "Less",
    "Swap",
    "Format",
    "GoString",
    "String",
    "Error",
    "MarshalJSON",
    "UnmarshalJSON",
    "MarshalText",
    "UnmarshalText",
    "Handle",
    "LogValue",
];

/// Packages that keep nothing of what they are given and wait for nobody.
const PURE_PACKAGES: &[&str] = &[
    "bytes",
    "cmp",
    "crypto/sha256",
    "encoding/base64",
    "encoding/binary",
    "encoding/hex",
    "encoding/json",
    "errors",
    "fmt",
    "hash/fnv",
    "io/fs",
    "log",
    "log/slog",
    "maps",
    "math",
    "math/bits",
    "math/rand",
    "math/rand/v2",
    "net/url",
    "os",
    "path",
    "path/filepath",
    "regexp",
    "runtime",
    "runtime/debug",
    "slices",
    "sort",
    "strconv",
    "strings",
    "testing",
    "text/tabwriter",
    "unicode",
    "unicode/utf8",
    "unsafe",
];
