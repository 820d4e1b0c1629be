"""Authlib: OpenID Connect, a client with keys, an assertion of a trusted issuer, a device.

Prints the addresses that a person opens, one JSON line each, and reads a line for each of them.
"""

import json
import os
import time
import uuid

import requests
from authlib.integrations.requests_client import AssertionSession, OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet, import_key

SETTINGS = json.loads(os.environ["SETTINGS"])
URL = SETTINGS["url"]
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
METADATA = requests.get(URL + "/.well-known/openid-configuration").json()
ISSUER = METADATA["issuer"]
TOKEN = METADATA["token_endpoint"]
KEYS = KeySet.import_key_set(requests.get(METADATA["jwks_uri"]).json())


def open_in_browser(address: str) -> str:
    print(json.dumps({"open": address}), flush=True)
    return input()


def claims_of(token: dict, client_id: str, nonce: str | None) -> dict:
    id_token = jwt.decode(token["id_token"], KEYS, algorithms=["RS256", "ES256"])
    options = {"iss": {"values": [ISSUER]}, "aud": {"values": [client_id]}}
    params = {"client_id": client_id, "access_token": token["access_token"], "nonce": nonce}
    claims = CodeIDToken(id_token.claims, id_token.header, options, params)
    claims.validate()
    return claims


def sign_in() -> dict:
    client = SETTINGS["web"]
    session = OAuth2Session(
        client["client_id"],
        client["client_secret"],
        scope="openid email",
        redirect_uri=SETTINGS["callback"],
        code_challenge_method="S256",
    )
    verifier, nonce = uuid.uuid4().hex * 2, uuid.uuid4().hex
    address, state = session.create_authorization_url(
        METADATA["authorization_endpoint"], code_verifier=verifier, nonce=nonce
    )
    back = open_in_browser(address)
    token = session.fetch_token(
        TOKEN, authorization_response=back, code_verifier=verifier, state=state
    )
    claims = claims_of(token, client["client_id"], nonce)
    userinfo = session.get(METADATA["userinfo_endpoint"]).json()
    assert userinfo["sub"] == claims["sub"]
    session.refresh_token(TOKEN)
    assert session.introspect_token(
        METADATA["introspection_endpoint"], session.token["access_token"]
    ).json()["active"]
    session.revoke_token(METADATA["revocation_endpoint"], session.token["refresh_token"])
    return {"subject": claims["sub"], "email": userinfo["email"]}


def use_keys() -> dict:
    client_id = SETTINGS["keyed"]["client_id"]
    key = import_key(SETTINGS["key"])
    session = OAuth2Session(client_id, key, token_endpoint_auth_method="private_key_jwt")
    # The audience is the issuer, not the endpoint.
    method = PrivateKeyJWT(ISSUER, alg="ES256", headers={"kid": key.kid})
    session.register_client_auth_method(method)
    token = session.fetch_token(TOKEN, grant_type="client_credentials", scope="orders:read")
    return {"scope": token["scope"]}


def use_assertion() -> dict:
    key = import_key(SETTINGS["key"])
    session = AssertionSession(
        TOKEN,
        issuer=SETTINGS["issuer"],
        subject="repo:acme/shop",
        audience=ISSUER,
        claims={"repository": "acme/shop", "jti": uuid.uuid4().hex},
        scope="orders:read",
        key=key,
        header={"alg": "ES256", "kid": key.kid},
    )
    return {"status": session.get(URL + "/api/v2/orders").status_code}


def connect_device() -> dict:
    client_id = SETTINGS["device"]["client_id"]
    form = {"client_id": client_id, "scope": "openid orders:read"}
    codes = requests.post(METADATA["device_authorization_endpoint"], data=form).json()
    open_in_browser(codes["verification_uri_complete"])
    session = OAuth2Session(client_id, token_endpoint_auth_method="none")
    token = session.fetch_token(TOKEN, grant_type=DEVICE_GRANT, device_code=codes["device_code"])
    claims = claims_of(token, client_id, None)
    assert claims["auth_time"] <= time.time() + 5
    return {"subject": claims["sub"], "scope": token["scope"]}


for step in (sign_in, use_keys, use_assertion, connect_device):
    print(json.dumps({step.__name__: step()}), flush=True)
