//! Where the cache is if nobody says.

use std::ffi::OsString;
use std::path::PathBuf;

/// The directory of straggler in the user's cache directory, as the platform has it; `None` if
/// `variable`, which gives the variables of the environment, knows of no user.
pub fn default_dir(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let of_user = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join("Library/Caches")))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
    };
    Some(of_user?.join("straggler"))
}

#[cfg(all(test, unix, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        assert_eq!(default_dir(variable), expected.map(PathBuf::from));
    }

    #[test]
    fn the_users_cache_directory() {
        check(&[("HOME", "/home/me")], Some("/home/me/.cache/straggler"));
        check(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "/c")], Some("/c/straggler"));
        // A relative path is to be ignored, says the XDG specification.
        check(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "c")], Some("/home/me/.cache/straggler"));
        check(&[("XDG_CACHE_HOME", "")], None);
        check(&[], None);
    }
}
