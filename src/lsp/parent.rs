//! The process that started the server: when it ends without a word, so does the server.

use std::thread;
use std::time::Duration;

const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// Comes back when there is no such process any more.
pub fn wait_for_end(process: i32) {
    while is_alive(process) {
        thread::sleep(LOOK_AGAIN);
    }
}

/// One that has ended and that nobody has buried yet answers like a living one, but has no children
/// any more: if the server was its child, it has another parent now.
#[cfg(unix)]
fn is_alive(process: i32) -> bool {
    use std::os::unix::process::parent_id;
    use std::sync::OnceLock;

    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    static FIRST_PARENT: OnceLock<u32> = OnceLock::new();
    let parent = *FIRST_PARENT.get_or_init(parent_id);
    if u32::try_from(process) == Ok(parent) && parent_id() != parent {
        return false;
    }
    let Some(process) = Pid::from_raw(process) else { return false };
    test_kill_process(process) != Err(Errno::SRCH)
}

/// Where there is no way to ask without unsafe code, the end of the input has to do.
#[cfg(not(unix))]
fn is_alive(_: i32) -> bool {
    true
}
