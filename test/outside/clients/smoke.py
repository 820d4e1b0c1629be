"""Calls a service with the client that OpenAPI Generator wrote from its document."""

import json
import os
import sys

import openapi_client as client

configuration = client.Configuration(
    host=os.environ["URL"], api_key={"ApiKey": os.environ["KEY"]}
)
with client.ApiClient(configuration) as connection:
    orders = client.OrdersApi(connection)
    order = orders.create_order(client.OrderCreate(user_id=1, amount=1999))
    assert order.status == "pending" and order.amount == 1999, order
    assert orders.pay_order(order.id).status == "paid"
    assert orders.update_order(order.id, client.OrderPatch(note="Ring twice")).note == "Ring twice"
    page = orders.list_orders(sort=["-created_at"], limit=2, amount_gte=1)
    assert [row.id for row in page.data][0] == order.id, page
    assert page.has_more and page.next_cursor, page
    users = client.UsersApi(connection)
    user = users.create_user(client.UserCreate(name="Ada", email="smoke@example.com"))
    users.delete_user(user.id)
    try:
        orders.pay_order(order.id)
        sys.exit("a second payment succeeded")
    except client.ApiException as error:
        failure = json.loads(error.body)
        assert (error.status, failure["error"]) == (409, "invalid_state"), failure
    webhooks = client.WebhooksApi(connection).list_webhooks()
    assert webhooks.data == [], webhooks
    events = client.EventsApi(connection).list_events(limit=1)
    assert events.data[0].type, events
print("ok")
