"""Verify one file many times with the pipeline's HTTP client alone, without rows, journal and Prefect.

`cpu_per_file` starts this as a child. To run it by hand: `python -m benchmarks.core_client AUDIO FILES AT_ONCE`, with
the settings of a service in the environment.
"""

import sys
from pathlib import Path

from proofsweep.app import App
from proofsweep.config.load import load_settings
from proofsweep.config.threads import utc_now
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Accepted, Finished
from proofsweep.verify.item import VerifyContext, verify_item


def main() -> None:
    audio, files, at_once = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    engine = App(load_settings()).service
    context = VerifyContext(partner=engine.partner, files=engine.files, clock=utc_now)
    item = WorkItem(manifest_row=0, item_id="", audio=str(audio))

    def verify(times: int) -> None:
        for _ in range(times):
            done = verify_item(item, context)
            if not (isinstance(done, Finished) and isinstance(done.outcome, Accepted)):
                raise SystemExit("the null service accepts everything")

    shares = [files // at_once + (worker < files % at_once) for worker in range(at_once)]
    for done in [engine.workers.submit(verify, share) for share in shares]:
        done.result()
    engine.close()


if __name__ == "__main__":
    main()
