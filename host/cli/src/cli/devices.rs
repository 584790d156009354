//! `warpath devices`.

use std::process::ExitCode;

use warpath::{DeviceChoice, Engine};

use super::failure::Failure;
use super::out::Out;

pub fn run() -> Result<ExitCode, Failure> {
    let mut out = Out::stdout();
    let (lines, failure) = match cuda() {
        Ok(lines) => (lines, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    for line in lines {
        out.buffer.extend_from_slice(line.as_bytes());
        out.buffer.push(b'\n');
    }
    let cpu = Engine::builder().device(DeviceChoice::Cpu).build()?.backend_name();
    out.buffer.extend_from_slice(cpu.as_bytes());
    out.buffer.push(b'\n');
    out.finish()?;
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

#[cfg(feature = "cuda")]
fn cuda() -> Result<Vec<String>, Failure> {
    use indicatif::BinaryBytes;
    use warpath::{DeviceError, Error};

    match warpath::cuda::devices() {
        Ok(devices) if devices.is_empty() => Ok(vec!["no CUDA device found".into()]),
        Ok(devices) => Ok(devices
            .iter()
            .map(|device| {
                let (major, minor) = device.compute_capability;
                let memory = BinaryBytes(device.memory);
                format!(
                    "cuda:{} ({}, {memory}, compute capability {major}.{minor})",
                    device.number, device.name
                )
            })
            .collect()),
        Err(Error::Device(DeviceError::NoDriver)) => Ok(vec!["no CUDA driver found".into()]),
        Err(Error::Device(DeviceError::NoDevice { .. })) => Ok(vec!["no CUDA device found".into()]),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Vec<String>, Failure> {
    Ok(vec!["no CUDA: this warpath was built without it".into()])
}
