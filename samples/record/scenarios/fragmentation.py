"""Fragmentation, and the same requests with expandable segments: the settings alone decide the outcome."""

from allocate import run_operations
from workloads import fragmentation


def run(recorder):
    recorder.start_recording()
    run_operations(recorder, fragmentation(recorder.cap_bytes, recorder.seed))
    recorder.dump_snapshot()
