//! The choice of a backend.

use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_lang::program::Program;

use crate::size;
use crate::size::Choice;

/// The purpose of a run, as far as it restricts the backend.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// The results of a program.
    Results(&'a Program),
    /// A schema.
    Schema,
    /// Subscriptions and indexes: any backend.
    Other,
}

/// The backends of an engine.
#[derive(Clone, Copy)]
pub struct Backends<'a> {
    /// The backend of the engine; the CPU, if the engine chooses.
    pub own: &'a dyn Backend,
    /// The device of an engine that chooses; `None` for an engine that was built for one backend.
    pub device: Option<Device>,
    /// The number of cores.
    pub cores: usize,
}

/// The device of an engine that chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Nobody has looked for a device yet.
    NotOpened,
    /// There is no device that the kernels can run on.
    Absent,
    /// The device is open.
    Open,
}

/// A chosen backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The backend of the engine.
    Own,
    /// The device of an engine that chooses.
    Device,
    /// The CPU, in place of the engine's backend.
    Cpu,
}

/// Chooses the backend of a run over inputs with `bytes` bytes of plain text, and says why.
#[must_use]
pub fn backend(purpose: Purpose<'_>, bytes: u64, has: &Backends<'_>) -> (On, Option<String>) {
    let is_cpu = || has.own.name() == Cpu.name();
    match purpose {
        Purpose::Schema if has.device.is_some() => (On::Own, Some("a schema is made on the CPU".into())),
        Purpose::Schema if is_cpu() => (On::Own, None),
        Purpose::Schema => {
            (On::Cpu, Some(format!("{} was requested; a schema is made on the CPU", has.own.name())))
        }
        Purpose::Results(program) if program.has_patterns_at_run() => {
            // The CPU evaluates this program, whichever backend has the text.
            let why = program.host_tests().purpose().unwrap_or("has a pattern that comes from the records");
            let why = format!("the program {why}");
            let reason = match has.device {
                Some(_) => Some(format!("auto: cpu, {why}")),
                None if is_cpu() => None,
                None => {
                    Some(format!("{} was requested; the CPU runs instead, because {why}", has.own.name()))
                }
            };
            (On::Own, reason)
        }
        _ => by_size(bytes, has),
    }
}

fn by_size(bytes: u64, has: &Backends<'_>) -> (On, Option<String>) {
    let Some(device) = has.device else { return (On::Own, None) };
    let choice = size::choose(bytes, has.cores);
    match (choice, device) {
        (Choice::Cpu { .. }, _) => (On::Own, Some(format!("auto: cpu, {choice}"))),
        (Choice::Device { .. }, Device::Absent) => {
            (On::Own, Some("auto: cpu, no CUDA device that the kernels can run on".into()))
        }
        (Choice::Device { .. }, Device::NotOpened | Device::Open) => {
            (On::Device, Some(format!("auto: cuda:0, {choice}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use warpath_lang::predicate::Predicate;
    use warpath_lang::program::Query;

    use super::*;

    fn program(path: &str) -> Program {
        Program::new(&[Query::compile(path).unwrap()]).unwrap()
    }

    #[test]
    fn the_size_of_plain_text_decides() {
        let has = |device| Backends { own: &Cpu, device, cores: 2 };
        let (small, large) = (1 << 20, 1 << 40);
        let program = program("$.a");
        let chosen = |bytes, device| backend(Purpose::Results(&program), bytes, &has(device));
        assert_eq!(chosen(large, None), (On::Own, None));
        assert_eq!(chosen(small, Some(Device::NotOpened)).0, On::Own);
        assert_eq!(chosen(large, Some(Device::NotOpened)).0, On::Device);
        assert_eq!(chosen(large, Some(Device::Open)).0, On::Device);
        let (on, reason) = chosen(large, Some(Device::Absent));
        assert_eq!(on, On::Own);
        assert!(reason.unwrap().ends_with("no CUDA device that the kernels can run on"));
    }

    #[test]
    fn the_cpu_makes_schemas_and_compares_instants() {
        let has = Backends { own: &Cpu, device: Some(Device::Open), cores: 2 };
        let (on, reason) = backend(Purpose::Schema, u64::MAX, &has);
        assert_eq!((on, reason.as_deref()), (On::Own, Some("a schema is made on the CPU")));
        for (predicate, why) in [
            ("time($.at) > '2026-01-01'", "auto: cpu, the program compares instants"),
            ("cidr($.ip, '10.0.0.0/8')", "auto: cpu, the program tests IP addresses"),
            ("match($.a, $.b)", "auto: cpu, the program has a pattern that comes from the records"),
        ] {
            let predicate = Predicate::parse(predicate).unwrap();
            let program = program("$.a").matching(&predicate.into(), false).unwrap();
            let (on, reason) = backend(Purpose::Results(&program), u64::MAX, &has);
            assert_eq!((on, reason.as_deref()), (On::Own, Some(why)));
        }
    }
}
