"""What the programs for tests share: each line of stdin is one job, which a child process does.

A line is the job's environment variables and its words, in JSON. Two lines answer each: the process ID, and the exit
code. One line before them all says that the program has started.
"""

import json
import os
import sys
from collections.abc import Callable


def serve(do: Callable[..., int]) -> None:
    """Do each job in a child process; this process has imported everything already."""
    print(0, flush=True)  # noqa: T201 - all is imported: jobs that begin together do so
    for line in sys.stdin:
        environment, job = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ.clear()
            os.environ.update(environment)
            os._exit(do(*job.split()))
        print(child, flush=True)  # noqa: T201 - the test reads it
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201 - as above
