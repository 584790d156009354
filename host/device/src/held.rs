//! Arrays of a device that outlive the partition that they are made of.

use std::any::Any;
use std::sync::Arc;

#[cfg(feature = "arrow")]
use warpath_answer::on_device::SyncEvent;
use warpath_answer::on_device::{Array, ArrayPart, ArrowDevice, DeviceMemory, Holder};
use warpath_core::error::Error;
use warpath_core::plain::Plain;

use super::Accelerator;

/// A queue that makes and copies such arrays.
pub(super) struct Held<A: Accelerator>(Arc<A>);

impl<A: Accelerator> Held<A> {
    /// Makes a queue on the device of another queue.
    pub fn new(device: &A) -> Result<Self, Error> {
        Ok(Self(Arc::new(device.queue()?)))
    }

    /// Takes over an array whose queue has been waited for.
    pub fn take<T: Plain>(&self, buffer: A::Buffer<T>) -> Array {
        self.array_of(self.0.bytes_of(buffer))
    }

    fn array_of(&self, bytes: A::Buffer<u8>) -> Array {
        Array::new(HeldBytes { bytes, queue: self.0.clone() })
    }
}

/// Bytes on a device, and a queue that copies them.
struct HeldBytes<A: Accelerator> {
    bytes: A::Buffer<u8>,
    queue: Arc<A>,
}

impl<A: Accelerator> DeviceMemory for HeldBytes<A> {
    fn address(&self) -> u64 {
        self.queue.address(&self.bytes)
    }

    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Error> {
        if to.is_empty() { Ok(()) } else { self.queue.download(&self.bytes, at, to) }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<A: Accelerator> Holder for Held<A> {
    fn device(&self) -> ArrowDevice {
        self.0.arrow_device()
    }

    fn array(&self, parts: &[ArrayPart<'_>]) -> Result<Array, Error> {
        let len_of = |part: &ArrayPart<'_>| match part {
            ArrayPart::Host(bytes) => bytes.len(),
            ArrayPart::Device(_, len) => *len,
        };
        let mut bytes = self.0.alloc::<u8>(parts.iter().map(len_of).sum::<usize>().max(1))?;
        let mut at = 0;
        for part in parts {
            match part {
                ArrayPart::Host(from) => self.0.upload(&mut bytes, at, from)?,
                ArrayPart::Device(array, len) => {
                    let held = array.memory().as_any().downcast_ref::<HeldBytes<A>>();
                    let held = held.ok_or_else(|| Error::Internal("an array of another device".into()))?;
                    self.0.copy(&mut bytes, at, &held.bytes, *len)?;
                }
            }
            at += len_of(part);
        }
        self.0.wait()?;
        Ok(self.array_of(bytes))
    }

    #[cfg(feature = "arrow")]
    fn event(&self) -> Result<Option<SyncEvent>, Error> {
        self.0.sync_event()
    }
}
