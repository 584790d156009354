//! The error codes of the driver API.

use std::error::Error;
use std::ffi::{CStr, c_int};
use std::fmt;
use std::ptr;

use crate::sys::{self, CUresult};

/// The result of a call of the driver.
pub type CudaResult<T> = Result<T, CudaError>;

/// Defines the codes twice: as constants of [`CUresult`], and as variants of [`CudaError`].
macro_rules! codes {
    ($($code:literal $name:ident $variant:ident;)*) => {
        impl CUresult {
            /// Success.
            pub const CUDA_SUCCESS: Self = Self(0);
            $(
                #[doc = concat!("[`CudaError::", stringify!($variant), "`].")]
                pub const $name: Self = Self($code);
            )*

            /// Returns the name of a code that CUDA's headers list.
            pub(crate) fn name(self) -> Option<&'static str> {
                match self.0 {
                    0 => Some("CUDA_SUCCESS"),
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// Turns every code except success into an error.
            ///
            /// # Errors
            ///
            /// The code as a [`CudaError`].
            pub fn result(self) -> CudaResult<()> {
                match self.0 {
                    0 => Ok(()),
                    $($code => Err(CudaError::$variant),)*
                    other => Err(CudaError::Unlisted(other)),
                }
            }
        }

        /// An error code of the driver API, up to CUDA 13.4.
        ///
        /// Any call may return the error of an earlier asynchronous launch or copy.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum CudaError {
            $(
                #[doc = concat!("`", stringify!($name), "`, ", stringify!($code), ".")]
                $variant,
            )*
            /// A code that only newer drivers have.
            Unlisted(c_int),
        }

        impl CudaError {
            /// Returns the driver's number for the error.
            #[must_use]
            pub fn code(self) -> c_int {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Unlisted(code) => code,
                }
            }
        }

        #[cfg(test)]
        const ALL: &[CUresult] = &[$(CUresult::$name),*];
    };
}

