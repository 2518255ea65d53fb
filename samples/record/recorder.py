"""What every scenario does: cap the allocator, record memory history, dump snapshots, log as Megatron does."""

import inspect
import json
import os
import sys
import time

SNAPSHOT = "snapshot_rank0.pickle"
OOM_SNAPSHOT = "snapshot_oom_rank-0.pickle"
RESULT = "result.json"
MIB = 1 << 20


class Unavailable(Exception):
    """The scenario cannot be recorded here, for a reason that is no failure; `everywhere` if none can."""

    def __init__(self, reason, everywhere=False):
        super().__init__(reason)
        self.everywhere = everywhere


class Recorder:
    """One scenario in one process. Writes into the working directory, which the driver collects."""

    def __init__(self, scenario, cap_bytes, seed, stacks):
        self.scenario = scenario
        self.settings = scenario.settings(cap_bytes)
        self.cap_bytes = cap_bytes
        self.seed = seed
        self.stacks = stacks
        self.torch = None
        self.last_iteration = time.perf_counter()
        self.result = {
            "outcome": None,
            "reason": None,
            "everywhere": False,
            "versions": {"python": ".".join(map(str, sys.version_info[:3])), "torch": None, "cuda": None},
            "device": None,
            "fraction": None,
            "oom": [],
            "facts": {},
            "config": {},
            "recording": None,
            "degraded": [],
            "places": [],
        }

    # ---------------------------------------------------------------------------------------------- beginning and end

    def open_device(self):
        """Imports torch, checks the device and sets the cap. Raises Unavailable with one plain reason."""
        try:
            import torch
        except ImportError as error:
            # A torch that is there but broken (a missing library) also ends here; its message says which.
            reason = "torch not installed" if error.name == "torch" else f"torch cannot be imported: {error}"
            raise Unavailable(reason, everywhere=True) from None
        self.torch = torch
        self.result["versions"].update(torch=str(torch.__version__), cuda=torch.version.cuda)
        self.result["places"] = [(os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__))), "site-packages")]
        self.write_result()  # in case of a crash: the places make the log fit to be shown
        if torch.version.cuda is None:
            raise Unavailable("this torch is built without CUDA", everywhere=True)
        if not torch.cuda.is_available():
            raise Unavailable("torch finds no CUDA device", everywhere=True)
        needs = self.scenario.needs_torch
        if release(torch.__version__) < needs:
            raise Unavailable(f"needs torch {needs[0]}.{needs[1]} or newer")
        torch.cuda.init()
        properties = torch.cuda.get_device_properties(0)
        free, total = torch.cuda.mem_get_info(0)
        self.result["device"] = {
            "name": properties.name,
            "total_bytes": total,
            # Newer releases take the fraction of this instead; the two are equal on most devices.
            "properties_total_bytes": properties.total_memory,
            "free_at_start_bytes": free,
        }
        if self.scenario.capped:
            self.set_cap(free, total)

    def set_cap(self, free, total):
        if free < self.cap_bytes:
            raise Unavailable(f"the cap is {self.cap_bytes} bytes and only {free} bytes of the device are free")
        fraction = self.cap_bytes / total
        self.torch.cuda.set_per_process_memory_fraction(fraction, 0)
        self.result["fraction"] = fraction

    def unavailable(self, reason):
        raise Unavailable(reason)

    def degraded(self, text):
        """Notes something that this recording lacks."""
        self.result["degraded"].append(text)

    def failed(self, outcome, reason=None):
        """Notes how the run ended. The first note stays: what follows a failure is its consequence."""
        if self.result["outcome"] is None:
            self.result["outcome"] = outcome
            self.result["reason"] = reason

    def write_result(self):
        with open(RESULT, "w", encoding="utf-8") as file:
            json.dump(self.result, file, indent=1)

    def write_statistics(self):
        """memory_stats() at the end of the process; the ones at the OOM were noted by the observer."""
        statistics = {
            "at_end": self.statistics(),
            "at_oom": [entry.pop("memory_stats") for entry in self.result["oom"]],
        }
        with open("memory_stats.json", "w", encoding="utf-8") as file:
            json.dump(statistics, file, indent=1)
            file.write("\n")

    # ------------------------------------------------------------------------------------------------------ recording

    def start_recording(self):
        """Memory history with stacks, and a snapshot at the first OOM."""
        used = record_history(self.torch, self.scenario.max_entries, self.stacks, self.degraded)
        self.result["recording"] = {"call": used, "max_entries": self.scenario.max_entries}
        attach = getattr(self.torch._C, "_cuda_attach_out_of_memory_observer", None)
        if attach is None:
            self.degraded("no out-of-memory observer: no snapshot at the OOM")
        else:
            attach(self.on_oom)
        self.say(f"Memory history recording enabled (rank 0); snapshots will be written to '{SNAPSHOT}'.")

    def on_oom(self, device, alloc_size, device_limit, device_free):
        """Called by the allocator while it raises; an exception from here would replace the out-of-memory error."""
        try:
            self.result["oom"].append(
                {
                    "device": device,
                    "alloc_size_bytes": alloc_size,
                    "device_limit_bytes": device_limit,
                    "device_free_bytes": device_free,
                    "memory_stats": self.statistics(),
                }
            )
            if len(self.result["oom"]) == 1:
                self.torch.cuda.memory._dump_snapshot(OOM_SNAPSHOT)
                self.say(f"[OOM] rank 0 saved memory snapshot to {OOM_SNAPSHOT}")
        except Exception as error:
            self.degraded(f"the out-of-memory observer failed: {error!r}")

    def dump_snapshot(self):
        self.torch.cuda.memory._dump_snapshot(SNAPSHOT)
        self.say(f"Saved memory snapshot to {SNAPSHOT}")

    def statistics(self):
        """memory_stats() of the device; whatever is no number is left out."""
        if self.torch is None or not self.torch.cuda.is_initialized():
            return {}
        return {key: value for key, value in self.torch.cuda.memory_stats(0).items() if isinstance(value, (int, float))}

    def pending_bytes(self):
        """Bytes freed but still in use by another stream."""
        statistics = self.statistics()
        return statistics["active_bytes.all.current"] - statistics["allocated_bytes.all.current"]

    # -------------------------------------------------------------------------------------------- notes and log lines

    def note_facts(self, facts):
        self.result["facts"].update(facts)

    def note_config(self, section, values):
        self.result["config"][section] = dict(values)

    def say(self, text):
        print(text, flush=True)

    def iteration(self, number, of, samples=None, loss=None, grad_norm=None, learning_rate=None):
        """The iteration line of Megatron-LM, then its memory line. What the run has no value for is left out."""
        now = time.perf_counter()
        milliseconds = (now - self.last_iteration) * 1000
        self.last_iteration = now
        fields = [f" [{clock()}] iteration {number:8d}/{of:8d}"]
        if samples is not None:
            fields.append(f"consumed samples: {samples * number:12d}")
        fields.append(f"elapsed time per iteration (ms): {milliseconds:.1f}")
        if learning_rate is not None:
            fields.append(f"learning rate: {learning_rate:.6E}")
        if samples is not None:
            fields.append(f"global batch size: {samples:5d}")
        if loss is not None:
            fields.append(f"lm loss: {loss:.6E}")
            fields.append("loss scale: 1.0")
        if grad_norm is not None:
            fields.append(f"grad norm: {grad_norm:.3f}")
        fields.append(f"number of skipped iterations: {0:3d}")
        fields.append(f"number of nan iterations: {0:3d} |")
        self.say(" | ".join(fields))
        self.memory_line(number)

    def memory_line(self, number):
        """report_memory of Megatron-LM since core 0.16: MiB with two decimals."""
        statistics = self.statistics()

        def mib(key):
            return f"{statistics[key] / MIB:.2f}"

        self.say(
            f"[Rank 0] (after {number} iterations) memory (MB) | allocated: {mib('allocated_bytes.all.current')}"
            f" | max allocated: {mib('allocated_bytes.all.peak')} | reserved: {mib('reserved_bytes.all.current')}"
            f" | max reserved: {mib('reserved_bytes.all.peak')}"
        )


