//! What the catalog can say of a function, method, field, type or package: one struct per table,
//! with the fields that the table's entries have. `rules/catalog/README.md` is the same list for
//! those who write entries; a test compares the two.

use serde::Deserialize;

use super::{Carrier, End, Name, Place, TypeExpr};

/// One fact, by the table that it stands in.
#[derive(Clone, Debug)]
pub enum Fact {
    /// `[[blocking]]`
    Blocking(Blocking),
    /// `[[noreturn]]`
    NoReturn(NoReturn),
    /// `[[resource]]`
    Resource(Resource),
    /// `[[producer]]`
    Producer(Producer),
    /// `[[stream]]`
    Stream(Stream),
    /// `[[multiplexed]]`
    Multiplexed(Multiplexed),
    /// `[[transfer]]`
    Transfer(Transfer),
    /// `[[starter]]`
    Starter(Starter),
    /// `[[factory]]`
    Factory(Factory),
    /// `[[channel]]`
    Channel(Channel),
    /// `[[context]]`
    Context(Context),
    /// `[[type]]`
    Type(TypeRoles),
    /// `[[access]]`
    Access(Access),
    /// `[[copy]]`
    Copy(Copying),
    /// `[[filter]]`
    Filter(Filter),
    /// `[[chain]]`
    Chain(Chain),
    /// `[[subrouter]]`
    Subrouter(Subrouter),
    /// `[[callback]]`
    Callback(Callback),
    /// `[[pure]]`
    Pure(Pure),
    /// `[[nonblocking]]`
    NonBlocking(NonBlocking),
    /// `[[driver]]`
    Driver(Driver),
    /// `[[testing]]`
    Testing(Testing),
    /// `[[model]]`
    Model(Model),
    /// `[[signature]]`
    Signature(Signature),
}

/// A kind of fact, so that a look-up can ask for one: `facts.of::<Blocking>()`.
pub trait Kind: Sized + 'static {
    /// The fact, if it is of this kind.
    fn of(fact: &Fact) -> Option<&Self>;

    /// For a fact about a whole package, the functions `Name` and methods `Type.Name` for which
    /// it is not so.
    fn except(&self) -> &[Box<str>] {
        &[]
    }
}

macro_rules! kinds {
    ($($variant:ident($kind:ty) $(with $except:ident)?),* $(,)?) => {
        $(impl Kind for $kind {
            fn of(fact: &Fact) -> Option<&Self> {
                match fact {
                    Fact::$variant(fact) => Some(fact),
                    _ => None,
                }
            }

            $(fn except(&self) -> &[Box<str>] {
                &self.$except
            })?
        })*
    };
}

kinds! {
    Blocking(Blocking), NoReturn(NoReturn), Resource(Resource), Producer(Producer),
    Stream(Stream), Multiplexed(Multiplexed), Transfer(Transfer), Starter(Starter), Factory(Factory), Channel(Channel), Context(Context), Type(TypeRoles),
    Access(Access), Copy(Copying), Filter(Filter), Chain(Chain), Subrouter(Subrouter),
    Callback(Callback),
    Pure(Pure) with except, NonBlocking(NonBlocking) with except, Driver(Driver), Testing(Testing), Model(Model),
    Signature(Signature),
}

/// A call that waits for something outside the goroutine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocking {
    /// What it waits for.
    pub wait: Wait,
    /// Whether the call itself waits, or methods of what it returns.
    #[serde(default)]
    pub when: When,
    /// How a context can end the wait; without it no context can.
    pub context: Option<Carrier>,
    /// The sibling that takes a context.
    pub variant: Option<Name>,
    /// Whether the call with the variant's name and the context as a new first argument means the
    /// same in all else, so that a machine may write it.
    #[serde(default)]
    pub prepend: bool,
    /// What to write instead, where one name does not say it: for help texts.
    pub instead: Option<String>,
    /// Methods of the receiver that end the wait.
    #[serde(default)]
    pub ended_by: Vec<Box<str>>,
    /// Where a bound on the time stands, if the call has its own; zero means that there is none.
    pub timeout: Option<Place>,
    /// The option without which it does not wait: a call of this function is among its arguments.
    pub only_with: Option<Name>,
    /// Whether it gives up by itself soon, with a bound that code does not see.
    #[serde(default)]
    pub short: bool,
    /// Methods of the receiver, or of what it is made of, that put a bound on the time.
    #[serde(default)]
    pub bounded_by: Vec<Box<str>>,
    /// Texts of the first argument with which the peer is on the same machine, or is not asked.
    #[serde(default)]
    pub near: Vec<Box<str>>,
}

