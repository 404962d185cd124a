//! A second runtime, to prove that nothing depends on the native one: the same jail, launched by a thread of the
//! control plane instead of a keeper process.
//!
//! A jail is contained and limited as in the native runtime, because the launcher is the same. What differs is the
//! end of a killed control plane: the kernel ends the jails with it, and their folders and cgroups stay until the
//! next start reaps them.

use jail::launch::{self, LocalInstance, Supervisor};
use jail::template::Template;
use jail::{
    CpuWeight, InstanceReport, JailError, JailId, JailSpec, JailState, JailStats, LossNotifier,
    NativeOptions, PreparedJail, Reaped, Runtime, RuntimeBackend, RuntimeInfo, RuntimeReport,
    verified_template,
};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What the launcher thread is asked to do.
type Job = Box<dyn FnOnce(&mut Supervisor) + Send>;

/// Runs jails from a thread that lives as long as the runtime.
pub struct ThreadRuntime {
    info: RuntimeInfo,
    runtime_dir: PathBuf,
    /// Kept, because a template in use is not removed.
    template: Template,
    instance: LocalInstance,
    /// `None` once shut down.
    launcher: Mutex<Option<LauncherThread>>,
    state: Arc<ThreadState>,
}

/// What the launcher thread shares with those who watch it.
#[derive(Default)]
struct ThreadState {
    shut_down: AtomicBool,
    watchers: Mutex<Vec<LossNotifier>>,
}

struct LauncherThread {
    jobs: Sender<Job>,
    /// A byte wakes the thread; closing it ends the thread.
    wake: UnixStream,
    thread: JoinHandle<Result<(), JailError>>,
}

/// The settings of the native runtime, for a [`ThreadRuntime`]. The keeper command is not used.
#[derive(Clone, Debug)]
pub struct ThreadOptions(pub NativeOptions);

impl RuntimeBackend for ThreadOptions {
    fn start(&self) -> Result<Arc<dyn Runtime>, JailError> {
        Ok(Arc::new(ThreadRuntime::start_from(verified_template(&self.0)?, &self.0)?))
    }

    fn doctor(&self) -> RuntimeReport {
        self.0.doctor()
    }

    fn list(&self) -> Result<Vec<InstanceReport>, JailError> {
        self.0.list()
    }

    fn reap(&self) -> Result<Reaped, JailError> {
        self.0.reap()
    }
}

impl ThreadRuntime {
    /// Starts the launcher thread with a template that the caller has verified.
    pub fn start_from(template: Template, options: &NativeOptions) -> Result<ThreadRuntime, JailError> {
        let (instance, reaped) = LocalInstance::create(&options.runtime_dir, &options.cgroup)?;
        let state = Arc::new(ThreadState::default());
        let launcher = LauncherThread::start(Supervisor::new(instance.launcher()), state.clone());
        let launcher = match launcher {
            Ok(launcher) => launcher,
            Err(error) => {
                instance.clear()?;
                return Err(failed("starting the launcher thread", error));
            }
        };
        let info = RuntimeInfo {
            kind: "thread",
            instance: instance.id().clone(),
            enforcement: instance.enforcement(),
            template: template.id().to_owned(),
            browser_program: template.browser().to_owned(),
            browser_version: template.browser_version().to_owned(),
            reaped,
        };
        let launcher = Mutex::new(Some(launcher));
        Ok(ThreadRuntime {
            info,
            runtime_dir: options.runtime_dir.clone(),
            template,
            instance,
            launcher,
            state,
        })
    }

    /// Does something on the launcher thread and waits for it.
    fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Supervisor) -> Result<T, JailError> + Send + 'static,
    ) -> Result<T, JailError> {
        let (sender, done) = mpsc::channel();
        lock(&self.launcher).as_mut().ok_or_else(|| lost("it was shut down"))?.submit(Box::new(
            move |jails| {
                // A caller that is gone does not need the result.
                if sender.send(job(jails)).is_err() {}
            },
        ))?;
        done.recv().map_err(|_| lost("its launcher thread ended"))?
    }
}

impl Runtime for ThreadRuntime {
    fn info(&self) -> &RuntimeInfo {
        &self.info
    }

    fn prepare(&self, jail: &JailId) -> Result<PreparedJail, JailError> {
        self.instance.prepare(jail)
    }

