#!/usr/bin/env python3
"""Records real out-of-memory runs, and runs that barely avoid one, on ONE GPU with PyTorch.

    python3 record.py --out recordings

Each scenario runs in a process of its own and becomes a run directory OUT/SCENARIO with its log, its memory snapshots,
its configuration and a manifest. README.md beside this file says what each one shows.

Exit codes: 0 every outcome is the expected one (or a scenario needs a newer torch), 1 some outcome is not, 2 usage,
3 nothing could be recorded (no torch, no CUDA device).
"""

import argparse
import copy
import datetime
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from neutral import Neutral, neutral_snapshot, private_places, write_gzip  # noqa: E402
from recorder import OOM_SNAPSHOT, RESULT, SNAPSHOT  # noqa: E402
from scenarios import BY_NAME, SCENARIOS  # noqa: E402
from workloads import GIB, MIN_CAP_BYTES, WORKLOADS  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = "mbforensics-recording/1"
LIST_SCHEMA = "mbforensics-recordings/1"
MANIFEST = "manifest.json"
LOG = "run_rank0.log"
# Every release reads this name; PYTORCH_ALLOC_CONF, its successor, is ignored in part by 2.9.1 (pytorch issue 183387).
SETTINGS_VARIABLE = "PYTORCH_CUDA_ALLOC_CONF"
# These would change what is recorded, or keep it from starting; a run never inherits them.
NOT_INHERITED = (
    SETTINGS_VARIABLE,
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "CUDA_LAUNCH_BLOCKING",
    "PYTHONSAFEPATH",
)
# Larger files do not belong into a repository.
MAX_SNAPSHOT_BYTES = 2_000_000


def main():
    arguments = parse()
    if arguments.print_workload is not None:
        return print_workload(arguments)
    if arguments.list:
        return print_list(arguments)
    return record_all(arguments)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the scenarios and end; needs no torch")
    parser.add_argument("--json", action="store_true", help="with --list: one JSON document")
    parser.add_argument("--only", action="append", metavar="NAME[,NAME]", help="record these scenarios only")
    parser.add_argument("--out", default="recordings", metavar="DIR", help="where to write (default: recordings)")
    parser.add_argument(
        "--cap-gib", type=float, default=4.0, metavar="GIB", help="bytes the allocator may reserve (default: 4)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the workloads and of the model (default: 1)")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="per scenario (default: 120)")
    parser.add_argument(
        "--stacks",
        choices=("python", "all"),
        default="python",
        help="'all' records C++ frames too: slower to dump and larger files",
    )
    parser.add_argument("--device", metavar="N", help="the GPU (default: the first of CUDA_VISIBLE_DEVICES, else 0)")
    parser.add_argument("--print-workload", choices=sorted(WORKLOADS), help="print a workload as JSON lines and end")
    parser.add_argument("--cap-bytes", type=int, metavar="N", help="the cap in bytes instead of --cap-gib")
    arguments = parser.parse_args()
    arguments.cap = arguments.cap_bytes if arguments.cap_bytes is not None else int(arguments.cap_gib * GIB)
    if arguments.cap < MIN_CAP_BYTES:
        parser.error(f"the cap must be at least {MIN_CAP_BYTES // GIB} GiB")
    names = [name for part in arguments.only or () for name in part.split(",") if name]
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        parser.error(f"no scenario named {', '.join(unknown)}; see --list")
    arguments.selected = [scenario for scenario in SCENARIOS if not names or scenario.name in names]
    return arguments


def print_workload(arguments):
    for operation in WORKLOADS[arguments.print_workload](arguments.cap, arguments.seed):
        print(json.dumps(operation))
    return 0


def print_list(arguments):
    if arguments.json:
        print(json.dumps([described(scenario, arguments.cap) for scenario in arguments.selected], indent=1))
        return 0
    for scenario in arguments.selected:
        settings = scenario.settings(arguments.cap)
        print(f"{scenario.name:26} {' or '.join(scenario.expected):18} {settings}".rstrip())
    return 0


