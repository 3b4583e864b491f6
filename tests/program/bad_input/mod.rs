//! Whatever is wrong with what the program is given: one clear error that says
//! what to do, the right exit code, and nothing lost. That nothing panics is looked
//! at in every test of the program.

mod application_file;
mod plugins_directory;
mod state_file;
mod surroundings;

use stagewright_tests::Ended;

/// Demands one error and nothing else.
#[track_caller]
pub(crate) fn one_error(ended: Ended, code: i32) -> Ended {
    let ended = ended.exits(code);
    assert_eq!(ended.stdout, "", "{ended} wrote a result");
    let errors = ended.stderr.matches("error:").count();
    assert_eq!(errors, 1, "{ended} should have one error");
    ended
}
