"""python -m bench: measures, prints a table, writes JSON."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterable
from time import monotonic

from bench import attach, big_commit, clients, clients_replayed, fork, many_forks, planning
from bench._context import QUICK, Context, Sizes
from bench._lakes import prepare_extensions
from bench._measure import Result
from bench._report import machine, notes, store_sql, table, write
from bench._server import running

# In this order: forks by Copy come after planning, because they add rows beside the ones that are planned with.
_TOPICS: dict[str, Callable[[Context], Iterable[Result]]] = {
    "planning": planning.run,
    "fork": fork.run,
    "big_commit": big_commit.run,
    "clients": clients.run,
    "clients_replayed": clients_replayed.run,
    "many_forks": many_forks.run,
    "attach": attach.run,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=_TOPICS, metavar="NAME", help=f"only this topic; may be repeated: {', '.join(_TOPICS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs: the numbers mean nothing")
    return parser.parse_args()


def main() -> None:
    """Runs the topics that were asked for."""
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped
    prepare_extensions()
    results: list[Result] = []
    started = monotonic()
    with running() as our_server, running() as plain_server:
        measured_on = machine(our_server)
        context = Context(our_server, plain_server, QUICK if asked.quick else Sizes())
        for name in [name for name in _TOPICS if not asked.only or name in asked.only]:
            print(f"{monotonic() - started:5.0f} s  {name}", file=sys.stderr, flush=True)
            for result in _TOPICS[name](context):
                results.append(result)
                print(f"         {table([result], headings=False)}", file=sys.stderr, flush=True)
    print(f"\n{table(results)}\n", *notes(results), sep="\n")
    if store_sql() != measured_on["store_sql"]:
        print("\nTHE STORE'S SQL CHANGED DURING THIS RUN: rows may be of different versions. Run it again.")
    if asked.quick:
        print("\nREDUCED SIZES (--quick): this shows that the benchmark runs, not how fast anything is.")
    print(f"\n{measured_on}\n{write(results, measured_on, reduced=asked.quick)}, {monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
