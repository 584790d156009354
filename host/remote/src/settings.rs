//! Settings of stores.

use std::env;
use std::time::Duration;

use warpath_core::error::Error;

/// The variable of [`StoreSettings::timeout`], in seconds.
const TIMEOUT: &str = "WARPATH_REMOTE_TIMEOUT";

/// Settings of stores.
///
/// ```
/// use std::time::Duration;
/// use warpath_remote::StoreSettings;
///
/// let variables = [("AWS_ENDPOINT", "http://localhost:9000"), ("WARPATH_REMOTE_TIMEOUT", "2.5")];
/// let settings = StoreSettings::of_variables(variables).unwrap();
/// assert_eq!(settings.timeout, Duration::from_millis(2500));
/// assert!(StoreSettings::of_variables([("WARPATH_REMOTE_TIMEOUT", "soon")]).is_err());
/// // An empty variable is as one that is not set.
/// assert!(StoreSettings::of_variables([("WARPATH_REMOTE_TIMEOUT", "")]).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// The longest time without a byte from a server. After it, a request is made once more, and then given
    /// up.
    pub timeout: Duration,
    /// The longest time for a connection.
    pub connect_timeout: Duration,
    /// The bytes of a part: the range of one request.
    pub part_bytes: u64,
    /// The parts of all objects of a list that are fetched, or wait for the reader, at the same time. Memory
    /// is bounded by this number of parts.
    pub parts: usize,
    /// The attempts after a failed one, without a byte between them.
    pub retries: usize,
    /// The variables of S3, as [`AmazonS3ConfigKey`](object_store::aws::AmazonS3ConfigKey) names them, in
    /// lower case.
    pub variables: Vec<(String, String)>,
}

impl Default for StoreSettings {
    /// Settings without credentials.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            part_bytes: 8 << 20,
            parts: 8,
            retries: 4,
            variables: Vec::new(),
        }
    }
}

impl StoreSettings {
    /// The settings of this process's environment: the variables `AWS_…` and `WARPATH_REMOTE_TIMEOUT`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a variable with a wrong value.
    pub fn of_environment() -> Result<Self, Error> {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::of_variables(env::vars_os().filter_map(text))
    }

    /// The settings of variables. Names without a meaning here are passed over.
    ///
    /// # Errors
    /// [`Error::Usage`] for a variable with a wrong value.
    pub fn of_variables<N, V>(variables: impl IntoIterator<Item = (N, V)>) -> Result<Self, Error>
    where
        N: Into<String>,
        V: Into<String>,
    {
        let mut settings = Self::default();
        for (name, value) in variables {
            let (name, value) = (name.into(), value.into());
            if value.is_empty() {
                // As one that is not set.
                continue;
            }
            if name == TIMEOUT {
                let seconds =
                    value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                let seconds = seconds.filter(|seconds| !seconds.is_zero());
                settings.timeout = seconds.ok_or_else(|| {
                    Error::Usage(format!("{TIMEOUT}: `{value}` is no time; expected seconds, such as 30"))
                })?;
            } else if name.starts_with("AWS_") {
                settings.variables.push((name.to_ascii_lowercase(), value));
            }
        }
        Ok(settings)
    }
}
