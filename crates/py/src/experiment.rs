//! Experiments as they cross: planned, resolved, and asked for their quantities.

use std::sync::Arc;

use fairway_cc::{Catalogue, CcError, CongestionControl, Foreign, Init, Selection, Variant};
use fairway_spec::{
    ExperimentErrors, Plan, Resolved, Until, from_document_with, plan_document, plan_with, resolve,
};
use fairway_sweep::{canonical, compact};
use fairway_units::{Duration, Rate};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value};

use crate::with_algorithms;

// In Python, since they are of two kinds: Fairway's and Python's.
import_exception!(fairway.errors, ExperimentError);
import_exception!(fairway.errors, InputError);

/// Deepest nesting of a document, as in JSON (`serde_json`).
const DEEPEST: usize = 128;

pub(crate) fn experiment_error(errors: ExperimentErrors) -> PyErr {
    ExperimentError::new_err(errors.to_string())
}

/// An experiment without a sweep: as a handle, a mapping, or JSON from a disk or a remote worker.
pub(crate) struct Document(Arc<Value>);

impl Document {
    /// The validated experiment.
    pub(crate) fn read(&self, catalogue: &Catalogue) -> PyResult<fairway_spec::Experiment> {
        from_document_with(&self.0, catalogue).map_err(experiment_error)
    }

    /// The experiment as it was planned.
    pub(crate) fn into_value(self) -> Arc<Value> {
        self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Document {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(handle) = object.cast::<Experiment>() {
            return Ok(Document(Arc::clone(&handle.get().document)));
        }
        if let Ok(planned) = object.cast::<Planned>() {
            return Ok(Document(Arc::clone(&planned.get().0)));
        }
        if let Ok(text) = object.extract::<String>() {
            let document = serde_json::from_str(&text).map_err(|error| {
                ExperimentError::new_err(format!("not a JSON document: {error}"))
            })?;
            return Ok(Document(Arc::new(document)));
        }
        Ok(Document(Arc::new(plain(&object, "", 0)?)))
    }
}

/// A value without objects of Python in it.
pub(crate) struct PlainData(pub(crate) Value);

impl<'py> FromPyObject<'_, 'py> for PlainData {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        plain(&object, "", 0).map(PlainData)
    }
}

/// Every name is an algorithm: the experiment has been planned with those that there were.
struct AsPlanned;

impl Foreign for AsPlanned {
    fn has(&self, _name: &str) -> bool {
        true
    }

    fn create(
        &self,
        _selection: &Selection,
        init: &Init,
    ) -> Result<Box<dyn CongestionControl>, CcError> {
        // Stands for the algorithm while the experiment is checked; nothing runs it.
        let reno = Selection { name: "reno".to_owned(), variant: None, params: Vec::new() };
        fairway_cc::create(&reno, Variant::Paper, init)
    }
}

/// An experiment as it was planned, whose document becomes Python's when it is read.
#[pyclass(frozen, eq, module = "fairway._core")]
#[derive(PartialEq)]
pub(crate) struct Planned(Arc<Value>);

#[pymethods]
impl Planned {
    #[new]
    fn new(document: Document) -> Self {
        Planned(document.0)
    }

