"""The program `pellucid`, which is sent a signal at a certain moment: `stopped_at` starts it.

A signal at a moment of the work, not after some time, finds a fast and a slow machine alike.
"""

import itertools
import os
import signal
import subprocess
import sys

MOMENTS = {
    "loads the table": ("study", "study_rows"),
    "trains": ("checkpoints._Pause", "__call__"),
    "saves": ("checkpoint_files.Folder", "save"),
    "evaluates": ("study", "_accuracies"),
    "makes the table": ("study.StudyResult", "to_frame"),
}


def stopped_at(
    moment: str, *words: str, sent: signal.Signals = signal.SIGINT, at: int = 1, times: int = 1
) -> subprocess.CompletedProcess[str]:
    """Run `pellucid WORDS`, which is sent `times` signals when it comes there the `at`-th time."""
    asked = [moment, str(sent.value), str(at), str(times)]
    return subprocess.run(
        [sys.executable, __file__, *asked, *words], capture_output=True, text=True, timeout=60
    )


def _run(moment: str, sent: int, at: int, times: int) -> None:
    from pellucid._kernels import binding
    from pellucid.cli import main
    from pellucid.training import checkpoint_files, checkpoints, study

    binding.INTERVAL = 0.001  # seconds between two reports of the kernel
    checkpoints.LARGEST_SHARE = float("inf")
    if sent == signal.SIGKILL:
        study.run_study.__kwdefaults__["checkpoint_every"] = 0.0
    modules = {"study": study, "checkpoints": checkpoints, "checkpoint_files": checkpoint_files}
    name, function = MOMENTS[moment]
    module, _, kind = name.partition(".")
    place = getattr(modules[module], kind) if kind else modules[module]
    original, calls = getattr(place, function), itertools.count()

    def stopping(*arguments, **options):
        begun = moment != "trains" or arguments[1] > 0  # a report of steps that are done
        if begun and next(calls) + 1 == at:
            for _ in range(times):
                os.kill(os.getpid(), sent)
        return original(*arguments, **options)

    setattr(place, function, stopping)
    main()


if __name__ == "__main__":
    moment, *numbers = sys.argv[1:5]
    sys.argv[1:5] = []
    _run(moment, *map(int, numbers))
