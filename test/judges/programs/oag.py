"""The client of OpenAPI Generator for Python."""

import json
import os

import openapi_client as client

configuration = client.Configuration(host=os.environ["URL"], api_key={"ApiKey": os.environ["KEY"]})
with client.ApiClient(configuration) as connection:
    api = client.WidgetsApi(connection)
    emails = [f"python{n}@example.com" for n in range(3)]
    rows = [api.create_widget(client.WidgetCreate(caption="Ada", email=email)) for email in emails]
    ids, cursor = [], None
    while True:
        page = api.list_widgets(limit=2, sort=["-created_at"], email_in=emails, cursor=cursor)
        ids += [row.id for row in page.data]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert ids == [row.id for row in reversed(rows)], ids
    row = api.update_widget(ids[0], client.WidgetPatch(caption="Grace"))
    assert row.caption == "Grace", row
    api.delete_widget(ids[0])
    try:
        api.get_widget(ids[0])
        raise SystemExit("a deleted row was read")
    except client.ApiException as error:
        failure = client.ErrorBody.from_json(error.body)
        assert (error.status, failure.error) == (404, "not_found"), failure
print("ok")
