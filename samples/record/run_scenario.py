"""One scenario in this process; record.py starts it. Writes into the working directory.

    python3 run_scenario.py NAME --cap-bytes N --seed S

Exit codes: 0 the run completed, 1 it ran out of memory, 2 usage, 3 it cannot be recorded here (one line says why),
4 it failed in another way.
"""

import argparse
import importlib
import os
import sys
import traceback

sys.dont_write_bytecode = True

from recorder import Recorder, Unavailable  # noqa: E402
from scenarios import BY_NAME  # noqa: E402

EXIT_CODES = {"completed": 0, "oom": 1, "unavailable": 3, "error": 4}


def is_out_of_memory(torch, error):
    """The allocator's exception: torch.cuda.OutOfMemoryError since 1.13, torch.OutOfMemoryError too since 2.4."""
    kind = getattr(torch.cuda, "OutOfMemoryError", None) if torch is not None else None
    return kind is not None and isinstance(error, kind)


def record(recorder):
    try:
        recorder.open_device()
        importlib.import_module(f"scenarios.{recorder.scenario.module}").run(recorder)
    except Unavailable as reason:
        recorder.failed("unavailable", str(reason))
        recorder.result["everywhere"] = reason.everywhere
        print(f"{recorder.scenario.name}: {reason}", file=sys.stderr)
    except Exception as error:
        if is_out_of_memory(recorder.torch, error):
            recorder.failed("oom")
            traceback.print_exc()
        elif recorder.settings and "Unrecognized" in str(error):
            # "Unrecognized CachingAllocator option: …" up to 2.8, "Unrecognized key '…'" later: it names one it lacks.
            recorder.failed("unavailable", "this torch does not know the allocator settings")
            traceback.print_exc()
        else:
            recorder.failed("error", f"{type(error).__name__}: {first_line(error)}")
            traceback.print_exc()
    recorder.failed("completed")


def first_line(error):
    lines = str(error).splitlines()
    return lines[0] if lines else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(BY_NAME), metavar="NAME")
    parser.add_argument("--cap-bytes", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--stacks", choices=("python", "all"), default="python")
    arguments = parser.parse_args()
    recorder = Recorder(BY_NAME[arguments.name], arguments.cap_bytes, arguments.seed, arguments.stacks)
    record(recorder)
    if recorder.result["outcome"] != "unavailable":
        recorder.write_statistics()
    recorder.write_result()
    sys.stdout.flush()
    sys.stderr.flush()
    # Without the interpreter's shutdown: graphs, pools and pending frees are destroyed there in an order that some
    # releases turn into a crash, and everything worth keeping is written.
    os._exit(EXIT_CODES[recorder.result["outcome"]])


if __name__ == "__main__":
    main()
