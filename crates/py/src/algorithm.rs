//! Congestion controls written in Python: objects that answer as the trait
//! [`CongestionControl`] does, method by method.
//!
//! An object is told of an event and then asked for its windows; what it answers stands until the
//! next event, so that the simulator asks Python no more often than that. What goes wrong in it
//! cannot be returned through the trait: it is kept, the run is stopped, and whoever started the
//! run finds it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fairway_cc::{
    Ack, CcError, CongestionControl, EcnFeedback, Flow, Foreign, Init, Needs, Selection, Signal,
};
use fairway_sim::Control;
use fairway_units::{Duration, Rate, Time};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use pyo3::{import_exception, intern};

use crate::views;

import_exception!(fairway.errors, AlgorithmError);

/// The methods that every algorithm has, as they are called.
const REQUIRED: [(&str, &str); 8] = [
    ("cwnd", "cwnd()"),
    ("ssthresh", "ssthresh()"),
    ("on_ack", "on_ack(ack, flow)"),
    ("on_congestion", "on_congestion(signal, flow)"),
    ("on_recovered", "on_recovered(cwnd, flow)"),
    ("on_rto", "on_rto(first, flow)"),
    ("on_spurious", "on_spurious(flow)"),
    ("on_idle", "on_idle(idle, rto, restart_window, flow)"),
];

/// Largest window in bytes: far above what any run can fill, far below where sums of windows
/// leave 64 bits.
const MAX_WINDOW: u64 = 1 << 48;

/// Largest rate in bit/s and time in nanoseconds that an algorithm may ask for.
const MAX_RATE: u64 = 1 << 60;

/// Characters of an answer that an error repeats.
const EXCERPT: usize = 60;

/// The algorithms of one run or plan, and what went wrong in them.
pub(crate) struct Algorithms {
    /// Name to class, as a Python mapping.
    classes: Py<PyAny>,
    failure: Arc<Failure>,
}

impl Algorithms {
    /// `control` stops the run when an algorithm fails.
    pub(crate) fn new(classes: Py<PyAny>, control: Arc<Control>) -> Self {
        Algorithms { classes, failure: Arc::new(Failure { first: Mutex::new(None), control }) }
    }

    /// What went wrong in the run.
    pub(crate) fn failure(&self) -> Arc<Failure> {
        Arc::clone(&self.failure)
    }

    fn make(
        &self,
        py: Python<'_>,
        selection: &Selection,
        init: &Init,
    ) -> Result<PyAlgorithm, String> {
        if selection.variant.is_some() {
            return Err("has no variants; remove cc_variant".to_owned());
        }
        // What is no mere exception, such as Ctrl-C, ends more than this algorithm.
        let fatal = |error: &PyErr| {
            if !error.is_instance_of::<PyException>(py) {
                self.failure.note(error.clone_ref(py));
            }
        };
        let classes = self.classes.bind(py);
        let class = classes
            .get_item(selection.name.as_str())
            .inspect_err(fatal)
            .map_err(|error| error.value(py).to_string())?;
        PyAlgorithm::new(&class, selection, init, Arc::clone(&self.failure))
            .inspect_err(fatal)
            .map_err(|error| describe(py, &error))
    }
}

impl Foreign for Algorithms {
    fn has(&self, name: &str) -> bool {
        Python::attach(|py| self.classes.bind(py).contains(name).unwrap_or(false))
    }

    fn create(
        &self,
        selection: &Selection,
        init: &Init,
    ) -> Result<Box<dyn CongestionControl>, CcError> {
        Python::attach(|py| match self.make(py, selection, init) {
            Ok(algorithm) => Ok(Box::new(algorithm) as Box<dyn CongestionControl>),
            Err(message) => Err(CcError::Foreign { name: selection.name.clone(), message }),
        })
    }
}

/// The first thing that went wrong in an algorithm of a run.
pub(crate) struct Failure {
    first: Mutex<Option<PyErr>>,
    control: Arc<Control>,
}

impl Failure {
    /// The exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, error: PyErr) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.control.cancel();
    }
}

/// What an algorithm last answered.
#[derive(Clone, Copy)]
struct Answers {
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: Option<Rate>,
    wants_reduction: bool,
    min_rto: Option<Duration>,
}

/// The optional methods that an object has and that are asked after every event.
#[derive(Clone, Copy)]
struct Optional {
    pacing_rate: bool,
    wants_reduction: bool,
    min_rto: bool,
}

/// One Python object as an algorithm.
struct PyAlgorithm {
    object: Py<PyAny>,
    /// Name of its class, for messages.
    class: String,
    mss: u32,
    optional: Optional,
    answers: Answers,
    needs: Needs,
    restarts_after_loss: bool,
    failed: bool,
    failure: Arc<Failure>,
}