def clock():
    """Local time with microseconds, as in Megatron's iteration line; the driver sets the time zone to UTC."""
    now = time.time()
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(now))}.{int(now % 1 * 1e6):06d}"


def release(version):
    """(major, minor) of `2.9.0+cu128`, `2.1.0a0+32f93b1` and the like."""
    numbers = []
    for part in version.split("+")[0].split(".")[:2]:
        digits = "".join(character for character in part if character.isdigit())
        numbers.append(int(digits or 0))
    return tuple(numbers)


def record_history(torch, max_entries, stacks, degraded):
    """Starts recording with as much detail as this torch knows; returns the call that worked.

    torch/cuda/memory.py has had (enabled, context, stacks, max_entries, device) since 2.1 and appended clear_history,
    compile_context, global_record_annotations, skip_actions and more since. A torch without these keywords has the
    older form, whose first argument is a bool; Megatron Bridge still calls that one.
    """
    attempts = (
        ("all", {"context": "all", "stacks": stacks, "max_entries": max_entries}),
        ("all", {"context": "all", "max_entries": max_entries}),
        (True, {"trace_alloc_max_entries": max_entries, "trace_alloc_record_context": True}),
    )
    start = torch.cuda.memory._record_memory_history
    for enabled, arguments in attempts:
        try:
            start(enabled, **arguments)
        except TypeError as error:
            degraded(f"_record_memory_history({enabled!r}, {', '.join(arguments)}): {error}")
            continue
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        return f"_record_memory_history({enabled!r}, {shown})"
    raise RuntimeError(f"no known form of _record_memory_history works; this one is {signature_of(start)}")


def signature_of(function):
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):
        return "unknown"
