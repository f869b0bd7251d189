//! What a run tells: findings with their labels in order of time, and notes on files.
//!
//! Plain data. It knows neither how a finding was made nor how it will be printed.

use crate::source::Location;

/// How bad it is when the finding's path is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Needs a slow or dead peer.
    Warning,
    /// Gets stuck or races whenever the stated path is taken.
    Error,
}

/// How much evidence the finding rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// By names only, or only when a test has already failed. Not shown by default.
    Low,
    /// Needs an error, timeout or context branch that was not seen to be taken.
    Medium,
    /// All that it rests on is known.
    High,
}

/// What a label's place has to do with the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Where the object at fault is made.
    Made,
    /// Where the goroutine is started.
    Started,
    /// Where a goroutine stays.
    Stuck,
    /// Where the partner leaves, or what it does instead.
    Left,
    /// A condition that was decided on the way.
    Condition,
    /// Anything else that the story needs.
    Context,
}

/// A place that the finding speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub location: Location,
    /// What it has to do with the fault.
    pub role: Role,
    /// What happens there: lower case, no full stop, Go names in backticks.
    pub message: String,
}

/// Whether applying a fix can change what correct code does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Safety {
    /// Certainly right.
    Safe,
    /// A person has to look.
    Unsafe,
}

/// Replaces the bytes of a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span inserts.
    pub location: Location,
    /// What stands there afterwards.
    pub replacement: String,
}

/// A way out that a machine can apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does: lower case, no full stop.
    pub message: String,
    /// Whether it can be applied unseen.
    pub safety: Safety,
    /// Edits that do not overlap.
    pub edits: Vec<Edit>,
}

/// A claim of a rule, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Id of the rule, as `watch-not-drained`.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// How much evidence there is.
    pub confidence: Confidence,
    /// What happens to whom and when: lower case, no full stop, Go names in backticks.
    pub message: String,
    /// Where it gets stuck or races: the place that is shown first.
    pub primary: Location,
    /// What the primary place is labelled with, in a word or two.
    pub primary_label: String,
    /// The other places of the story, in order of time.
    pub labels: Vec<Label>,
    /// Why nobody will come; shown as a note. May be empty.
    pub why: String,
    /// The way out; shown as help. May be empty.
    pub help: String,
    /// Machine-applicable ways out, best first.
    pub fixes: Vec<Fix>,
    /// The object or handoff at fault: findings with one defect key are one finding.
    pub defect: Location,
}

/// Why a file, or a part of it, was not analysed, or was analysed with less knowledge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The path as shown to people, relative to the working directory where possible.
    pub path: String,
    /// Line and column (from 1), where the note is about a place.
    pub line_column: Option<(u32, u32)>,
    /// What kind of trouble it is: decides the exit code and the summary's counts.
    pub kind: NoteKind,
    /// What is wrong and what follows: lower case, no full stop.
    pub message: String,
}

/// The kinds of trouble a run can meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoteKind {
    /// The file has a syntax error; the functions around it are analysed.
    ParseError,
    /// The file is larger than the limit, and skipped.
    TooLarge,
    /// The file is not a regular file, and never opened blocking.
    NotRegular,
    /// No build satisfies the file's constraints, and it is skipped.
    NeverBuilt,
    /// The path could not be read: exit code 2.
    Unreadable,
    /// A path given on the command line does not exist: exit code 2.
    Missing,
    /// A go.mod, go.work or modules.txt that does not parse; the run goes on without it.
    BadModuleFile,
    /// A bound on what is read of dependencies was reached; less is known than could be.
    DependencyBound,
    /// A rule needed more steps for a function than it has; its answer is not known.
    StepBound,
    /// A rule or phase panicked: exit code 2.
    InternalError,
}

impl NoteKind {
    /// Whether the run as a whole counts as failed (exit code 2).
    pub fn is_failure(self) -> bool {
        matches!(self, NoteKind::Unreadable | NoteKind::Missing | NoteKind::InternalError)
    }
}
