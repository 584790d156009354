//! The description of the machine, and the time.

use std::fs;
use std::num::NonZero;
use std::time::{Duration, SystemTime};

use super::process;

/// Processor, cores, memory, system, and the GPUs if there are any, on one line.
pub fn describe() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, NonZero::get);
    let mut parts = vec![processor(&cpuinfo), format!("{cores} cores"), memory_size(&memory)];
    parts.push(format!("Linux {}", kernel.split('-').next().unwrap_or_default().trim()));
    parts.extend(gpus());
    parts.join(", ")
}

/// The model, and the widest vectors that it knows.
fn processor(cpuinfo: &str) -> String {
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| "unknown processor".into());
    let flags = field("flags").unwrap_or_default();
    let vectors = ["avx512bw", "avx2"].into_iter().find(|flag| flags.split(' ').any(|word| word == *flag));
    match vectors {
        Some("avx512bw") => format!("{model} with AVX-512"),
        Some(_) => format!("{model} with AVX2"),
        None => model,
    }
}

fn memory_size(meminfo: &str) -> String {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: Option<f64> = total.and_then(|total| total.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or("memory unknown".into(), |kib| format!("{:.0} GiB", kib / f64::from(1 << 20)))
}

/// The GPUs that `nvidia-smi` lists; `None` without it.
fn gpus() -> Option<String> {
    let query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"].map(str::to_owned);
    let text = process::text(&query, Duration::from_secs(20)).ok()?;
    let first = text.lines().next()?.trim().replace(", ", ", driver ");
    let count = text.lines().count();
    Some(if count > 1 { format!("{count} × {first}") } else { first })
}

/// The time, as RFC 3339 writes it, in UTC and whole seconds.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_and_memory() {
        let cpuinfo =
            "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu avx2 avx512f avx512bw\n";
        assert_eq!(processor(cpuinfo), "Some CPU @ 2 GHz with AVX-512");
        assert_eq!(processor("model name\t: Old\nflags\t\t: fpu avx2x\n"), "Old");
        assert_eq!(processor(""), "unknown processor");
        assert_eq!(memory_size("MemTotal:       24689520 kB\n"), "24 GiB");
    }

    #[test]
    fn this_machine_can_be_described() {
        assert!(describe().contains(" cores, "));
        assert!(now().starts_with("20") && now().ends_with('Z'));
    }
}
