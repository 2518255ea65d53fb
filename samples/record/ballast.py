"""Device memory taken outside PyTorch's allocator, as a communication library in the same process takes it.

Linux only: the CUDA libraries are looked for in the process itself.
"""

import ctypes
import ctypes.util


def loaded_library(stem):
    """Path of a library this process has loaded, or None. torch loads the CUDA runtime from its own directory."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                path = line.rstrip("\n").split(" ", 5)[-1].strip()
                if path.rsplit("/", 1)[-1].startswith(stem):
                    return path
    except OSError:
        pass
    return None


def open_allocators():
    """(name, function) pairs, best first; the function takes a size and returns an error code, 0 for success."""
    allocators = []
    runtime = load(loaded_library("libcudart") or ctypes.util.find_library("cudart"))
    if runtime is not None and hasattr(runtime, "cudaMalloc"):
        runtime.cudaMalloc.restype = ctypes.c_int
        runtime.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]

        def cuda_malloc(size):
            pointer = ctypes.c_void_p()
            error = runtime.cudaMalloc(ctypes.byref(pointer), size)
            if error != 0:
                # The runtime remembers its last error, and torch's allocator throws if it finds one before it begins.
                runtime.cudaGetLastError()
            return error

        allocators.append(("cudaMalloc", cuda_malloc))
    # A torch that links the runtime statically leaves the driver, which must be there.
    driver = load(loaded_library("libcuda.so") or "libcuda.so.1")
    if driver is not None and hasattr(driver, "cuMemAlloc_v2"):
        driver.cuMemAlloc_v2.restype = ctypes.c_int
        driver.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]

        def cu_mem_alloc(size):
            pointer = ctypes.c_uint64()
            return driver.cuMemAlloc_v2(ctypes.byref(pointer), size)

        allocators.append(("cuMemAlloc", cu_mem_alloc))
    return allocators


def load(path):
    if not path:
        return None
    try:
        return ctypes.CDLL(path)
    except OSError:
        return None


SMALLEST_PIECE = 32 << 20


def take(size):
    """Takes up to `size` bytes of the current device, for as long as the process lives.

    Returns (bytes taken, name of the function). torch must have initialised the device on this thread. Raises OSError
    if no CUDA library is found or none of them gives anything.
    """
    for name, allocate in open_allocators():
        taken, piece = 0, size
        while size - taken >= SMALLEST_PIECE and piece >= SMALLEST_PIECE:
            piece = min(piece, size - taken)
            if allocate(piece) == 0:
                taken += piece
            else:
                piece //= 2
        if taken > 0:
            return taken, name
    raise OSError("neither libcudart's cudaMalloc nor libcuda's cuMemAlloc could be used")
