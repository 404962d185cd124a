//! The controller against a runtime that counts and remembers instead of running jails.

use super::*;
use jail::{
    CpuWeight, Enforcement, InstanceId, JailSpec, JailState, JailStats, LossNotifier, PreparedJail, Reaped,
    RuntimeInfo,
};
use std::io;

/// What the kernel would hold for every jail, and each change of it.
#[derive(Default)]
struct Kernel {
    usage: BTreeMap<JailId, Duration>,
    changes: Vec<String>,
    unreadable: bool,
}

struct CountingRuntime {
    info: RuntimeInfo,
    kernel: Mutex<Kernel>,
    counts: bool,
}

impl CountingRuntime {
    fn new(counts: bool) -> Arc<CountingRuntime> {
        let info = RuntimeInfo {
            kind: "counting",
            instance: InstanceId::parse("i-test").unwrap(),
            enforcement: if counts { Enforcement::CgroupV2 } else { Enforcement::Weaker },
            template: String::new(),
            browser_program: String::new(),
            browser_version: String::new(),
            reaped: Reaped::default(),
        };
        Arc::new(CountingRuntime { info, kernel: Mutex::default(), counts })
    }

    fn spend(&self, jail: &JailId, time: Duration) {
        *lock(&self.kernel).usage.get_mut(jail).unwrap() += time;
    }

    /// The changes since the last call.
    fn changes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.kernel).changes)
    }
}

impl Runtime for CountingRuntime {
    fn info(&self) -> &RuntimeInfo {
        &self.info
    }

    fn prepare(&self, jail: &JailId) -> Result<PreparedJail, JailError> {
        Err(JailError::UnknownJail { id: jail.clone() })
    }

    fn start(&self, spec: &JailSpec) -> Result<(), JailError> {
        Err(JailError::UnknownJail { id: spec.id.clone() })
    }

    fn state(&self, _: &JailId) -> Result<Option<JailState>, JailError> {
        Ok(None)
    }

    fn stats(&self, _: &JailId) -> Result<Option<JailStats>, JailError> {
        Ok(None)
    }

    fn cpu_usage(&self, jail: &JailId) -> Result<Option<Duration>, JailError> {
        let kernel = lock(&self.kernel);
        if kernel.unreadable {
            return Err(JailError::System { what: "reading", source: io::ErrorKind::Other.into() });
        }
        let usage = kernel.usage.get(jail).ok_or_else(|| JailError::UnknownJail { id: jail.clone() })?;
        Ok(self.counts.then_some(*usage))
    }

    fn set_cpu(&self, jail: &JailId, processors: Option<f64>) -> Result<(), JailError> {
        let value = processors.map_or("max".to_owned(), |number| number.to_string());
        lock(&self.kernel).changes.push(format!("{jail} {value}"));
        Ok(())
    }

    fn set_cpu_weight(&self, jail: &JailId, weight: CpuWeight) -> Result<(), JailError> {
        lock(&self.kernel).changes.push(format!("{jail} {weight:?}"));
        Ok(())
    }

    fn log_tail(&self, _: &JailId) -> Result<String, JailError> {
        Ok(String::new())
    }

    fn destroy(&self, _: &JailId) -> Result<Option<JailStats>, JailError> {
        Ok(None)
    }

    fn reap(&self) -> Result<Reaped, JailError> {
        Ok(Reaped::default())
    }

    fn on_lost(&self, _: LossNotifier) -> Result<(), JailError> {
        Ok(())
    }

    fn shutdown(&self) -> Result<(), JailError> {
        Ok(())
    }
}

const SETTINGS: CpuSettings = CpuSettings { share: 0.5, credit: Duration::from_secs(10), burst: None };
const MACHINE: f64 = 2.0;

struct Fixture {
    runtime: Arc<CountingRuntime>,
    controller: Arc<CpuController>,
    now: Instant,
}

impl Fixture {
    fn new(settings: CpuSettings) -> Fixture {
        let runtime = CountingRuntime::new(true);
        let controller = Arc::new(CpuController::new(runtime.clone(), settings, MACHINE));
        Fixture { runtime, controller, now: Instant::now() }
    }

    fn open(&self, name: &str) -> (JailId, CpuControl) {
        let jail = JailId::parse(name).unwrap();
        lock(&self.runtime.kernel).usage.insert(jail.clone(), Duration::from_millis(300));
        let control = self.controller.add(&jail, self.now).unwrap().unwrap();
        (jail, control)
    }

    /// Lets time pass in ticks, in each of which every jail of the list uses that many processors.
    fn pass(&mut self, seconds: f64, uses: &[(&JailId, f64)]) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            self.now += TICK;
            for (jail, processors) in uses {
                self.runtime.spend(jail, TICK.mul_f64(*processors));
            }
            self.controller.settle(self.now);
        }
    }
}

#[test]
fn opening_a_jail_tells_the_kernel_nothing_and_idling_neither() {
    let mut fixture = Fixture::new(SETTINGS);
    let (_jail, control) = fixture.open("idle");
    fixture.pass(60.0, &[]);
    assert_eq!(fixture.runtime.changes(), Vec::<String>::new());
    let status = CpuStatus { share: 0.5, credit_seconds: 10.0, burst: 2.0, limited: false };
    assert_eq!(control.account().status(), status);
}

#[test]
fn a_configured_burst_is_set_at_once() {
    let fixture = Fixture::new(CpuSettings { burst: Some(1.5), ..SETTINGS });
    let (_jail, _control) = fixture.open("narrow");
    assert_eq!(fixture.runtime.changes(), ["narrow 1.5"]);
}

