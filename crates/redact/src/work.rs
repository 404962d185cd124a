//! How much a search does, in steps that take the same time: tests show by it what a search costs.

#[cfg(test)]
thread_local! {
    /// The steps since [`work_of`] began.
    static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
pub(crate) fn count_work(steps: usize) {
    WORK.set(WORK.get() + steps);
}

/// The steps that a search takes.
#[cfg(test)]
pub(crate) fn work_of(search: impl FnOnce()) -> usize {
    WORK.set(0);
    search();
    WORK.get()
}

#[cfg(not(test))]
pub(crate) fn count_work(_: usize) {}