    fn start(&self, spec: &JailSpec) -> Result<(), JailError> {
        let (spec, root) = (spec.clone(), self.template.root().to_owned());
        self.run(move |jails| jails.start(spec, &root).map(|_| ()))
    }

    fn state(&self, jail: &JailId) -> Result<Option<JailState>, JailError> {
        let jail = jail.clone();
        self.run(move |jails| Ok(jails.state(&jail)))
    }

    fn stats(&self, jail: &JailId) -> Result<Option<JailStats>, JailError> {
        let jail = jail.clone();
        self.run(move |jails| jails.stats(&jail))
    }

    fn cpu_usage(&self, jail: &JailId) -> Result<Option<Duration>, JailError> {
        self.instance.cpu_usage(jail)
    }

    fn set_cpu(&self, jail: &JailId, processors: Option<f64>) -> Result<(), JailError> {
        self.instance.set_cpu(jail, processors)
    }

    fn set_cpu_weight(&self, jail: &JailId, weight: CpuWeight) -> Result<(), JailError> {
        self.instance.set_cpu_weight(jail, weight)
    }

    fn log_tail(&self, jail: &JailId) -> Result<String, JailError> {
        let jail = jail.clone();
        self.run(move |jails| jails.log_tail(&jail))
    }

    fn destroy(&self, jail: &JailId) -> Result<Option<JailStats>, JailError> {
        let jail = jail.clone();
        self.run(move |jails| jails.destroy(&jail))
    }

    fn reap(&self) -> Result<Reaped, JailError> {
        launch::reap(&self.runtime_dir)
    }

    fn on_lost(&self, notify: LossNotifier) -> Result<(), JailError> {
        lock(&self.state.watchers).push(notify);
        Ok(())
    }

    fn shutdown(&self) -> Result<(), JailError> {
        // Held to the end, so that a second caller does not return before all is gone either.
        let mut launcher = lock(&self.launcher);
        let Some(LauncherThread { jobs, wake, thread }) = launcher.take() else { return Ok(()) };
        self.state.shut_down.store(true, Ordering::SeqCst);
        drop((jobs, wake));
        thread.join().map_err(|_| lost("its launcher thread panicked"))??;
        lock(&self.state.watchers).clear();
        self.instance.clear()
    }
}

impl Drop for ThreadRuntime {
    fn drop(&mut self) {
        if let Err(error) = self.shutdown() {
            // Tests must notice, but not abort while they unwind.
            assert!(thread::panicking(), "the launcher thread was not shut down cleanly: {error}");
        }
    }
}

impl LauncherThread {
    fn start(mut jails: Supervisor, state: Arc<ThreadState>) -> io::Result<LauncherThread> {
        let (jobs, queue) = mpsc::channel();
        let (wake, woken) = UnixStream::pair()?;
        let work = move || {
            let served = serve(&mut jails, &queue, woken);
            let cleared = jails.clear();
            if !state.shut_down.load(Ordering::SeqCst) {
                let why = served.as_ref().err().map_or_else(|| "it ended".to_owned(), ToString::to_string);
                lock(&state.watchers).drain(..).for_each(|notify| notify(&why));
            }
            cleared.and(served)
        };
        let thread = thread::Builder::new().name("jail-launcher".to_owned()).spawn(work)?;
        Ok(LauncherThread { jobs, wake, thread })
    }

    fn submit(&mut self, job: Job) -> Result<(), JailError> {
        self.jobs.send(job).map_err(|_| lost("its launcher thread ended"))?;
        self.wake.write_all(&[1]).map_err(|error| failed("waking the launcher thread", error))
    }
}

/// Does one job for each byte, until the other end is closed.
fn serve(jails: &mut Supervisor, jobs: &Receiver<Job>, mut woken: UnixStream) -> Result<(), JailError> {
    loop {
        if !jails.wait(woken.as_fd())? {
            continue;
        }
        let read = woken.read(&mut [0]).map_err(|error| failed("waiting for jobs", error))?;
        match jobs.try_recv() {
            Ok(job) if read == 1 => job(jails),
            _ => return Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lost(why: &str) -> JailError {
    JailError::RuntimeLost { why: why.to_owned() }
}

fn failed(what: &'static str, source: io::Error) -> JailError {
    JailError::System { what, source }
}