impl PyAlgorithm {
    fn new(
        class: &Bound<'_, PyAny>,
        selection: &Selection,
        init: &Init,
        failure: Arc<Failure>,
    ) -> PyResult<Self> {
        let py = class.py();
        let params = PyDict::new(py);
        for (name, value) in &selection.params {
            params.set_item(name, value)?;
        }
        let object = class.call((views::Init::of(init),), Some(&params))?;
        let name = object.get_type().name()?.to_string();
        for (method, call) in REQUIRED {
            if !has_method(&object, method)? {
                return Err(AlgorithmError::new_err(format!("{name} has no method {call}")));
            }
        }
        let asked = Asked { object: &object, class: &name, mss: init.mss };
        let optional = Optional {
            pacing_rate: has_method(&object, "pacing_rate")?,
            wants_reduction: has_method(&object, "wants_reduction")?,
            min_rto: has_method(&object, "min_rto")?,
        };
        Ok(PyAlgorithm {
            answers: asked.answers(optional)?,
            needs: asked.needs()?,
            restarts_after_loss: has_method(&object, "restarts_after_loss")?
                && asked.switch("restarts_after_loss")?,
            optional,
            mss: init.mss,
            failed: false,
            failure,
            class: name,
            object: object.unbind(),
        })
    }

    /// Tell the object of an event, and ask what holds now; nothing after a failure.
    fn tell(
        &mut self,
        now: Time,
        method: &str,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
    ) {
        if self.failed {
            return;
        }
        Python::attach(|py| {
            let object = self.object.bind(py);
            let asked = Asked { object, class: &self.class, mss: self.mss };
            match call(object).and_then(|()| asked.answers(self.optional)) {
                Ok(answers) => self.answers = answers,
                Err(error) => {
                    self.failed = true;
                    self.failure.note(placed(py, error, &self.class, method, now));
                }
            }
        });
    }
}

impl CongestionControl for PyAlgorithm {
    fn cwnd(&self) -> u64 {
        self.answers.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.answers.ssthresh
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.answers.pacing_rate
    }

    fn wants_reduction(&self) -> bool {
        self.answers.wants_reduction
    }

    fn restarts_after_loss(&self) -> bool {
        self.restarts_after_loss
    }

    fn min_rto(&self) -> Option<Duration> {
        self.answers.min_rto
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.tell(flow.now, "on_ack", |object| {
            let name = intern!(object.py(), "on_ack");
            object.call_method1(name, (views::Ack(*ack), views::Flow(*flow))).map(drop)
        });
    }

    fn on_congestion(&mut self, signal: Signal, flow: &Flow) {
        self.tell(flow.now, "on_congestion", |object| {
            let signal = views::signal_name(signal);
            object.call_method1("on_congestion", (signal, views::Flow(*flow))).map(drop)
        });
    }

    fn on_recovered(&mut self, cwnd: u64, flow: &Flow) {
        self.tell(flow.now, "on_recovered", |object| {
            object.call_method1("on_recovered", (cwnd, views::Flow(*flow))).map(drop)
        });
    }

    fn on_rto(&mut self, first: bool, flow: &Flow) {
        self.tell(flow.now, "on_rto", |object| {
            object.call_method1("on_rto", (first, views::Flow(*flow))).map(drop)
        });
    }

    fn on_spurious(&mut self, flow: &Flow) {
        self.tell(flow.now, "on_spurious", |object| {
            object.call_method1("on_spurious", (views::Flow(*flow),)).map(drop)
        });
    }

    fn on_idle(&mut self, idle: Duration, rto: Duration, restart_window: u64, flow: &Flow) {
        self.tell(flow.now, "on_idle", |object| {
            let (idle, rto) = (idle.as_nanos(), rto.as_nanos());
            let arguments = (idle, rto, restart_window, views::Flow(*flow));
            object.call_method1("on_idle", arguments).map(drop)
        });
    }
}

/// An object being asked; wrong answers are refused with the names of class and method.
struct Asked<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    class: &'a str,
    mss: u32,
}

