"""Recordings without the recorder's private surroundings: its paths, home and host.

Stack frames and tracebacks hold absolute paths. They are shortened to what tells the code apart
(`site-packages/torch/…`, `record/scenarios/…`), in logs as text and in snapshots by replacing file names inside the
frames; nothing else of a snapshot changes, and the order and sharing of its objects stay as torch's pickle has them.
"""

import gzip
import io
import os
import pickle
import re
import socket
import sys

# The variables that steer CUDA, NCCL, torch and Transformer Engine, and the job they ran in; nothing else is kept.
KEPT_VARIABLE = re.compile(r"^(?:(?:CUDA|NCCL|PYTORCH|TORCH|NVTE)_\w+|SLURM_JOB_ID|SLURM_JOBID|SLURM_PROCID)$")


def private_places():
    """Directories of this interpreter and user, with what stands for them in a recording."""
    places = [
        (os.path.dirname(os.path.abspath(os.__file__)), f"python{sys.version_info[0]}.{sys.version_info[1]}"),
        (os.path.expanduser("~"), "~"),
    ]
    # A system's own prefix tells nothing, and other programs live there too: /usr/local/cuda.
    places += [(prefix, "<prefix>") for prefix in (sys.prefix, sys.base_prefix) if prefix not in ("/usr", "/usr/local")]
    # Tools print a directory as they were given it, or resolved.
    return places + [(os.path.realpath(real), shown) for real, shown in places]


class Neutral:
    """`places` maps real directories to what to write instead; longer directories win."""

    def __init__(self, places):
        real_places = {os.path.normpath(real): shown for real, shown in places if os.path.isabs(real) and real != "/"}
        self.places = sorted(real_places.items(), key=lambda item: -len(item[0]))
        # Whole paths only: /opt/py is no part of /opt/python, nor of /mnt/opt/py.
        self.patterns = [
            (re.compile(r"(?<![\w./~-])" + re.escape(real) + r"(?![\w.-])"), shown) for real, shown in self.places
        ]
        # A name that could be a word stays: a host called `node` would garble the text and tells nothing.
        host = socket.gethostname()
        names = sorted((name for name in {host, host.split(".")[0]} if not name.isalpha()), key=len, reverse=True)
        self.names = [re.compile(r"(?<![\w.-])" + re.escape(name) + r"(?![\w-])") for name in names if name]

    def text(self, value):
        for pattern, shown in self.patterns:
            value = pattern.sub(lambda _, shown=shown: shown, value)
        for pattern in self.names:
            value = pattern.sub("<host>", value)
        return value

    def filename(self, value):
        for pattern, shown in self.patterns:
            value, count = pattern.subn(lambda _, shown=shown: shown, value, count=1)
            if count:
                return value
        return value

    def environment(self, variables):
        """The variables worth keeping, with neutral values, in order of name."""
        return {name: self.text(value) for name, value in sorted(variables.items()) if KEPT_VARIABLE.match(name)}


class Restricted(pickle.Unpickler):
    """A snapshot is made of dicts, lists, tuples, strings and numbers, and needs no class."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"a snapshot never names {module}.{name}")


def neutral_snapshot(data, neutral):
    """The pickle with neutral file names, and a short description of what is in it."""
    snapshot = Restricted(io.BytesIO(data)).load()
    seen = {}
    renamed = {}
    changed = False

    def neutral_name(name):
        # By identity: two equal strings that torch wrote as two objects stay two. The old one is kept alive with the
        # new.
        if id(name) not in renamed:
            shorter = neutral.filename(name)
            renamed[id(name)] = (name, name if shorter == name else shorter)
        return renamed[id(name)][1]

    def visit(holder):
        nonlocal changed
        for frame in holder.get("frames") or ():
            if id(frame) in seen:
                continue
            seen[id(frame)] = frame
            shorter = neutral_name(frame["filename"])
            if shorter is not frame["filename"]:
                frame["filename"] = shorter
                changed = True
        lines = holder.get("forward_frames")
        if lines and id(lines) not in seen:
            seen[id(lines)] = lines
            shorter = [neutral.text(line) for line in lines]
            if shorter != lines:
                lines[:] = shorter
                changed = True

    segments = snapshot["segments"]
    traces = snapshot["device_traces"]
    for segment in segments:
        visit(segment)
        for block in segment["blocks"]:
            visit(block)
    for trace in traces:
        for entry in trace:
            visit(entry)
    if changed:
        # data[1] is the protocol: \x80 and its number begin every pickle of protocol 2 and later.
        data = pickle.dumps(snapshot, protocol=data[1])
    settings = snapshot.get("allocator_settings") or {}
    return data, {
        "trace_entries": [len(trace) for trace in traces],
        "segments": len(segments),
        "reserved_bytes": sum(segment["total_size"] for segment in segments),
        "active_bytes": sum(segment["active_size"] for segment in segments),
        "allocated_bytes": sum(segment["allocated_size"] for segment in segments),
        "oom_entries": sum(entry["action"] == "oom" for trace in traces for entry in trace),
        "expandable_segments": settings.get("expandable_segments"),
    }


def write_gzip(path, data):
    """The same bytes for the same data: no name and no time in the header."""
    with open(path, "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as packed:
            packed.write(data)