def described(scenario, cap):
    return {
        "name": scenario.name,
        "shows": scenario.shows,
        "cause": scenario.cause,
        "expected": list(scenario.expected),
        "settings": scenario.settings(cap),
        "capped": scenario.capped,
        "needs_torch": ".".join(map(str, scenario.needs_torch)),
    }


# ---------------------------------------------------------------------------------------------------------------------
# recording


def record_all(arguments):
    os.makedirs(arguments.out, exist_ok=True)
    for scenario in arguments.selected:
        refuse_foreign(os.path.join(arguments.out, scenario.name))
    driver = driver_version()
    entries = []
    unavailable = None
    for scenario in arguments.selected:
        if unavailable is None:
            manifest = record_one(arguments, scenario, driver)
            # A machine without torch or without a GPU answers the same to every scenario.
            unavailable = manifest["reason"] if manifest["everywhere"] else None
        else:
            manifest = {"outcome": "unavailable", "reason": unavailable, "seconds": 0.0, "directory": None}
        entry = list_entry(scenario, manifest)
        entries.append(entry)
        if unavailable is None:
            tell(progress_line(entry))
    if unavailable is not None:
        tell(f"nothing recorded: {unavailable}")
    write_list(arguments.out, entries)
    if all(entry["outcome"] == "unavailable" for entry in entries):
        return 3
    return 1 if any(entry["as_expected"] is False for entry in entries) else 0


def write_list(out, entries):
    """The manifest of all recordings in `out`: these entries, and those of recordings made before."""
    path = os.path.join(out, MANIFEST)
    known = read_json(path) or {}
    earlier = known.get("scenarios", ()) if known.get("schema") == LIST_SCHEMA else ()
    merged = {entry["name"]: entry for entry in earlier}
    for entry in entries:
        before = merged.get(entry["name"])
        # A run that made no recording leaves the one that is there.
        if entry["directory"] is not None or before is None or before["directory"] is None:
            merged[entry["name"]] = entry
    listed = [merged[scenario.name] for scenario in SCENARIOS if scenario.name in merged]
    good = bool(listed) and all(entry["as_expected"] for entry in listed)
    write_json(path, {"schema": LIST_SCHEMA, "all_as_expected": good, "scenarios": listed})


def list_entry(scenario, manifest):
    outcome = manifest["outcome"]
    return {
        "name": scenario.name,
        "directory": manifest["directory"],
        "expected": list(scenario.expected),
        "outcome": outcome,
        # Unknown where it could not run at all.
        "as_expected": None if outcome == "unavailable" else outcome in scenario.expected,
        "reason": manifest["reason"],
        "seconds": manifest["seconds"],
    }


def progress_line(entry):
    verdict = {True: "as expected", False: "NOT AS EXPECTED", None: "not recorded"}[entry["as_expected"]]
    reason = f" ({entry['reason']})" if entry["reason"] else ""
    return f"{entry['name']:26} {entry['outcome']:12} {verdict}{reason}, {entry['seconds']:.1f} s"