codes! {
    1 CUDA_ERROR_INVALID_VALUE InvalidValue;
    2 CUDA_ERROR_OUT_OF_MEMORY OutOfMemory;
    3 CUDA_ERROR_NOT_INITIALIZED NotInitialized;
    4 CUDA_ERROR_DEINITIALIZED Deinitialized;
    5 CUDA_ERROR_PROFILER_DISABLED ProfilerDisabled;
    6 CUDA_ERROR_PROFILER_NOT_INITIALIZED ProfilerNotInitialized;
    7 CUDA_ERROR_PROFILER_ALREADY_STARTED ProfilerAlreadyStarted;
    8 CUDA_ERROR_PROFILER_ALREADY_STOPPED ProfilerAlreadyStopped;
    34 CUDA_ERROR_STUB_LIBRARY StubLibrary;
    36 CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER CallRequiresNewerDriver;
    46 CUDA_ERROR_DEVICE_UNAVAILABLE DeviceUnavailable;
    47 CUDA_ERROR_MULTICAST_RESOURCE_FULL MulticastResourceFull;
    100 CUDA_ERROR_NO_DEVICE NoDevice;
    101 CUDA_ERROR_INVALID_DEVICE InvalidDevice;
    102 CUDA_ERROR_DEVICE_NOT_LICENSED DeviceNotLicensed;
    200 CUDA_ERROR_INVALID_IMAGE InvalidImage;
    201 CUDA_ERROR_INVALID_CONTEXT InvalidContext;
    202 CUDA_ERROR_CONTEXT_ALREADY_CURRENT ContextAlreadyCurrent;
    205 CUDA_ERROR_MAP_FAILED MapFailed;
    206 CUDA_ERROR_UNMAP_FAILED UnmapFailed;
    207 CUDA_ERROR_ARRAY_IS_MAPPED ArrayIsMapped;
    208 CUDA_ERROR_ALREADY_MAPPED AlreadyMapped;
    209 CUDA_ERROR_NO_BINARY_FOR_GPU NoBinaryForGpu;
    210 CUDA_ERROR_ALREADY_ACQUIRED AlreadyAcquired;
    211 CUDA_ERROR_NOT_MAPPED NotMapped;
    212 CUDA_ERROR_NOT_MAPPED_AS_ARRAY NotMappedAsArray;
    213 CUDA_ERROR_NOT_MAPPED_AS_POINTER NotMappedAsPointer;
    214 CUDA_ERROR_ECC_UNCORRECTABLE EccUncorrectable;
    215 CUDA_ERROR_UNSUPPORTED_LIMIT UnsupportedLimit;
    216 CUDA_ERROR_CONTEXT_ALREADY_IN_USE ContextAlreadyInUse;
    217 CUDA_ERROR_PEER_ACCESS_UNSUPPORTED PeerAccessUnsupported;
    218 CUDA_ERROR_INVALID_PTX InvalidPtx;
    219 CUDA_ERROR_INVALID_GRAPHICS_CONTEXT InvalidGraphicsContext;
    220 CUDA_ERROR_NVLINK_UNCORRECTABLE NvlinkUncorrectable;
    221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND JitCompilerNotFound;
    222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION UnsupportedPtxVersion;
    223 CUDA_ERROR_JIT_COMPILATION_DISABLED JitCompilationDisabled;
    224 CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY UnsupportedExecAffinity;
    225 CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC UnsupportedDevsideSync;
    226 CUDA_ERROR_CONTAINED Contained;
    227 CUDA_ERROR_INSUFFICIENT_LOADER_VERSION InsufficientLoaderVersion;
    300 CUDA_ERROR_INVALID_SOURCE InvalidSource;
    301 CUDA_ERROR_FILE_NOT_FOUND FileNotFound;
    302 CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND SharedObjectSymbolNotFound;
    303 CUDA_ERROR_SHARED_OBJECT_INIT_FAILED SharedObjectInitFailed;
    304 CUDA_ERROR_OPERATING_SYSTEM OperatingSystemError;
    400 CUDA_ERROR_INVALID_HANDLE InvalidHandle;
    401 CUDA_ERROR_ILLEGAL_STATE IllegalState;
    402 CUDA_ERROR_LOSSY_QUERY LossyQuery;
    500 CUDA_ERROR_NOT_FOUND NotFound;
    600 CUDA_ERROR_NOT_READY NotReady;
    700 CUDA_ERROR_ILLEGAL_ADDRESS IllegalAddress;
    701 CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES LaunchOutOfResources;
    702 CUDA_ERROR_LAUNCH_TIMEOUT LaunchTimeout;
    703 CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING LaunchIncompatibleTexturing;
    704 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED PeerAccessAlreadyEnabled;
    705 CUDA_ERROR_PEER_ACCESS_NOT_ENABLED PeerAccessNotEnabled;
    708 CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE PrimaryContextActive;
    709 CUDA_ERROR_CONTEXT_IS_DESTROYED ContextIsDestroyed;
    710 CUDA_ERROR_ASSERT AssertError;
    711 CUDA_ERROR_TOO_MANY_PEERS TooManyPeers;
    712 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED HostMemoryAlreadyRegistered;
    713 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED HostMemoryNotRegistered;
    714 CUDA_ERROR_HARDWARE_STACK_ERROR HardwareStackError;
    715 CUDA_ERROR_ILLEGAL_INSTRUCTION IllegalInstruction;
    716 CUDA_ERROR_MISALIGNED_ADDRESS MisalignedAddress;
    717 CUDA_ERROR_INVALID_ADDRESS_SPACE InvalidAddressSpace;
    718 CUDA_ERROR_INVALID_PC InvalidProgramCounter;
    719 CUDA_ERROR_LAUNCH_FAILED LaunchFailed;
    720 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE CooperativeLaunchTooLarge;
    721 CUDA_ERROR_TENSOR_MEMORY_LEAK TensorMemoryLeak;
    800 CUDA_ERROR_NOT_PERMITTED NotPermitted;
    801 CUDA_ERROR_NOT_SUPPORTED NotSupported;
    802 CUDA_ERROR_SYSTEM_NOT_READY SystemNotReady;
    803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH SystemDriverMismatch;
    804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE CompatNotSupportedOnDevice;
    805 CUDA_ERROR_MPS_CONNECTION_FAILED MpsConnectionFailed;
    806 CUDA_ERROR_MPS_RPC_FAILURE MpsRpcFailure;
    807 CUDA_ERROR_MPS_SERVER_NOT_READY MpsServerNotReady;
    808 CUDA_ERROR_MPS_MAX_CLIENTS_REACHED MpsMaxClientsReached;
    809 CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED MpsMaxConnectionsReached;
    810 CUDA_ERROR_MPS_CLIENT_TERMINATED MpsClientTerminated;
    811 CUDA_ERROR_CDP_NOT_SUPPORTED CdpNotSupported;
    812 CUDA_ERROR_CDP_VERSION_MISMATCH CdpVersionMismatch;
    900 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED StreamCaptureUnsupported;
    901 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED StreamCaptureInvalidated;
    902 CUDA_ERROR_STREAM_CAPTURE_MERGE StreamCaptureMerge;
    903 CUDA_ERROR_STREAM_CAPTURE_UNMATCHED StreamCaptureUnmatched;
    904 CUDA_ERROR_STREAM_CAPTURE_UNJOINED StreamCaptureUnjoined;
    905 CUDA_ERROR_STREAM_CAPTURE_ISOLATION StreamCaptureIsolation;
    906 CUDA_ERROR_STREAM_CAPTURE_IMPLICIT StreamCaptureImplicit;
    907 CUDA_ERROR_CAPTURED_EVENT CapturedEvent;
    908 CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD StreamCaptureWrongThread;
    909 CUDA_ERROR_TIMEOUT Timeout;
    910 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE GraphExecUpdateFailure;
    911 CUDA_ERROR_EXTERNAL_DEVICE ExternalDevice;
    912 CUDA_ERROR_INVALID_CLUSTER_SIZE InvalidClusterSize;
    913 CUDA_ERROR_FUNCTION_NOT_LOADED FunctionNotLoaded;
    914 CUDA_ERROR_INVALID_RESOURCE_TYPE InvalidResourceType;
    915 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION InvalidResourceConfiguration;
    916 CUDA_ERROR_KEY_ROTATION KeyRotation;
    917 CUDA_ERROR_STREAM_DETACHED StreamDetached;
    918 CUDA_ERROR_GRAPH_RECAPTURE_FAILURE GraphRecaptureFailure;
    919 CUDA_ERROR_FABRIC_NOT_READY FabricNotReady;
    999 CUDA_ERROR_UNKNOWN UnknownError;
}

