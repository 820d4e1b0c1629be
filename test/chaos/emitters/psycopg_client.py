"""An application with psycopg: a transaction adds an invoice and emits its event."""
import psycopg
from psycopg.types.json import Jsonb

from loop import RolledBack, run, url

EMIT = "SELECT gatehook.gatehook_emit('invoice.paid', %s, 'default', key => %s)"
connection = None


def pay(id, key, emits_first, rolls_back):
    global connection
    if connection is None or connection.closed:
        connection = psycopg.connect(url, autocommit=True)
    with connection.transaction():
        if emits_first:
            connection.execute(EMIT, (Jsonb({"id": id}), key))
        connection.execute("INSERT INTO app.invoices VALUES (%s)", (id,))
        if not emits_first:
            connection.execute(EMIT, (Jsonb({"id": id}), key))
        if rolls_back:
            raise RolledBack


run(pay, psycopg.Error)
