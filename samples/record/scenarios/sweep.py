"""One workload under many allocator settings."""

from allocate import run_operations
from workloads import sweep


def run(recorder):
    recorder.start_recording()
    run_operations(recorder, sweep(recorder.cap_bytes, recorder.seed))
    recorder.dump_snapshot()