impl fmt::Debug for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "CUDA error {}", self.0),
        }
    }
}

impl fmt::Display for CudaError {
    /// Writes the driver's text for the code, or the code's name where the driver has no text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StubLibrary => f.write_str("no CUDA driver found"),
            Self::CallRequiresNewerDriver => f.write_str("the CUDA driver is too old for this call"),
            error => {
                let code = CUresult(error.code());
                match driver_text(code) {
                    Some(text) => f.write_str(&text.to_string_lossy()),
                    None => write!(f, "{code:?}"),
                }
            }
        }
    }
}

impl Error for CudaError {}

/// Returns the driver's text for a code.
fn driver_text(code: CUresult) -> Option<&'static CStr> {
    let mut text = ptr::null();
    // SAFETY: `text` is valid for the write of the call, which accepts any code.
    let result = unsafe { sys::cuGetErrorString(code, &mut text) };
    if result != CUresult::CUDA_SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: the driver writes null or the address of a zero-terminated string in its read-only data. The
    // driver's library is never unloaded.
    Some(unsafe { CStr::from_ptr(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_keeps_its_number_and_its_name() {
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0), "codes are sorted");
        for code in ALL {
            let error = code.result().unwrap_err();
            assert_eq!(error.code(), code.0);
            assert_ne!(error, CudaError::Unlisted(code.0));
            assert!(code.name().unwrap().starts_with("CUDA_ERROR_"));
            assert_eq!(format!("{code:?}"), code.name().unwrap());
            assert!(!error.to_string().is_empty());
        }
        assert_eq!(CUresult::CUDA_SUCCESS.result(), Ok(()));
        assert_eq!(CUresult::CUDA_ERROR_OUT_OF_MEMORY.result(), Err(CudaError::OutOfMemory));
        assert_eq!(CUresult::CUDA_ERROR_UNKNOWN.result(), Err(CudaError::UnknownError));
    }

    #[test]
    fn codes_of_newer_drivers_keep_their_number() {
        for code in [-1, 9, 33, 35, 103, 203, 204, 305, 501, 601, 706, 707, 998, 1000] {
            let error = CUresult(code).result().unwrap_err();
            assert_eq!(error, CudaError::Unlisted(code));
            assert_eq!(error.code(), code);
            assert_eq!(format!("{:?}", CUresult(code)), format!("CUDA error {code}"));
            assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn failures_of_loading_have_a_text_without_a_driver() {
        assert_eq!(CudaError::StubLibrary.to_string(), "no CUDA driver found");
        assert_eq!(
            CudaError::CallRequiresNewerDriver.to_string(),
            "the CUDA driver is too old for this call"
        );
    }
}
