"""What CPython finds in snapshot pickles, one JSON line a file, and whether it writes the same bytes again.

Usage: oracle.py file...   (plain or gzip). Nothing a pickle names is ever imported.
"""
import gzip
import hashlib
import io
import json
import pickle
import sys


class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused {module}.{name}")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("refused a persistent id")


def canonical(value):
    """Tuples and floats told apart from lists and ints, which JSON alone would not do."""
    if isinstance(value, dict):
        return {key: canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [canonical(item) for item in value]}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"a snapshot holds no {type(value).__name__}")


def report(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    value = Restricted(io.BytesIO(data)).load()
    text = json.dumps(canonical(value), separators=(",", ":"), ensure_ascii=False)
    segments = value["segments"]
    blocks = [block for segment in segments for block in segment["blocks"]]
    return {
        "file": path,
        "protocol": data[1],
        "same": pickle.dumps(value, protocol=4) == data,
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "top": list(value),
        "traces": [len(trace) for trace in value["device_traces"]],
        "actions": [trace[-1]["action"] for trace in value["device_traces"] if trace],
        "entry_keys": sorted({key for trace in value["device_traces"] for entry in trace for key in entry}),
        "settings": value["allocator_settings"],
        "segments": len(segments),
        "blocks": len(blocks),
        "reserved": sum(segment["total_size"] for segment in segments),
        "allocated": sum(block["size"] for block in blocks if block["state"] == "active_allocated"),
        "active": sum(block["size"] for block in blocks if block["state"] != "inactive"),
    }


for name in sys.argv[1:]:
    print(json.dumps(report(name)))
