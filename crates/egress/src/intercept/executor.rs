//! Tasks of one connection, which end with it.

use hyper::rt::Executor;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinSet;

/// Runs the tasks that hyper starts for the streams of an HTTP/2 connection.
#[derive(Clone, Default)]
pub(super) struct ConnectionTasks {
    tasks: Arc<Mutex<JoinSet<()>>>,
}

/// Ends the tasks when it is dropped.
pub(super) struct TasksGuard(ConnectionTasks);

impl ConnectionTasks {
    pub(super) fn guard(&self) -> TasksGuard {
        TasksGuard(self.clone())
    }
}

impl<F> Executor<F> for ConnectionTasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            future.await;
        });
    }
}

impl Drop for TasksGuard {
    fn drop(&mut self) {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}
