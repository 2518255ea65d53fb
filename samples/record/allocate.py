"""Requests of exact sizes, one function per kind, so that the recorded stacks say what each block is for."""


def _bytes(torch, size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def weight(torch, size):
    return _bytes(torch, size)


def gradient(torch, size):
    return _bytes(torch, size)


def optimizer_state(torch, size):
    return _bytes(torch, size)


def activation(torch, size):
    return _bytes(torch, size)


def temporary(torch, size):
    return _bytes(torch, size)


SITES = {
    "weight": weight,
    "gradient": gradient,
    "optimizer_state": optimizer_state,
    "activation": activation,
    "temporary": temporary,
}


def run_operations(recorder, operations):
    """Carries out a workload of workloads.py. An out-of-memory error passes through."""
    live = {}
    for operation in operations:
        if operation["op"] == "alloc":
            live[operation["name"]] = SITES[operation["site"]](recorder.torch, operation["bytes"])
        elif operation["op"] == "free":
            del live[operation["name"]]
        else:
            recorder.iteration(operation["number"], operation["of"])
