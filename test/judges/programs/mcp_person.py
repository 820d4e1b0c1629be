"""The client of the Python SDK acts for a person, or has a token of its own.

Prints the pages that the person opens, and reads the redirects. Its first token may lack the scope
of the operation: it requests that one too, unless it has the token alone.
"""

import asyncio
import json
import os
from urllib.parse import parse_qs, urljoin, urlsplit
from urllib.request import urlopen

from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from mcp.shared.exceptions import MCPError

BASE = os.environ["URL"]
ADDRESS = urljoin(BASE, json.load(urlopen(BASE))["links"]["mcp"])
CALLBACK = os.environ["CALLBACK"]
TOKEN = os.environ.get("TOKEN")


class Storage:
    tokens = None
    client = None

    def __init__(self) -> None:
        if "ID" in os.environ:
            self.client = OAuthClientInformationFull(
                client_id=os.environ["ID"],
                redirect_uris=[CALLBACK],
                token_endpoint_auth_method="none",
            )

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens) -> None:
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client) -> None:
        self.client = client


async def open_page(address: str) -> None:
    print(json.dumps({"open": address}), flush=True)


async def read_redirect() -> AuthorizationCodeResult:
    line = await asyncio.to_thread(input)
    values = {name: value for name, [value] in parse_qs(urlsplit(line).query).items()}
    return AuthorizationCodeResult(
        code=values["code"], state=values.get("state"), iss=values.get("iss")
    )


async def main() -> None:
    storage = Storage()
    metadata = OAuthClientMetadata(
        client_name="Agent", redirect_uris=[CALLBACK], token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(
        ADDRESS,
        metadata,
        storage,
        redirect_handler=open_page,
        callback_handler=read_redirect,
        client_metadata_url=os.environ.get("DOCUMENT"),
    )
    if TOKEN is None:
        http = create_mcp_http_client(auth=auth)
    else:
        http = create_mcp_http_client(headers={"Authorization": f"Bearer {TOKEN}"})
    operation = {
        "operation": os.environ["OPERATION"],
        "parameters": json.loads(os.environ.get("PARAMETERS", "{}")),
    }
    async with Client(streamable_http_client(ADDRESS, http_client=http)) as client:
        try:
            result = await client.call_tool("call_operation", operation)
        except MCPError as failure:
            print(json.dumps({"message": failure.message, "data": failure.error.data}))
            return
    status = json.loads(result.content[0].text)["status"]
    print(json.dumps({"status": status, "scope": storage.tokens.scope}))


asyncio.run(main())
