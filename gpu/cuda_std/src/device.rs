//! What only the device has: LLVM's NVPTX intrinsics and the panic handler.

pub(crate) mod intrinsics;

/// Traps, which ends the launch with an error on the host. Kernels report through a status word instead.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the intrinsic takes nothing and does not return control to this thread.
    unsafe { intrinsics::trap() };
    loop {}
}
