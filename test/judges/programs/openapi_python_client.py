"""The client of openapi-python-client."""

import os

from judged.api.widgets import create_widget, delete_widget, get_widget, list_widgets, update_widget
from judged.client import AuthenticatedClient
from judged.models import ErrorBody, WidgetCreate, WidgetPatch
from judged.types import UNSET

client = AuthenticatedClient(
    base_url=os.environ["URL"], token=os.environ["KEY"], prefix="", auth_header_name="X-API-Key"
)
emails = [f"attrs{n}@example.com" for n in range(3)]
rows = [
    create_widget.sync(client=client, body=WidgetCreate(caption="Ada", email=email))
    for email in emails
]
ids, cursor = [], UNSET
while True:
    page = list_widgets.sync(client=client, limit=2, emailgte="attrs", emaillt="attrt", cursor=cursor)
    ids += [row.id for row in page.data]
    cursor = page.next_cursor
    if cursor is None:
        break
assert ids == [row.id for row in rows], ids
row = update_widget.sync(ids[0], client=client, body=WidgetPatch(caption="Grace"))
assert row.caption == "Grace", row
assert delete_widget.sync_detailed(ids[0], client=client).status_code == 204
failure = get_widget.sync(ids[0], client=client)
assert isinstance(failure, ErrorBody) and failure.error == "not_found", failure
print("ok")