def record_one(arguments, scenario, driver):
    """Runs one scenario and writes its directory; returns its manifest, with `everywhere` and `directory`."""
    directory = os.path.join(arguments.out, scenario.name)
    command = [
        "run_scenario.py",
        scenario.name,
        "--cap-bytes",
        str(arguments.cap),
        "--seed",
        str(arguments.seed),
        "--stacks",
        arguments.stacks,
    ]
    environment = child_environment(scenario, arguments)
    started_at = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    # A neutral place: the path of the working directory ends up in messages.
    with tempfile.TemporaryDirectory(prefix="record-") as work:
        begin = time.monotonic()
        timed_out = run_child(command, environment, work, arguments.timeout)
        seconds = round(time.monotonic() - begin, 1)
        result = read_result(work, timed_out, arguments.timeout)
        if result["outcome"] == "unavailable":
            return {**result, "seconds": seconds, "directory": None}
        neutral = Neutral(
            [
                *private_places(),
                *map(tuple, result["places"]),
                (HERE, "record"),
                (work, "."),
                (os.path.realpath(work), "."),
            ]
        )
        # Only now: where nothing can be recorded, an earlier recording stays.
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        files = collect(work, directory, neutral)
        settings = scenario.settings(arguments.cap)
        result["degraded"] += ignored_settings(settings, files)
        kept = neutral.environment(environment)
        write_text(os.path.join(directory, "launch.sh"), launch_script(command, kept))
        write_text(os.path.join(directory, "run_config.yaml"), run_config(scenario, settings, result, arguments))
        for name, what in (("launch.sh", "environment and command"), ("run_config.yaml", "configuration")):
            files.append({"name": name, "what": what, "bytes": os.path.getsize(os.path.join(directory, name))})
    manifest = {
        "schema": SCHEMA,
        **described(scenario, arguments.cap),
        "outcome": result["outcome"],
        "as_expected": result["outcome"] in scenario.expected,
        "reason": result["reason"] and neutral.text(result["reason"]),
        "oom": result["oom"],
        "facts": result["facts"],
        "versions": {**result["versions"], "driver": driver},
        "device": result["device"],
        "settings_variable": SETTINGS_VARIABLE if settings else None,
        "environment": kept,
        "cap_bytes": arguments.cap,
        "fraction": result["fraction"],
        "seed": arguments.seed,
        "recording": result["recording"],
        "degraded": [neutral.text(text) for text in result["degraded"]],
        "paths": "Directories in logs and stack frames are shortened: " + ", ".join(shown_places(neutral)),
        "started_at": started_at.isoformat(),
        "seconds": seconds,
        "files": sorted(files, key=lambda file: file["name"]),
    }
    write_json(os.path.join(directory, MANIFEST), manifest)
    return {**manifest, "everywhere": False, "directory": scenario.name}


def refuse_foreign(directory):
    """A recording may be replaced; anything else that has its name is an error before the first scenario runs."""
    if not os.path.lexists(directory):
        return
    manifest = read_json(os.path.join(directory, MANIFEST))
    if not manifest or manifest.get("schema") != SCHEMA:
        tell(f"record.py: {directory} exists and is no recording; move it away or choose another --out")
        raise SystemExit(2)


def read_json(path):
    """The object in a file; None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def child_environment(scenario, arguments):
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    visible = environment.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    environment["CUDA_VISIBLE_DEVICES"] = arguments.device or visible or "0"
    environment.update(TZ="UTC", PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1")
    settings = scenario.settings(arguments.cap)
    if settings:
        environment[SETTINGS_VARIABLE] = settings
    return environment


def run_child(command, environment, work, timeout):
    """Runs the scenario with its output in the log; True if it had to be killed."""
    script = [sys.executable, "-u", os.path.join(HERE, command[0]), *command[1:]]
    with open(os.path.join(work, LOG), "wb") as log:
        child = subprocess.Popen(
            script,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A group of its own, so that a time-out takes whatever the run started along.
            start_new_session=True,
        )
        try:
            child.wait(timeout)
            return False
        except subprocess.TimeoutExpired:
            return True
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


EMPTY_RESULT = {
    "outcome": None,
    "reason": None,
    "everywhere": False,
    "versions": {},
    "device": None,
    "fraction": None,
    "oom": [],
    "facts": {},
    "config": {},
    "recording": None,
    "degraded": [],
    "places": [],
}


def read_result(work, timed_out, timeout):
    """What the scenario wrote about itself; a process that was killed or crashed wrote nothing."""
    result = copy.deepcopy(EMPTY_RESULT)
    result.update(read_json(os.path.join(work, RESULT)) or {})
    if result["outcome"] is None:
        result.update(outcome="error", reason="the process ended without a result; see the log")
    if timed_out:
        result.update(outcome="timeout", reason=f"killed after {timeout:g} s")
    return result


def collect(work, directory, neutral):
    """Moves what the run wrote into its directory, neutral and packed; returns the manifest's list of files."""
    files = []
    with open(os.path.join(work, LOG), encoding="utf-8", errors="replace") as file:
        write_text(os.path.join(directory, LOG), neutral.text(file.read()))
    files.append({"name": LOG, "what": "stdout and stderr"})
    if os.path.exists(os.path.join(work, "memory_stats.json")):
        shutil.copyfile(os.path.join(work, "memory_stats.json"), os.path.join(directory, "memory_stats.json"))
        files.append({"name": "memory_stats.json", "what": "torch.cuda.memory_stats() at the end and at each OOM"})
    for name, what in ((SNAPSHOT, "memory snapshot"), (OOM_SNAPSHOT, "memory snapshot, dumped by the OOM observer")):
        path = os.path.join(work, name)
        if not os.path.exists(path):
            continue
        packed = f"{name}.gz"
        with open(path, "rb") as file:
            data = file.read()
        try:
            data, content = neutral_snapshot(data, neutral)
        except Exception as error:
            # Cut by a kill. Its paths cannot be made neutral, so it stays out.
            files.append({"name": packed, "what": what, "left_out": f"unreadable: {error}"})
            continue
        write_gzip(os.path.join(directory, packed), data)
        files.append({"name": packed, "what": what, "content": content, "unpacked_bytes": len(data)})
    for file in files:
        if "left_out" in file:
            continue
        file["bytes"] = os.path.getsize(os.path.join(directory, file["name"]))
        if file["bytes"] > MAX_SNAPSHOT_BYTES:
            file["too_large"] = f"over {MAX_SNAPSHOT_BYTES} bytes; do not add it to a repository"
    return files


