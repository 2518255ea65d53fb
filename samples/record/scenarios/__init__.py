"""The scenarios, in the order they are recorded. Importing this needs no torch; each module's run() does.

To add one: write scenarios/NAME.py with run(recorder) and add it here.
"""

from typing import Callable, NamedTuple, Optional

from workloads import max_split_mib, roundup_list


class Scenario(NamedTuple):
    name: str
    # Module below scenarios/ whose run(recorder) is the run.
    module: str
    shows: str
    # The cause a diagnosis should find, in this project's vocabulary; None where nothing fails.
    cause: Optional[str]
    # Outcomes that count as expected: "oom", "completed".
    expected: tuple[str, ...]
    # Allocator settings, from the cap in bytes; "" for torch's defaults.
    settings: Callable[[int], str] = lambda cap: ""
    # Whether the allocator may reserve the cap only (torch.cuda.set_per_process_memory_fraction).
    capped: bool = True
    # First torch release that has what it needs.
    needs_torch: tuple[int, int] = (2, 1)
    # Ring buffer of the recording, in trace entries.
    max_entries: int = 20_000


def _sweep(name, settings, shows, needs_torch=(2, 1)):
    return Scenario(f"sweep-{name}", "sweep", shows, None, ("completed",), settings, needs_torch=needs_torch)


SCENARIOS = (
    Scenario(
        "fragmentation-default",
        "fragmentation",
        "Long-lived blocks pin the cached blocks of an earlier iteration: enough is free, but not in one piece.",
        "fragmentation",
        ("oom",),
    ),
    Scenario(
        "fragmentation-expandable",
        "fragmentation",
        "The same requests with expandable segments: free pages are unmapped and used again, the run completes.",
        None,
        ("completed",),
        lambda cap: "expandable_segments:True",
    ),
    Scenario(
        "capacity",
        "capacity",
        "Weights, optimizer states and activations are needed at once and exceed the cap; nothing is wasted.",
        "capacity",
        ("oom",),
    ),
    Scenario(
        "leak",
        "leak",
        "A list keeps the logits of every step, so memory grows by the same amount until it is gone. The ring wraps.",
        "leak",
        ("oom",),
        # Fewer than the run makes: what a full ring has lost is worth a recording.
        max_entries=4_000,
    ),
    Scenario(
        "graph-pools",
        "graph_pools",
        "Four CUDA graphs keep the memory of their captures; it is free inside their pools and no use to anyone else.",
        "graph_pools",
        ("oom",),
    ),
    Scenario(
        "mem-pool",
        "mem_pool",
        "A torch.cuda.MemPool keeps half of the cap cached; a request of the default pool fails.",
        "graph_pools",
        ("oom",),
        # There since 2.5; the first releases counted the pool's users differently.
        needs_torch=(2, 5),
    ),
    Scenario(
        "external-ballast",
        "external_ballast",
        "cudaMalloc outside PyTorch takes nearly all of the device; PyTorch holds little. Not capped.",
        "external_pressure",
        ("oom",),
        capped=False,
    ),
    Scenario(
        "cross-stream",
        "cross_stream",
        "record_stream: a snapshot with pending frees, then a request that fails although the block it needs is about "
        "to be free; made again, it succeeds. A torch that searches its blocks again (pytorch issue 189504) completes.",
        "synchronisation",
        ("oom", "completed"),
    ),
    _sweep("default", lambda cap: "", "The workload of the sweep under torch's defaults: the one to compare with."),
    _sweep(
        "max-split",
        lambda cap: f"max_split_size_mb:{max_split_mib(cap)}",
        "max_split_size_mb: large blocks are not split, and cached ones are given back one by one.",
    ),
    _sweep(
        "non-split-rounding",
        lambda cap: f"max_split_size_mb:{max_split_mib(cap)},max_non_split_rounding_mb:{max_split_mib(cap)}",
        "max_non_split_rounding_mb: an unsplit block may be larger than the request by more than 20 MiB.",
        needs_torch=(2, 6),
    ),
    _sweep(
        "roundup",
        lambda cap: "roundup_power2_divisions:4",
        "roundup_power2_divisions: sizes are rounded up to quarters of a power of two.",
    ),
    _sweep(
        "roundup-list",
        lambda cap: f"roundup_power2_divisions:{roundup_list(cap)}",
        "roundup_power2_divisions as a list: other divisions for other sizes.",
    ),
    _sweep(
        "garbage-collection",
        lambda cap: "garbage_collection_threshold:0.6",
        "garbage_collection_threshold with a memory fraction: old cached blocks are given back before the cap is met.",
    ),
    _sweep("expandable", lambda cap: "expandable_segments:True", "expandable_segments:True on the sweep's workload."),
    Scenario(
        "optimizer-birth",
        "optimizer_birth",
        "Three steps of a small GPT, recorded from before the model exists: Adam's states are born in the first step.",
        None,
        ("completed",),
    ),
    Scenario(
        "clean",
        "clean",
        "Six steps of a small GPT without any failure; the recording begins after the second step, as with a profiler.",
        None,
        ("completed",),
    ),
)

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
