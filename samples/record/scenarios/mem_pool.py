"""A torch.cuda.MemPool whose cached memory the default pool cannot have."""

from allocate import activation, temporary, weight
from workloads import mem_pool_plan


def run(recorder):
    torch = recorder.torch
    if not hasattr(torch.cuda, "MemPool") or not hasattr(torch.cuda, "use_mem_pool"):
        recorder.unavailable("this torch has no torch.cuda.MemPool")
    plan = mem_pool_plan(recorder.cap_bytes)
    recorder.note_facts(plan)
    recorder.start_recording()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        large = temporary(torch, plan["pool_bytes"])
        del large
        # Moves into the block just freed, whose rest then stays cached in the pool.
        kept = weight(torch, plan["kept_bytes"])
    recorder.iteration(1, 2)
    eager = activation(torch, plan["request_bytes"])
    recorder.iteration(2, 2)
    recorder.dump_snapshot()
    del eager, kept
