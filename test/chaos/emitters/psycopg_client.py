"""An application: each transaction adds an invoice and emits its event, and some roll back."""
import json
import sys
import time

import psycopg

url, prefix = sys.argv[1:]


class RolledBack(Exception):
    pass


def pay(connection, id, n):
    key = id if n % 2 == 0 else None
    emit = "SELECT gatehook.gatehook_emit('invoice.paid', %s::jsonb, 'default', key => %s)"
    with connection.transaction():
        if n % 3 == 0:
            connection.execute(emit, (json.dumps({"id": id}), key))
        connection.execute("INSERT INTO app.invoices VALUES (%s)", (id,))
        if n % 3 != 0:
            connection.execute(emit, (json.dumps({"id": id}), key))
        if n % 8 == 7:
            raise RolledBack
    print(id, flush=True)


n = 0
while True:
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            while True:
                n += 1
                try:
                    pay(connection, f"{prefix}-{n}", n)
                except RolledBack:
                    pass
                time.sleep(0.01)
    except psycopg.Error:
        time.sleep(0.02)
