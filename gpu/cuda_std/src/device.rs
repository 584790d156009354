//! The parts that exist only on the device: LLVM's NVPTX intrinsics and the panic handler.

pub(crate) mod intrinsics;

/// Traps, which ends the launch with an error on the host. Kernels report errors through a status word
/// instead.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the intrinsic takes no arguments and does not return control to this thread.
    unsafe { intrinsics::trap() };
    loop {}
}