/// What a blocking call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// A network peer.
    Net,
    /// An HTTP server's answer.
    Http,
    /// Another process.
    Exec,
    /// A database.
    Sql,
    /// The answer to one remote call.
    Rpc,
    /// A stream, long poll or watch, which is meant to stay open: no deadline is asked of it.
    Stream,
    /// Time to pass.
    Sleep,
    /// Other goroutines.
    Goroutines,
    /// A condition that is asked again and again.
    Poll,
    /// A reader or writer whose other end may be slow.
    Io,
    /// A file lock or another lock of the system.
    Lock,
    /// A signal.
    Signal,
}

/// When a blocking function waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The call waits.
    #[default]
    Call,
    /// The call returns at once; the methods of its result wait (`exec.Command`).
    Result,
    /// Neither waits: listed since a variant with a context exists, which therefore does not
    /// matter for cancellation (`slog.Info`).
    Never,
}

/// A function that does not return to its caller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoReturn {
    /// What ends.
    #[serde(default)]
    pub ends: Ends,
    /// Where the call itself does return: the methods, called on its result or on what a chain of
    /// calls makes of it, that do not.
    #[serde(default)]
    pub through: Vec<Box<str>>,
}

/// What a function ends that does not return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// The process; deferred calls do not run.
    #[default]
    Process,
    /// The goroutine; its deferred calls run (`runtime.Goexit`, `t.FailNow`).
    Goroutine,
    /// It panics.
    Panic,
}

/// Something that goes on until it is ended: what a function returns or makes of its receiver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// What it is, for messages: "event broadcaster".
    pub what: Box<str>,
    /// Where it is; the first result if not said.
    #[serde(default = "Place::first_result")]
    pub place: Place,
    /// What ends it, any one of these.
    pub ends: Vec<End>,
    /// Methods after whose call there is something to end; at construction if empty.
    #[serde(default)]
    pub starts: Vec<Box<str>>,
    /// A context whose end ends it too.
    pub context: Option<Carrier>,
    /// A channel whose closing ends it too.
    pub stop: Option<Place>,
    /// Whether a goroutine of this process stays as long as it is not ended.
    #[serde(default)]
    pub goroutine: bool,
    /// Whether an option (a variadic argument) can tie it to something else, so that it counts
    /// only when none is given.
    #[serde(default)]
    pub without_options: bool,
    /// The functions whose results are the options that do so; any option if none is named.
    #[serde(default)]
    pub tied_by: Vec<Box<str>>,
}

/// A type whose goroutine sends on a channel that a method hands out, bare: leaving the loop over
/// that channel leaves the goroutine in its send, even when the end method was called.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Producer {
    /// The method that hands out the channel.
    pub channel: Box<str>,
    /// The methods that one would think end it.
    pub ends: Vec<Box<str>>,
}

/// What code that imports a package has to do with its streams, which generated methods open with a
/// context first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// The methods of a stream that send.
    pub send: Vec<Box<str>>,
    /// Those that receive: until one fails, the stream goes on.
    pub receive: Vec<Box<str>>,
    /// Those that leave it open.
    #[serde(default)]
    pub leave_open: Vec<Box<str>>,
}

/// A type of streams of which many share one connection: what one of them has received and nobody
/// reads holds up all others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multiplexed {
    /// What has no part in that: methods of the stream, and functions that take one.
    pub aside: Vec<End>,
}

/// A function that reads until there is nothing more, or until what it writes to fails.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// What is read.
    pub from: Place,
    /// What is written to.
    pub to: Place,
    /// Types and variables that never fail as what is written to.
    #[serde(default)]
    pub never_fails: Vec<Name>,
}

