"""Too little memory for what is needed at once."""

from allocate import run_operations
from workloads import capacity


def run(recorder):
    recorder.start_recording()
    run_operations(recorder, capacity(recorder.cap_bytes, recorder.seed))
    recorder.dump_snapshot()
