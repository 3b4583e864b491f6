//! A plugin that dies at a chosen step, another that acts at one, and an eye on
//! the target at every step.

use std::cell::{Cell, RefCell};
use std::io;

type Eye = Box<dyn Fn()>;
type Other = (usize, Box<dyn FnOnce()>);

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
    static LAST: Cell<Option<usize>> = const { Cell::new(None) };
    static EYE: RefCell<Option<Eye>> = const { RefCell::new(None) };
    static OTHER: RefCell<Option<Other>> = const { RefCell::new(None) };
}

/// Stands before each change to the outside. After the last one that is allowed,
/// none works any more: what is dead does not even tidy up.
pub(crate) fn step() -> io::Result<()> {
    EYE.with_borrow(|eye| {
        if let Some(look) = eye {
            look();
        }
    });
    let done = STEPS.get();
    if OTHER.with_borrow(|other| other.as_ref().is_some_and(|(at, _)| *at == done))
        && let Some((_, act)) = OTHER.take()
    {
        act();
    }
    if LAST.get().is_some_and(|last| done >= last) {
        return Err(io::Error::other("killed"));
    }
    STEPS.set(done + 1);
    Ok(())
}

/// Runs something that dies after so many steps.
pub(super) fn after<R>(steps: usize, run: impl FnOnce() -> R) -> R {
    STEPS.set(0);
    LAST.set(Some(steps));
    let result = run();
    LAST.set(None);
    result
}

/// How many steps something takes.
pub(super) fn steps_of(run: impl FnOnce()) -> usize {
    STEPS.set(0);
    run();
    STEPS.get()
}

/// Runs something while another acts before its step of this number.
pub(super) fn before<R>(at: usize, act: impl FnOnce() + 'static, run: impl FnOnce() -> R) -> R {
    STEPS.set(0);
    OTHER.set(Some((at, Box::new(act))));
    let result = run();
    assert!(OTHER.take().is_none(), "step {at} was never reached");
    result
}

/// Looks before every step of a run, and once after.
pub(super) fn watching<R>(eye: impl Fn() + 'static, run: impl FnOnce() -> R) -> R {
    EYE.set(Some(Box::new(eye)));
    let result = run();
    if let Some(look) = EYE.take() {
        look();
    }
    result
}

/// How many steps the run under way has taken.
pub(super) fn taken() -> usize {
    STEPS.get()
}
