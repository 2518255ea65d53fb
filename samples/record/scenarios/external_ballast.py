"""The device runs out while PyTorch holds little: nearly all of it was taken outside PyTorch. No memory fraction."""

from allocate import activation, weight
from ballast import take
from workloads import GIB, MIB

WEIGHT_BYTES = 256 * MIB
# What is left to PyTorch after the ballast.
HEADROOM_BYTES = 512 * MIB
ACTIVATION_BYTES = 64 * MIB


def run(recorder):
    torch = recorder.torch
    recorder.start_recording()
    weights = weight(torch, WEIGHT_BYTES)
    free_before, total = torch.cuda.mem_get_info()
    if free_before < 2 * GIB:
        recorder.unavailable(f"only {free_before} bytes of the device are free")
    taken, function = take(free_before - HEADROOM_BYTES)
    free_after, _ = torch.cuda.mem_get_info()
    recorder.note_facts(
        {
            "ballast_bytes": taken,
            "ballast_function": function,
            "device_total_bytes": total,
            "device_free_before_ballast_bytes": free_before,
            "device_free_after_ballast_bytes": free_after,
        }
    )
    recorder.say(f"{taken} bytes taken with {function} outside PyTorch, {free_after} bytes of the device are left.")
    recorder.iteration(1, 2)
    # Twice what is left, in pieces: the driver has to refuse one of them.
    activations = [activation(torch, ACTIVATION_BYTES) for _ in range(2 * free_after // ACTIVATION_BYTES + 1)]
    recorder.iteration(2, 2)
    recorder.dump_snapshot()
    del activations, weights