    /// The same in the keys of an experiment file.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0)
    }

    /// What stands under a key at the top of the document, or else `default`.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.get(key).map_or(Ok(default), |value| to_python(py, value).map(Some))
    }

    /// The document as compact JSON.
    fn compact(&self) -> PyResult<String> {
        compact(&*self.0).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The document as compact JSON in ASCII with sorted keys, for digests.
    fn canonical(&self) -> PyResult<String> {
        canonical(&self.0).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// An experiment that has been planned, and what it says of itself.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Experiment {
    document: Arc<Value>,
    resolved: Resolved,
}

#[pymethods]
impl Experiment {
    #[new]
    fn new(py: Python<'_>, document: Document) -> PyResult<Self> {
        let Document(document) = document;
        let catalogue = Catalogue::with(Arc::new(AsPlanned));
        let resolved = py.detach(|| resolve(&document, &catalogue)).map_err(experiment_error)?;
        Ok(Experiment { document, resolved })
    }

    /// The same in the keys of an experiment file.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.document)
    }

    /// Simulated time of the run in nanoseconds.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.resolved.duration.as_nanos()
    }

    /// Beginning and end of the measuring window in seconds.
    #[getter]
    fn window_s(&self) -> (f64, f64) {
        let measure = &self.resolved.measure;
        (measure.from.as_secs_f64(), measure.to.as_secs_f64())
    }

    /// Period of the time series in nanoseconds.
    #[getter]
    fn sample_ns(&self) -> u64 {
        self.resolved.measure.sample.as_nanos()
    }

    /// When the last copy of the last flow starts, in nanoseconds.
    #[getter]
    fn last_start_ns(&self) -> u64 {
        self.resolved.last_start().as_nanos()
    }

    /// Start and stop of each `[[flow]]` in nanoseconds.
    #[getter]
    fn flow_times_ns(&self) -> Vec<(u64, Option<u64>)> {
        let nanos = |(start, stop): (Duration, Option<Duration>)| {
            (start.as_nanos(), stop.map(Duration::as_nanos))
        };
        self.resolved.times().map(nanos).collect()
    }

    /// Propagation delay of the longest path, there and back, in nanoseconds.
    #[getter]
    fn base_rtt_ns(&self) -> u64 {
        self.resolved.topology.path.base_rtt.as_nanos()
    }

    /// Rate of the slowest link times the base round-trip time, in bytes; None without a rate.
    #[getter]
    fn bdp_bytes(&self) -> Option<u64> {
        self.resolved.topology.path.bdp().map(|bytes| bytes.get())
    }

    /// Bytes of the largest packet on a link.
    #[getter]
    fn frame_bytes(&self) -> u64 {
        self.resolved.topology.path.frame
    }

    /// Bytes that links add to every packet.
    #[getter]
    fn frame_overhead_bytes(&self) -> u64 {
        self.resolved.topology.frame_overhead.get()
    }

    /// Lowest rate of the links that every flow of a chain or a dumbbell crosses, in bit/s; None if
    /// one changes or is unlimited, and for other topologies.
    #[getter]
    fn shared_rate_bps(&self) -> Option<u64> {
        self.resolved.shared_rate().map(Rate::as_bps)
    }

    /// Rate of the link direction that results name so, in bit/s.
    fn link_rate_bps(&self, link: &str) -> PyResult<u64> {
        self.resolved.link_rate(link).map(Rate::as_bps).map_err(PyValueError::new_err)
    }

    /// Bytes of the transfer of the flow that results name so; None without a size, and for copies.
    fn transfer_bytes(&self, flow: &str) -> Option<u64> {
        self.resolved.transfer(flow).map(|bytes| bytes.get())
    }
}

/// Set values in an experiment file, or the content of one, validate it, and list its points.
#[pyfunction]
#[pyo3(signature = (experiment, source, algorithms = None, overrides = None))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    experiment: &Bound<'py, PyAny>,
    source: &str,
    algorithms: Option<Py<PyAny>>,
    overrides: Option<&Bound<'py, PyMapping>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut changes = Vec::new();
    if let Some(overrides) = overrides {
        for item in overrides.items()?.iter() {
            let (path, value): (String, Bound<'_, PyAny>) = item.extract()?;
            let value = plain(&value, &path, 0)?;
            changes.push((path, value));
        }
    }
    let text: Option<String> = experiment.extract().ok();
    let document = match text {
        Some(_) => Value::Null,
        None => plain(experiment, "", 0)?,
    };
    let planned = with_algorithms(py, algorithms, &Arc::default(), |catalogue| {
        match text {
            Some(text) => plan_with(&text, source, &changes, catalogue),
            None => plan_document(document, source, &changes, catalogue),
        }
        .map_err(experiment_error)
    })?;
    plan_to_python(py, planned)
}

