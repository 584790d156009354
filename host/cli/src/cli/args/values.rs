//! Parsers of the options' values.

use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use warpath::DeviceChoice;
use warpath::time::{Every, Format as TimeFormat, Zone};
use warpath_shared::units::MAX_PARTITION_BYTES;
use warpath_terminal::options::size;

/// Parses a range of lines, which are counted from 1. Returns a range counted from 0.
pub fn line_range(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("`{text}` is not a line number: lines are counted from 1")),
    };
    let (first, last) = match text.split_once('-') {
        None => (number(text)?, number(text)?),
        Some((first, "")) => (number(first)?, u64::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if last < first {
        return Err(format!("there are no lines from {first} to {last}"));
    }
    Ok(first - 1..last)
}

/// Parses a number of results or records.
pub fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "a whole number is expected, such as 10".to_owned())
}

/// Parses an expression. It may begin with a negative number. Any other text that begins with `-` was meant
/// as an option.
pub fn expression(text: &str) -> Result<String, String> {
    match text.strip_prefix('-') {
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => {
            Err("an expression may begin with `-` only before a digit; write other options separate \
                 from their values: `-n 3`"
                .into())
        }
        _ => Ok(text.to_owned()),
    }
}

/// Parses a format of instants.
pub fn time_format(text: &str) -> Result<TimeFormat, String> {
    TimeFormat::new(text)
}

/// Parses the length of a bucket of time.
pub fn every(text: &str) -> Result<Every, String> {
    text.parse()
}

/// Parses a time zone.
pub fn zone(text: &str) -> Result<Zone, String> {
    text.parse()
}

pub fn device(text: &str) -> Result<DeviceChoice, String> {
    text.parse().map_err(|error: warpath::Error| error.to_string())
}

/// Parses a time, as people write it: `20ms`, `1s`, `1min 30s`.
pub fn latency(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time <= Duration::from_secs(3600) => Ok(time),
        Ok(_) => Err("an hour is the longest time".into()),
        Err(error) => Err(format!("{error}; times are numbers with units: 20ms, 1s, 1min 30s")),
    }
}

/// Parses a time of any length: `90min`, `12h`, `7d`.
pub fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; times are numbers with units: 12h, 7d"))
}

pub fn partition_size(text: &str) -> Result<usize, String> {
    match usize::try_from(size(text)?) {
        Ok(bytes @ 1..=MAX_PARTITION_BYTES) => Ok(bytes),
        _ => Err(format!("1 to {MAX_PARTITION_BYTES} bytes (2G less 32K) are possible")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1", 1),
            ("65536", 65536),
            ("64KiB", 65536),
            ("64K", 65536),
            ("64kb", 65536),
            ("64M", 64 << 20),
            ("64mb", 64 << 20),
            ("16 MiB", 16 << 20),
            ("1gib", 1 << 30),
            ("1.5G", 3 << 29),
            ("007", 7),
        ] {
            assert_eq!(partition_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "-1", "MiB", "64X", "64MM", "2GiB", "99999999999999999999", "☺"] {
            assert!(partition_size(text).is_err(), "{text}");
        }
        assert_eq!(partition_size(&MAX_PARTITION_BYTES.to_string()), Ok(MAX_PARTITION_BYTES));
        assert!(partition_size(&(MAX_PARTITION_BYTES + 1).to_string()).is_err());
    }

    #[test]
    fn latencies() {
        for (text, time) in [
            ("0ms", 0),
            ("20ms", 20),
            ("1 s", 1000),
            ("1s 500ms", 1500),
            ("2min", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(latency(text), Ok(Duration::from_millis(time)), "{text}");
        }
        for text in ["", "20", "ms", "-1ms", "3601s", "99999999999999999999s", "1x"] {
            assert!(latency(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(time("7d"), Ok(Duration::from_secs(7 * 86_400)));
        assert_eq!(time("0s"), Ok(Duration::ZERO));
        assert!(time("7").is_err() && time("-1d").is_err());
    }

    #[test]
    fn devices() {
        assert_eq!(device("auto"), Ok(DeviceChoice::Auto));
        assert_eq!(device("cpu"), Ok(DeviceChoice::Cpu));
        assert_eq!(device("cuda"), Ok(DeviceChoice::Cuda(0)));
        assert_eq!(device("cuda:12"), Ok(DeviceChoice::Cuda(12)));
        assert_eq!(device("cuda:2,0"), Ok(DeviceChoice::CudaList(vec![2, 0])));
        assert_eq!(device("cuda:all"), Ok(DeviceChoice::CudaAll));
        for text in ["cuda:,", "cuda:0,", "cuda:0, 1", "cuda:0,all", "cuda:0:1"] {
            assert!(device(text).is_err(), "{text}");
        }
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:+1", "cuda:-1", "CUDA", "cuda:99999999999999999999"]
        {
            assert!(device(text).is_err(), "{text}");
        }
    }
}