/// A function that goes on, or starts something that goes on, until a channel that it is given
/// closes or a context that it is given ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Starter {
    /// What goes on, for messages: "shared informers".
    pub what: Box<str>,
    /// The channel.
    pub stop: Option<Place>,
    /// The context.
    pub context: Option<Carrier>,
    /// Whether the call itself goes on (`Run`), instead of returning at once (`Start`).
    #[serde(default)]
    pub waits: bool,
    /// Methods of the receiver that end it too.
    #[serde(default)]
    pub ended_by: Vec<Box<str>>,
}

/// A type that makes informers, starts them, and waits until they have their first answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factory {
    /// Methods that start the informers asked for so far.
    pub start: Vec<Box<str>>,
    /// Methods that wait until the informers started so far have synced.
    pub wait: Vec<Box<str>>,
    /// Methods that wait until their goroutines have ended.
    #[serde(default)]
    pub shutdown: Vec<Box<str>>,
}

/// A channel that is there for others to wait on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// When it closes.
    pub closes: Closes,
}

/// When a channel closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Closes {
    /// Never.
    Never,
    /// When the process is told to end.
    Signal,
}

/// A function that gives a context.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// Where the context comes from.
    pub role: ContextRole,
    /// Which result it is.
    #[serde(default)]
    pub result: u32,
    /// The context that it is derived from.
    pub parent: Option<Place>,
    /// The result that is its cancel function.
    pub cancel: Option<u32>,
    /// Whether it always has a deadline of its own.
    #[serde(default)]
    pub deadline: bool,
    /// Whether it stands where the right context has not been decided on (`TODO`).
    #[serde(default)]
    pub undecided: bool,
    /// Methods by which somebody gives the receiver the context that it holds.
    #[serde(default)]
    pub given_by: Vec<Box<str>>,
    /// Methods that do the same with one that never ends.
    #[serde(default)]
    pub left_by: Vec<Box<str>>,
}

/// Where a context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextRole {
    /// It is new and never ends (`Background`, `TODO`).
    Root,
    /// It ends when its parent does.
    Derive,
    /// It has its parent's values but outlives it (`WithoutCancel`).
    Detach,
    /// It is the one that the receiver, or the parameter named by `parent`, holds.
    Accessor,
}

/// What values of a type are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeRoles {
    /// All that holds.
    pub roles: Vec<TypeRole>,
}

/// What values of a type can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TypeRole {
    /// A context: its `Done` ends waits.
    Context,
    /// It is a context in form only: its `Done` is nil, or does not close when the request ends.
    ContextInForm,
    /// It is reused for the next request once the handler has returned.
    Pooled,
    /// It writes the response of one request.
    ResponseWriter,
    /// It is one request.
    Request,
    /// What stands around the handling of one request: whoever is given it and a context handles one.
    Interceptor,
    /// It handles requests.
    Handler,
    /// It makes a handler of a handler.
    Middleware,
    /// A mutex or the like.
    Lock,
    /// A function that cancels a context.
    CancelFunc,
    /// A map, so that unsynchronised use is fatal.
    Map,
    /// A command of a program: its user runs what it holds, once.
    Command,
}

/// A method or field that reads or writes what several sides may share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// What it touches.
    pub part: Part,
    /// How.
    pub effect: Effect,
    /// Whose; the receiver if not said.
    #[serde(default = "Place::receiver")]
    pub of: Place,
}

/// A part of a request or response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The request's header map.
    RequestHeader,
    /// The request's body.
    RequestBody,
    /// The request's parsed form, which the first use fills.
    RequestForm,
    /// The response's header map.
    ResponseHeader,
    /// The response's status and body.
    Response,
    /// The receiver itself, where that is a header map.
    Header,
}

/// How an access touches its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It reads.
    Read,
    /// It writes, perhaps after reading.
    Write,
    /// It hands out the live map.
    Expose,
}

/// A function that copies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copying {
    /// How deep.
    pub depth: Depth,
    /// What is copied; the receiver if not said.
    #[serde(default = "Place::receiver")]
    pub of: Place,
}

/// How deep a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// The maps are shared with the original.
    Shallow,
    /// The header map is its own.
    Deep,
    /// The copy may be used after the handler has returned, though it shares the request's maps.
    Detached,
}

