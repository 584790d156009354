//! The choice of the faster backend for an input: `--device auto`.
//!
//! In the time that the setup of a device takes, the CPU processes gigabytes. After the setup the device is
//! faster, but only with fast input. Plain files are read fast enough. Input that is decompressed, or that
//! comes through a pipe, arrives more slowly than the CPU evaluates it.

use std::fmt;

// The figures are from docs/lab/transfer.md.
/// Seconds to set up a device and to release it. Measured on the host of an H200: 0.23 for driver and
/// context, 0.04 for memory, a part of it pinned, and 0.1 at the end of the process.
const DEVICE_SETUP: f64 = 0.37;
/// Bytes a second from the page cache through a device. Measured on an H200: 38e9 for counts and 33e9 for
/// matches; earlier, 43e9 and 38e9.
const DEVICE_RATE: f64 = 38e9;
/// Bytes a second from the page cache through one core. Measured on two cores: 5.4e9 to 6.4e9.
const CORE_RATE: f64 = 2.9e9;
/// Bytes a second from the page cache through all cores, for any number of cores. Measured once on 16 cores,
/// when one core reached 2.1e9.
const CPU_RATE: f64 = 34e9;

/// The chosen backend, and the sizes that decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The CPU: plain files have fewer than `least` bytes, the number from which on a device is faster.
    Cpu { bytes: u64, least: u64 },
    /// A device.
    Device { bytes: u64, least: u64 },
}

/// The number of bytes of plain files from which on a device is faster than `cores` cores.
fn least_bytes(cores: usize) -> u64 {
    let cpu_rate = (cores as f64 * CORE_RATE).min(CPU_RATE);
    // bytes / cpu_rate = DEVICE_SETUP + bytes / DEVICE_RATE
    (DEVICE_SETUP / (1.0 / cpu_rate - 1.0 / DEVICE_RATE)) as u64
}

/// Chooses the backend for inputs with `bytes` bytes of plain files, if there is a device.
pub(crate) fn choose(bytes: u64, cores: usize) -> Choice {
    let least = least_bytes(cores);
    if bytes < least { Choice::Cpu { bytes, least } } else { Choice::Device { bytes, least } }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, least, side) = match self {
            Self::Cpu { bytes, least } => (*bytes, *least, "below"),
            Self::Device { bytes, least } => (*bytes, *least, "not below"),
        };
        if bytes == 0 {
            return f.write_str("no plain text to feed a device fast enough");
        }
        let (bytes, least) = (bytes as f64 / 1e6, least as f64 / 1e6);
        write!(f, "{bytes:.0} MB of plain text are {side} {least:.0} MB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_for_large_files() {
        for cores in [1, 2, 16, 1000] {
            let least = least_bytes(cores);
            assert!(matches!(choose(0, cores), Choice::Cpu { .. }));
            assert!(matches!(choose(least - 1, cores), Choice::Cpu { .. }));
            assert!(matches!(choose(least, cores), Choice::Device { .. }));
            assert!(matches!(choose(u64::MAX, cores), Choice::Device { .. }));
            // At `least` bytes, both take the same time.
            let cpu = least as f64 / (cores as f64 * CORE_RATE).min(CPU_RATE);
            let device = DEVICE_SETUP + least as f64 / DEVICE_RATE;
            assert!((cpu - device).abs() < 1e-6, "{cores} cores: {cpu} s, {device} s");
        }
        assert!(least_bytes(2) < least_bytes(4));
        assert_eq!(least_bytes(16), least_bytes(17));
    }

    #[test]
    fn the_reason_is_said() {
        let said = choose(420_000_000, 2).to_string();
        assert!(said.starts_with("420 MB of plain text are below "), "{said}");
        assert!(choose(1 << 40, 2).to_string().contains(" are not below "));
        assert_eq!(choose(0, 2).to_string(), "no plain text to feed a device fast enough");
    }
}
