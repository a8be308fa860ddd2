//! Refused memory as Python knows it: `MemoryError`, or one line at the end of the process.

use fairway_resources::{Reserve, Shortage};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// Serves small requests when the system refuses memory, so that a run ends instead of the process.
#[global_allocator]
static MEMORY: Reserve = Reserve::new();

/// Does `work` without the GIL. An error that followed from refused memory is `MemoryError`.
pub(crate) fn without_gil<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let shortage = Shortage::watch();
        work().map_err(|error| if shortage.was_met() { refused() } else { error })
    })
}

/// The error of work that had to stop for want of memory.
pub(crate) fn refused() -> PyErr {
    PyMemoryError::new_err("the system refused memory to the simulator")
}

/// End the process in words where a library would abort it: `sentence` goes to the file descriptor `to`.
#[pyfunction]
pub(crate) fn before_abort(to: i32, sentence: String) {
    #[cfg(unix)]
    fairway_resources::before_abort(to, sentence);
    #[cfg(not(unix))]
    let _ = (to, sentence);
}
