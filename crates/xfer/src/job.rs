//! Jobs as data: what the command line and Python ask for.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Control, Error, Sessions};

/// Does a job: an object whose `job` says which, the rest being its options. Returns its result.
///
/// # Errors
/// [`Error::Input`] for another job or other options; those of the job.
pub fn run(job: Value, control: &Control, sessions: &Sessions) -> Result<Value, Error> {
    let (name, options) = parts(job)?;
    let _ = (control, sessions, options);
    Err(Error::Input(format!("{name}: no such job")))
}

fn parts(mut job: Value) -> Result<(String, Value), Error> {
    let name = job.as_object_mut().and_then(|object| object.remove("job"));
    match name {
        Some(Value::String(name)) => Ok((name, job)),
        _ => Err(Error::Input("a job is an object with a `job`".into())),
    }
}

#[allow(dead_code)]
fn options<T: DeserializeOwned>(name: &str, options: Value) -> Result<T, Error> {
    serde_json::from_value(options).map_err(|error| Error::Input(format!("{name}: {error}")))
}
