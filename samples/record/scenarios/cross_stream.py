"""Blocks freed while another stream still uses them: pending frees in a snapshot, and the OOM they lead to."""

import traceback

from allocate import activation, temporary, weight
from workloads import MIB, cross_stream_plan


def run(recorder):
    torch = recorder.torch
    plan = cross_stream_plan(recorder.cap_bytes)
    recorder.note_facts(plan)
    side = torch.cuda.Stream()
    load_kernels(torch, side)
    recorder.start_recording()

    segment = temporary(torch, plan["segment_bytes"])
    del segment
    # Takes the front of the block just freed and pins it; the gradient bucket takes all of the rest.
    pinned = weight(torch, plan["pinned_bytes"])
    bucket = temporary(torch, plan["request_bytes"])
    held = activation(torch, plan["held_bytes"])
    recorder.iteration(1, 2)

    reduce_on(torch, side, bucket, plan["busy_cycles"])
    del bucket
    small = [activation(torch, MIB) for _ in range(4)]
    recorder.dump_snapshot()
    # After the dump: what is pending now was pending in the snapshot.
    pending = recorder.pending_bytes()
    recorder.note_facts({"pending_bytes": pending})
    if pending == 0:
        recorder.degraded("no free was pending any more when the snapshot was taken")

    try:
        wanted = activation(torch, plan["request_bytes"])
    except torch.cuda.OutOfMemoryError:
        traceback.print_exc()
        recorder.failed("oom")
        wanted = None
    if wanted is None:
        wanted = activation(torch, plan["request_bytes"])
        recorder.say(f"The same request of {plan['request_bytes']} bytes succeeded at once when made again.")
        recorder.note_facts({"same_request_succeeded_again": True})
    recorder.iteration(2, 2)
    del wanted, held, pinned, small


def load_kernels(torch, side):
    """Loading a kernel may wait for the device, which would complete the frees that are meant to be pending."""
    with torch.cuda.stream(side):
        torch.cuda._sleep(1000)
        torch.zeros(1024, dtype=torch.uint8, device="cuda").add_(1)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def reduce_on(torch, side, bucket, cycles):
    """Stands for a collective on a communication stream: it uses the bucket for over a second."""
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(cycles)
        bucket.add_(1)
    bucket.record_stream(side)
