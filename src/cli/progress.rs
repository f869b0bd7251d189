//! A progress bar on a terminal's standard error, for runs that last.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::analysis::Progress;

/// Shorter runs show nothing.
const PATIENCE: Duration = Duration::from_millis(500);

const REDRAW: Duration = Duration::from_millis(100);

/// Does `work`, and shows how far it is if that takes long and somebody is watching.
pub fn shown<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (finished, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(|| draw(progress, wait));
        let result = work();
        drop(finished);
        result
    })
}

/// Draws until the sender of `wait` is gone.
fn draw(progress: &Progress, wait: mpsc::Receiver<()>) {
    if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let style = ProgressStyle::with_template("{bar:32} {pos}/{len} files and packages")
        .expect("the template is a constant");
    let target = ProgressDrawTarget::stderr();
    let bar = ProgressBar::with_draw_target(Some(0), target).with_style(style);
    while wait.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
        bar.set_length(progress.total.load(Ordering::Relaxed) as u64);
        bar.set_position(progress.done.load(Ordering::Relaxed) as u64);
    }
    bar.finish_and_clear();
}