fn plan_to_python(py: Python<'_>, plan: Plan) -> PyResult<Bound<'_, PyAny>> {
    // As columns, and repetitions share the values of their axes: of objects that hold others Python
    // looks after every single one, and a sweep has many points.
    let [axes, repetitions, experiments] = [(); 3].map(|()| PyList::empty(py));
    let mut shared = None;
    for point in plan.points {
        let values = match shared {
            Some((before, values)) if before == point.axes => values,
            _ => to_python(py, &Value::Object(Map::from_iter(point.axes.clone())))?,
        };
        axes.append(&values)?;
        repetitions.append(point.repetition)?;
        experiments.append(Planned(Arc::new(point.document)))?;
        shared = Some((point.axes, values));
    }
    let found = PyDict::new(py);
    found.set_item("title", plan.title)?;
    found.set_item("axes", plan.axes)?;
    found.set_item("points", (axes, repetitions, experiments))?;
    found.set_item("until", py.None())?;
    if let Some(Until { share, at_most, metrics }) = plan.until {
        let until = PyDict::new(py);
        until.set_item("share", share)?;
        until.set_item("at_most", at_most)?;
        until.set_item("metrics", PyTuple::new(py, metrics)?)?;
        found.set_item("until", until)?;
    }
    Ok(found.into_any())
}

/// A value of an experiment; `path` is its own, for messages.
fn plain(object: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Value> {
    let refuse = |what: String| {
        let path = if path.is_empty() { "experiment" } else { path };
        Err(InputError::new_err(format!("{path}: {what}")))
    };
    let below =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    if depth > DEEPEST {
        return refuse(format!("is nested more than {DEEPEST} levels deep; write a flatter table"));
    }
    if object.is_none() {
        return refuse("is None, which TOML cannot write; leave the key out".to_owned());
    }
    if let Ok(switch) = object.cast::<PyBool>() {
        return Ok(Value::Bool(switch.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return match object.extract::<i64>() {
            Ok(number) => Ok(number.into()),
            Err(_) => refuse(format!(
                "the number is too large; TOML has whole numbers up to {}",
                i64::MAX
            )),
        };
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        let number = number.value();
        return match Number::from_f64(number) {
            Some(number) => Ok(Value::Number(number)),
            None => refuse(format!("expected a finite number, got {number}")),
        };
    }
    if object.is_instance_of::<PyString>() {
        return match object.extract::<String>() {
            Ok(text) => Ok(Value::String(text)),
            Err(_) => refuse("is no text in Unicode; write it without lone surrogates".to_owned()),
        };
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let entry = |(index, entry): (usize, PyResult<Bound<'_, PyAny>>)| {
            plain(&entry?, &below(&index.to_string()), depth + 1)
        };
        return object.try_iter()?.enumerate().map(entry).collect();
    }
    let Ok(mapping) = object.cast::<PyMapping>() else {
        let kind = object.get_type().name()?;
        return refuse(format!("holds something that is not plain data: {kind}"));
    };
    let mut table = Map::new();
    for item in mapping.items()?.iter() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(name) = name.extract::<String>() else {
            return refuse(format!("{name} is not a key; keys of plain data are text"));
        };
        let value = plain(&value, &below(&name), depth + 1)?;
        table.insert(name, value);
    }
    Ok(Value::Object(table))
}

fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(switch) => switch.into_bound_py_any(py),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into_bound_py_any(py),
            (None, Some(number)) => number.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(entries) => {
            let list = PyList::empty(py);
            for entry in entries {
                list.append(to_python(py, entry)?)?;
            }
            Ok(list.into_any())
        }
        Value::Object(table) => {
            let found = PyDict::new(py);
            for (name, value) in table {
                found.set_item(name, to_python(py, value)?)?;
            }
            Ok(found.into_any())
        }
    }
}