impl<'py> Asked<'_, 'py> {
    fn answers(&self, optional: Optional) -> PyResult<Answers> {
        let py = self.object.py();
        let smallest = u64::from(self.mss);
        let ssthresh = self.ask(intern!(py, "ssthresh"))?;
        Ok(Answers {
            cwnd: self.whole(
                "cwnd",
                &self.ask(intern!(py, "cwnd"))?,
                "bytes",
                smallest,
                MAX_WINDOW,
            )?,
            ssthresh: match ssthresh.extract::<u64>() {
                Ok(u64::MAX) => u64::MAX,
                _ if ssthresh.is_none() => u64::MAX,
                _ => self.whole(
                    "ssthresh",
                    &ssthresh,
                    "bytes, or None while it is infinite,",
                    0,
                    MAX_WINDOW,
                )?,
            },
            pacing_rate: self
                .maybe(optional.pacing_rate, "pacing_rate", "bit/s")?
                .map(Rate::from_bps),
            wants_reduction: optional.wants_reduction && self.switch("wants_reduction")?,
            min_rto: self
                .maybe(optional.min_rto, "min_rto", "nanoseconds")?
                .map(Duration::from_nanos),
        })
    }

    fn ask(&self, method: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        self.object.call_method0(method)
    }

    /// A whole number of `unit` from `min` to `max`.
    fn whole(
        &self,
        method: &str,
        answer: &Bound<'py, PyAny>,
        unit: &str,
        min: u64,
        max: u64,
    ) -> PyResult<u64> {
        let number = answer.extract::<u64>().ok().filter(|n| (min..=max).contains(n));
        match number.filter(|_| !answer.is_instance_of::<PyBool>()) {
            Some(number) => Ok(number),
            None => {
                let expected = format!("an int: whole {unit} from {min} to {max}");
                Err(self.wrong(method, answer, &expected)?)
            }
        }
    }

    /// A whole number of `unit`, or none, of an optional method; none if it is not `there`.
    fn maybe(&self, there: bool, method: &str, unit: &str) -> PyResult<Option<u64>> {
        if !there {
            return Ok(None);
        }
        let answer = self.object.call_method0(method)?;
        if answer.is_none() {
            return Ok(None);
        }
        self.whole(method, &answer, &format!("{unit}, or None,"), 1, MAX_RATE).map(Some)
    }

    fn switch(&self, method: &str) -> PyResult<bool> {
        let answer = self.object.call_method0(method)?;
        match answer.extract() {
            Ok(on) => Ok(on),
            Err(_) => Err(self.wrong(method, &answer, "True or False")?),
        }
    }

    fn needs(&self) -> PyResult<Needs> {
        let mut needs = Needs::default();
        if !has_method(self.object, "needs")? {
            return Ok(needs);
        }
        let answer = self.object.call_method0("needs")?;
        let entries: Option<BTreeMap<String, Bound<'py, PyAny>>> = answer.extract().ok();
        let understood = entries.is_some_and(|entries| {
            entries.iter().all(|(name, value)| match name.as_str() {
                "rate_samples" => value.extract().map(|on| needs.rate_samples = on).is_ok(),
                "ecn" => match value.extract() {
                    Ok("stack") => true,
                    Ok("accurate") => {
                        needs.ecn = EcnFeedback::Accurate;
                        true
                    }
                    Ok("scalable") => {
                        needs.ecn = EcnFeedback::Scalable;
                        true
                    }
                    _ => false,
                },
                _ => false,
            })
        });
        if understood {
            return Ok(needs);
        }
        let expected = "a dict of what it needs: \"rate_samples\": True or False, \
                        \"ecn\": \"stack\" or \"accurate\"";
        Err(self.wrong("needs", &answer, expected)?)
    }

    /// The error for a wrong answer.
    fn wrong(&self, method: &str, answer: &Bound<'py, PyAny>, expected: &str) -> PyResult<PyErr> {
        let shown: String = answer.repr()?.to_string().chars().take(EXCERPT).collect();
        let kind = answer.get_type().name()?;
        let class = self.class;
        Ok(AlgorithmError::new_err(format!(
            "{class}.{method}() returned {shown} ({kind}); it has to return {expected}"
        )))
    }
}

fn has_method(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    Ok(object.getattr_opt(name)?.is_some_and(|method| method.is_callable()))
}

/// An exception with what a reader of it wants to know: where it happened in the run, and the
/// traceback of the algorithm's own code alone.
fn placed(py: Python<'_>, error: PyErr, class: &str, method: &str, now: Time) -> PyErr {
    let note = format!("in {class}.{method}, at {} s of simulated time", now.as_secs_f64());
    let value = error.value(py);
    // An exception that cannot take them is raised without them.
    let _ = value.setattr("fairway_traceback", error.traceback(py));
    if value.hasattr("add_note").unwrap_or(false) {
        let _ = value.call_method1("add_note", (note,));
    }
    error
}

/// An exception in a line: its kind, its message and where it was raised.
fn describe(py: Python<'_>, error: &PyErr) -> String {
    let message = error.value(py).to_string();
    if error.is_instance_of::<AlgorithmError>(py) {
        return message;
    }
    let kind = error.get_type(py).name().map_or_else(|_| "error".to_owned(), |k| k.to_string());
    let place = innermost(py, error).map_or_else(String::new, |place| format!(" ({place})"));
    format!("cannot be made: {kind}: {message}{place}")
}

/// File and line in which an exception was raised.
fn innermost(py: Python<'_>, error: &PyErr) -> Option<String> {
    let mut here = error.traceback(py)?.into_any();
    while let Some(next) = here.getattr("tb_next").ok().filter(|next| !next.is_none()) {
        here = next;
    }
    let line: u32 = here.getattr("tb_lineno").ok()?.extract().ok()?;
    let code = here.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
    let file: String = code.getattr("co_filename").ok()?.extract().ok()?;
    Some(format!("{file}, line {line}"))
}