#[test]
fn a_jail_without_credit_is_held_to_its_share_until_it_has_rested() {
    let mut fixture = Fixture::new(SETTINGS);
    let (burns, burning) = fixture.open("burns");
    let (rests, resting) = fixture.open("rests");
    // Ten seconds of credit are gone after 6.7 s at 2 processors with a share of a half.
    fixture.pass(6.0, &[(&burns, 2.0)]);
    assert!(!burning.account().status().limited);
    fixture.pass(1.0, &[(&burns, 2.0)]);
    assert!(burning.account().status().limited);
    let changes = fixture.runtime.changes();
    assert!(changes.contains(&"burns 0.5".to_owned()), "{changes:?}");
    assert!(changes.contains(&format!("burns {:?}", CpuWeight::LEAST)), "{changes:?}");
    assert!(!changes.iter().any(|change| change.starts_with("rests")), "{changes:?}");
    // At its share nothing changes any more.
    fixture.pass(60.0, &[(&burns, 0.5)]);
    assert_eq!(fixture.runtime.changes(), Vec::<String>::new());
    fixture.pass(4.0, &[]);
    assert!(!burning.account().status().limited);
    assert_eq!(fixture.runtime.changes().iter().filter(|change| *change == "burns max").count(), 1);
    drop((rests, resting));
}

#[test]
fn jails_that_burn_leave_a_processor_to_others_and_take_it_when_there_are_none() {
    let mut fixture = Fixture::new(CpuSettings { credit: Duration::from_secs(1000), ..SETTINGS });
    let (first, _first) = fixture.open("first");
    let (second, _second) = fixture.open("second");
    let burn: [(&JailId, f64); 2] = [(&first, 1.0), (&second, 1.0)];
    fixture.pass(20.0, &burn);
    let changes = fixture.runtime.changes();
    assert!(!changes.iter().any(|change| change.ends_with("0.5")), "nobody else is there: {changes:?}");
    let (_idle, idle) = fixture.open("idle");
    fixture.pass(1.0, &burn);
    assert_eq!(fixture.runtime.changes(), ["first 0.5", "second 0.5"]);
    // Held like this, readings that waver change nothing.
    for uses in [0.45, 0.55, 0.4, 0.6] {
        fixture.pass(0.25, &[(&first, uses), (&second, uses)]);
    }
    assert_eq!(fixture.runtime.changes(), Vec::<String>::new());
    drop(idle);
    fixture.pass(1.0, &burn);
    assert_eq!(fixture.runtime.changes(), ["first max", "second max"]);
}

#[test]
fn a_jail_whose_use_cannot_be_read_is_held_to_its_share() {
    let mut fixture = Fixture::new(SETTINGS);
    let (_jail, _control) = fixture.open("dark");
    lock(&fixture.runtime.kernel).unreadable = true;
    fixture.pass(2.0, &[]);
    let changes = fixture.runtime.changes();
    assert!(!changes.is_empty() && changes.iter().all(|change| change == "dark 0.5"), "{changes:?}");
    lock(&fixture.runtime.kernel).unreadable = false;
    fixture.pass(2.0, &[]);
    assert_eq!(fixture.runtime.changes(), ["dark max"]);
}

#[test]
fn a_jail_that_is_gone_is_forgotten() {
    let mut fixture = Fixture::new(SETTINGS);
    let (jail, control) = fixture.open("gone");
    let (_other, dropped) = fixture.open("dropped");
    lock(&fixture.runtime.kernel).usage.remove(&jail);
    fixture.pass(2.0, &[]);
    drop(dropped);
    assert!(lock(&fixture.controller.accounts).is_empty());
    assert_eq!(fixture.controller.next_due(), None);
    // Its last state stays readable.
    assert_eq!(control.account().status().credit_seconds, 10.0);
}

#[test]
fn without_enforced_limits_nothing_is_controlled() {
    let runtime = CountingRuntime::new(false);
    let jail = JailId::parse("free").unwrap();
    lock(&runtime.kernel).usage.insert(jail.clone(), Duration::ZERO);
    let controller = Arc::new(CpuController::new(runtime.clone(), SETTINGS, MACHINE));
    assert!(controller.add(&jail, Instant::now()).unwrap().is_none());
    assert_eq!(controller.next_due(), None);
}

#[tokio::test]
async fn a_restart_is_neither_limited_nor_counted() {
    let mut fixture = Fixture::new(SETTINGS);
    let (jail, control) = fixture.open("restarts");
    fixture.pass(10.0, &[(&jail, 2.0)]);
    fixture.runtime.changes();
    control.pause().await.unwrap();
    assert_eq!(fixture.runtime.changes(), ["restarts max"]);
    fixture.runtime.spend(&jail, Duration::from_secs(3));
    fixture.pass(1.0, &[]);
    assert_eq!(fixture.runtime.changes(), Vec::<String>::new());
    let before = control.account().status();
    control.resume().await.unwrap();
    assert_eq!(fixture.runtime.changes(), ["restarts 0.5"]);
    assert_eq!(control.account().status(), before);
}

#[tokio::test]
async fn the_task_settles_accounts_by_itself_and_ends_with_the_controller() {
    let runtime = CountingRuntime::new(true);
    let jail = JailId::parse("watched").unwrap();
    lock(&runtime.kernel).usage.insert(jail.clone(), Duration::ZERO);
    let settings = CpuSettings { credit: Duration::from_secs(1), ..SETTINGS };
    let controller = CpuController::start(runtime.clone(), settings);
    let control = controller.add(&jail, Instant::now()).unwrap().unwrap();
    runtime.spend(&jail, Duration::from_secs(100));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !control.account().status().limited {
        assert!(Instant::now() < deadline, "the task does not run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let alive = Arc::downgrade(&controller);
    drop((control, controller));
    while alive.strong_count() > 0 {
        assert!(Instant::now() < deadline, "the task keeps the controller");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