def ignored_settings(settings, files):
    """torch turns expandable segments off with a mere warning where the driver cannot do them; the snapshot tells."""
    effective = [file["content"]["expandable_segments"] for file in files if "content" in file]
    if "expandable_segments:True" in settings and False in effective:
        return ["expandable_segments:True was asked for and is off"]
    return []


def shown_places(neutral):
    return sorted({shown for _, shown in neutral.places})


# ---------------------------------------------------------------------------------------------------------------------
# what goes beside the log


def launch_script(command, environment):
    lines = [
        "#!/bin/sh",
        "# Environment and command of this run, relative to samples/record; other variables were inherited.",
    ]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    lines.append(" ".join(["exec", "python3", "-u", *map(shlex.quote, command)]))
    return "\n".join(lines) + "\n"


# Names of Megatron for what gpt.py calls shorter.
MODEL_NAMES = {
    "layers": "num_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "sequence": "seq_length",
    "vocabulary": "vocab_size",
}


def run_config(scenario, settings, result, arguments):
    """The run's configuration in the sections of Megatron Bridge, with only what this run has."""
    model = result["config"].get("model")
    sections = {
        "profiling": {
            "memory_snapshot_path": SNAPSHOT,
            "profile_ranks": [0],
            "record_memory_history": result["recording"] is not None,
        },
        "recording": {"cap_bytes": arguments.cap, "scenario": scenario.name, "seed": arguments.seed},
    }
    if settings:
        sections["env_vars"] = {SETTINGS_VARIABLE: settings}
    if model:
        sections["model"] = {name: model[key] for key, name in MODEL_NAMES.items()}
        sections["optimizer"] = {"lr": 1e-3, "optimizer": "adam"}
        sections["train"] = {"global_batch_size": model["batch"], "micro_batch_size": model["batch"]}
    lines = []
    for section, values in sorted(sections.items()):
        lines.append(f"{section}:")
        lines += [f"  {name}: {json.dumps(value)}" for name, value in sorted(values.items())]
    return "\n".join(lines) + "\n"


def driver_version():
    """The NVIDIA driver's version, or None where nvidia-smi is not there to say it."""
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        ).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return None
    return answer[0] if answer else None


def write_text(path, text):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def write_json(path, value):
    write_text(path, json.dumps(value, indent=1) + "\n")


def tell(line):
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
