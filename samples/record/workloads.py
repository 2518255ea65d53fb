"""What the scenarios allocate, as plain numbers: no torch here, so that the arithmetic can be checked without a GPU.

A workload is a sequence of operations:

    {"op": "alloc", "name": NAME, "bytes": N, "site": SITE}   request N bytes and call them NAME
    {"op": "free", "name": NAME}                              drop NAME
    {"op": "iteration", "number": I, "of": N}                 a training iteration is over

SITE is a function of allocate.py and ends up in the recorded stacks. Every size follows from the cap, the number of
bytes the allocator may reserve, so a workload does the same thing on a device of any size.
"""

import random

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

# Below this the 20 MiB pages of expandable segments are no longer small against the holes of the fragmentation.
MIN_CAP_BYTES = 2 * GIB


def exact(size):
    """The next multiple of 2 MiB, at least 10 MiB: the allocator gives such a request a segment of just that size."""
    return max(10 * MIB, -(-int(size) // (2 * MIB)) * (2 * MIB))


def alloc(name, size, site):
    return {"op": "alloc", "name": name, "bytes": int(size), "site": site}


def free(name):
    return {"op": "free", "name": name}


def iteration(number, of):
    return {"op": "iteration", "number": number, "of": of}


def fragmentation(cap_bytes, seed):
    """Long-lived blocks land inside the cached blocks of an earlier iteration and pin every one of them.

    Why it must fail without expandable segments, whatever the device: twelve activations of at least cap/16 each get a
    segment of their own. Each is freed and at once split between an optimizer state (kept) and a gradient (freed at the
    end), so all twelve segments, at least 3/4 of the cap, can neither go back to the driver nor serve the last request
    of 3/10 of the cap: the largest hole is below cap/14. Yet what is live then, at most 0.18 of the cap, and that
    request together need less than half of the cap. With expandable segments the whole pages of the holes are unmapped
    and reused.
    """
    rng = random.Random(seed)
    count = 12
    yield alloc("weights", exact(cap_bytes / 32), "weight")
    wide = [exact(cap_bytes / 16 + rng.randrange(cap_bytes // 128)) for _ in range(count)]
    for i, size in enumerate(wide):
        yield alloc(f"activation.{i}", size, "activation")
    for i, size in enumerate(wide):
        yield free(f"activation.{i}")
        kept = cap_bytes // 128 + rng.randrange(cap_bytes // 256)
        yield alloc(f"optimizer_state.{i}", kept, "optimizer_state")
        # Blocks are multiples of 512 bytes; this takes the whole rest, so that the next state cannot move in there.
        yield alloc(f"gradient.{i}", size - -(-kept // 512) * 512, "gradient")
    for i in range(count):
        yield free(f"gradient.{i}")
    yield iteration(1, 2)
    yield alloc("activation.long", exact(cap_bytes * 3 / 10), "activation")
    yield free("activation.long")
    yield iteration(2, 2)


def capacity(cap_bytes, seed):
    """Everything is needed at once and no block is ever split: the cap is simply too small.

    Weights, gradients and two moments take half of the cap. The first iteration keeps four activations of cap/24, the
    second wants sixteen. Equal sizes recur and fit exactly, so nothing is wasted: when a request fails, the live bytes
    and that request together exceed the cap under any allocator settings.
    """
    del seed  # nothing is random here
    static = exact(cap_bytes / 64)
    for kind in ("weight", "gradient", "exp_avg", "exp_avg_sq"):
        site = "optimizer_state" if kind.startswith("exp_avg") else kind
        for layer in range(8):
            yield alloc(f"{kind}.{layer}", static, site)
    for number, kept in ((1, 4), (2, 16)):
        for layer in range(kept):
            yield alloc("workspace", exact(cap_bytes / 96), "temporary")
            yield alloc(f"activation.{layer}", exact(cap_bytes / 24), "activation")
            yield free("workspace")
        for layer in reversed(range(kept)):
            yield free(f"activation.{layer}")
        yield iteration(number, 2)


def sweep(cap_bytes, seed):
    """Eight iterations of growing length, made to be run under many allocator settings.

    Sizes span a kilobyte to a quarter of the cap. The logits outgrow every cached block in each iteration, as with
    sequences that get longer, and every iteration leaves two long-lived blocks behind. What is cached comes to several
    times the cap, so that flushes, garbage collection and the rules for oversized blocks have something to do; live
    bytes stay below 3/5 of it.
    """
    rng = random.Random(seed)
    iterations, layers = 8, 8
    for layer in range(layers):
        yield alloc(f"weight.{layer}", cap_bytes // 160 + rng.randrange(cap_bytes // 640), "weight")
        yield alloc(f"norm.{layer}", rng.randrange(KIB, 256 * KIB), "weight")
    for number in range(1, iterations + 1):
        length = (0.5 + number / (2 * iterations)) * rng.uniform(0.95, 1.05)
        for layer in range(layers):
            width = int(cap_bytes / 56 * length * rng.uniform(0.7, 1.3))
            yield alloc("workspace", int(width * rng.uniform(1.5, 3.0)), "temporary")
            yield alloc(f"activation.{layer}", width, "activation")
            yield alloc(f"statistics.{layer}", rng.randrange(KIB, 3 * MIB), "activation")
            yield free("workspace")
        yield alloc("logits", int(cap_bytes / 4.5 * length), "activation")
        # Checkpoint buffers and the states of late parameters: whatever is cached now gets pinned by them.
        for index in range(2):
            yield alloc(
                f"state.{number}.{index}", cap_bytes // 400 + rng.randrange(cap_bytes // 800), "optimizer_state"
            )
        yield free("logits")
        for layer in reversed(range(layers)):
            yield alloc("gradient", int(cap_bytes / 28 * length * rng.uniform(0.5, 1.0)), "gradient")
            yield free(f"statistics.{layer}")
            yield free(f"activation.{layer}")
            yield free("gradient")
        yield iteration(number, iterations)


WORKLOADS = {"fragmentation": fragmentation, "capacity": capacity, "sweep": sweep}


def graph_pools_plan(cap_bytes):
    """Four CUDA graphs, each with three buffers of its own: half of the cap is theirs for good.

    A request of 3/5 of the cap then fails, although only the graphs' common input is live outside their pools.
    """
    return {
        "graphs": 4,
        "buffers_per_graph": 3,
        "buffer_bytes": exact(cap_bytes / 24),
        "request_bytes": exact(cap_bytes * 3 / 5),
    }


def mem_pool_plan(cap_bytes):
    """A MemPool keeps half of the cap cached; one small live block in it makes sure that no flush can take it."""
    return {
        "pool_bytes": exact(cap_bytes / 2),
        "kept_bytes": 4 * MIB,
        "request_bytes": exact(cap_bytes * 3 / 5),
    }


def cross_stream_plan(cap_bytes):
    """A request that exactly fits a block whose free is still pending, in a segment that a small live block pins.

    The allocator waits for the pending free before it gives up, but then only asks the driver again and does not search
    its own blocks a second time (pytorch issue 189504): it fails with a fitting free block in hand, and the same
    request made again succeeds. The held bytes leave no room for a new segment.
    """
    segment = exact(cap_bytes / 4)
    pinned = 4 * MIB
    return {
        "segment_bytes": segment,
        "pinned_bytes": pinned,
        "request_bytes": segment - pinned,
        "held_bytes": exact(cap_bytes * 5 / 8),
        # About 1.5 s at 2 GHz: longer than the host needs to dump a snapshot of a few dozen entries.
        "busy_cycles": 3_000_000_000,
    }


def gpt_plan(cap_bytes):
    """A small GPT whose weights, gradients and Adam states take about a quarter of the cap, at most twelve layers."""
    hidden, vocabulary, sequence = 512, 8192, 256
    per_layer = 12 * hidden * hidden + 13 * hidden
    fixed = 2 * vocabulary * hidden + sequence * hidden + 2 * hidden
    layers = int((cap_bytes / 4 / 16 - fixed) / per_layer)
    return {
        "hidden": hidden,
        "heads": 8,
        "vocabulary": vocabulary,
        "sequence": sequence,
        "layers": max(2, min(12, layers)),
        "batch": 4,
    }


def leak_plan(cap_bytes):
    """Two layers, and a batch whose logits take cap/32: kept at every step, they exceed the cap before the last one."""
    plan = gpt_plan(cap_bytes)
    logits_per_sample = plan["sequence"] * plan["vocabulary"] * 4
    batch = max(1, int(cap_bytes / 32 / logits_per_sample))
    kept = batch * logits_per_sample
    return {**plan, "layers": 2, "batch": batch, "kept_bytes_per_step": kept, "steps": cap_bytes // kept + 1}


def max_split_mib(cap_bytes):
    """A max_split_size_mb that some blocks of the sweep exceed and others do not; torch refuses values up to 20."""
    return max(21, cap_bytes // 64 // MIB)


def roundup_list(cap_bytes):
    """Other divisions for sizes of cap/256, cap/128 and cap/64 (powers of two in MiB), none for larger ones."""
    key = 1
    while key * 2 * MIB <= cap_bytes // 256:
        key *= 2
    return f"[{key}:4,{2 * key}:2,{4 * key}:8,>:1]"