/// A function that makes a handler of a handler.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// The handler that it wraps; not said when it returns a function from handler to handler.
    pub handler: Option<Place>,
    /// Whether it runs the inner handler in a goroutine and may leave before that has finished.
    #[serde(default)]
    pub hands_off: bool,
    /// What the inner handler gets of the request.
    #[serde(default)]
    pub request: Share,
    /// What the inner handler gets of the response writer.
    #[serde(default)]
    pub writer: Share,
    /// Whether it reads request headers after the inner handler has returned.
    #[serde(default)]
    pub reads_header_after: bool,
    /// Whether it recovers panics of the inner handler.
    #[serde(default)]
    pub recovers: bool,
}

/// What a filter gives on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// Its own, or a shallow copy: the header map is shared.
    #[default]
    Shared,
    /// One with a header map of its own.
    Isolated,
    /// Its own, and it keeps it where the inner side can reach it in other ways.
    Stashed,
}

/// A method that adds middleware to a chain.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The middleware, variadic or one; it is added in the order of the arguments.
    pub middleware: Place,
    /// What the first one added becomes.
    pub order: Order,
    /// Whether it stands outside of what other methods add, whenever they do.
    #[serde(default)]
    pub outside: bool,
    /// Whether the method gives the router that it was called on.
    #[serde(default)]
    pub gives_router: bool,
}

/// A method that makes a router out of the one that it is called on: requests pass the filters of
/// that one first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subrouter {
    /// Which filters of the other router its requests pass.
    pub inherits: Inherits,
    /// The filters that it begins with, variadic.
    pub middleware: Option<Place>,
    /// What the first filter added becomes.
    #[serde(default)]
    pub order: Order,
    /// The function that is given the new router as its first parameter, before the call returns.
    pub callback: Option<Place>,
}

/// Which filters of a router those have that are made out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inherits {
    /// Those that were added before.
    Before,
    /// All, also those that are added later.
    All,
}

/// How the order of registration relates to the order of running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The first one added is outermost.
    #[default]
    OutermostFirst,
    /// The first one added is innermost.
    InnermostFirst,
}

/// A function that calls a function which it is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    /// The parameters that are called.
    pub params: Vec<Place>,
    /// When.
    pub called: Called,
}

/// When a callback is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Called {
    /// In this goroutine, before the function returns, any number of times.
    Before,
    /// In this goroutine, before the function returns, at most once.
    Once,
    /// In a new goroutine.
    Goroutine,
    /// Later, in another goroutine, never twice at the same time.
    Later,
    /// Once per request, concurrently with itself.
    Request,
    /// After the test or handler that registers it has ended.
    Cleanup,
}

/// A function that does not block other than in what it calls of its arguments, starts nothing,
/// and keeps none of its arguments once it has returned.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pure {
    /// What of its arguments it may call before it returns.
    #[serde(default)]
    pub calls: Calls,
    /// Whether its results or its receiver may hold its arguments.
    #[serde(default)]
    pub holds: bool,
    /// For a whole package: its functions and methods for which it is not so.
    #[serde(default)]
    pub except: Vec<Box<str>>,
}

/// What of its arguments a pure function may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Nothing.
    #[default]
    None,
    /// Arguments that are functions.
    Functions,
    /// Methods of arguments (`String`, `Error`, `Read`, `Less` ...), and arguments that are
    /// functions.
    Methods,
}

/// A function that may take a context but for its values or for form: it does not wait for
/// anything that a context could end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonBlocking {
    /// For a whole package: its functions and methods for which it is not so.
    #[serde(default)]
    pub except: Vec<Box<str>>,
}

/// A module whose packages give `database/sql` a driver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Whether the database is a part of the process, so that a query waits for no peer.
    pub in_process: bool,
}

/// A package that tests are written with: what imports it serves tests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Testing {}

/// A function that the abstract machine knows as one of its own operations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The operation.
    pub op: super::Op,
}

/// What a function takes and gives: stands in where its package is not there to be read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Types of the parameters, if they are said.
    pub params: Option<Vec<TypeExpr>>,
    /// Types of the results; for a field, its type.
    pub results: Vec<TypeExpr>,
}
