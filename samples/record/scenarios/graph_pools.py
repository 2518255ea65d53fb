"""CUDA graphs whose pools keep the memory of their captures."""

from allocate import activation
from workloads import graph_pools_plan


def run(recorder):
    torch = recorder.torch
    plan = graph_pools_plan(recorder.cap_bytes)
    recorder.note_facts(plan)
    recorder.start_recording()
    static_input = torch.zeros(plan["buffer_bytes"] // 4, device="cuda")
    warm_up(torch, static_input)
    kept = []
    for number in range(1, plan["graphs"] + 1):
        kept.append(capture(torch, static_input))
        recorder.iteration(number, plan["graphs"] + 1)
    for graph, _ in kept:
        graph.replay()
    torch.cuda.synchronize()
    # Keeps its name: the request must not be freed before the snapshot.
    eager = activation(torch, plan["request_bytes"])
    recorder.iteration(plan["graphs"] + 1, plan["graphs"] + 1)
    recorder.dump_snapshot()
    del eager


def forward(static_input):
    """Three buffers of the input's size, alive together; only the small result outlives the call."""
    doubled = static_input * 2
    shifted = doubled + 1
    product = doubled * shifted
    return product[:1024].clone()


def warm_up(torch, static_input):
    """Loads the kernels on a side stream, as torch asks for before a capture."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        forward(static_input)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()


def capture(torch, static_input):
    """A graph with a pool of its own. The result has to live on: replays write into it."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = forward(static_input)
    return graph, result
