"""Transactions until the end of the process, and the decisions of each."""
import sys
import time

url, prefix = sys.argv[1:]


class RolledBack(Exception):
    """The error by which a transaction rolls back."""


def run(pay, failures):
    """Calls `pay` with an invoice, and prints its id after the commit."""
    n = 0
    while True:
        n += 1
        id = f"{prefix}-{n}"
        try:
            pay(id, id if n % 2 == 0 else None, n % 3 == 0, n % 8 == 7)
            print(id, flush=True)
            time.sleep(0.04)
        except RolledBack:
            time.sleep(0.04)
        except failures:  # the commit of a broken connection is unknown
            time.sleep(0.08)
