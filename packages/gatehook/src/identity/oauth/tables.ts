/** Clients and their secrets, authorization codes, consents, browser sessions (§5). */
import { byPersonId, byScope, bytes, int, type Table, text } from '../../platform/storage/table.ts'

const clients: Table = {
  name: 'gh_clients',
  row:
    'A client of OAuth, or a host whose documents are blocked. Its id leads to the scope; 0: the ' +
    'person who signs in decides. `jwks`, `jwks_uri`: the keys of a client without secrets ' +
    '(§16.7). `first_party`: its tokens are valid at the account endpoints ' +
    '(§4.5). `source`: `administration`, `registration`, `document` or `host` (§16.4). ' +
    '`used_at`: of a client that registered itself.',
  columns: {
    client_id: text.plain,
    scope: int.or(0),
    customer: text.plain.orNull,
    mode: text.plain.orNull,
    name: text.personal,
    redirect_uris: text.personal,
    scopes: text.plain,
    grant_types: text.plain,
    public: int,
    jwks: text.plain.orNull,
    jwks_uri: text.personal.orNull,
    require_client_auth_on_refresh: int.or(0),
    created_at: int,
    deleted_at: int.orNull,
    first_party: int.or(0),
    id_token_signed_response_alg: text.plain.or('RS256'),
    source: text.plain,
    blocked: int.or(0),
    used_at: int.orNull,
  },
  key: ['client_id'],
  place: 'reference',
  belongs: byScope,
  indexes: {
    scope: { on: 'scope, client_id', serves: 'the clients of a customer' },
    name: { on: 'name, client_id', where: 'deleted_at IS NULL', serves: 'lists by name' },
    created: { on: 'created_at, client_id', where: 'deleted_at IS NULL', serves: 'lists by time' },
    customer: {
      on: 'customer, client_id',
      where: 'deleted_at IS NULL',
      serves: 'lists of a customer in both modes',
    },
  },
  stays: 'for ever, with `deleted_at`',
  searched: {
    type: 'client',
    prefix: 'client',
    id: 'client_id',
    label: 'e.name',
    visible: 'deleted_at IS NULL',
    names: { column: 'name' },
    secrets: { table: 'gh_client_secrets', owner: 'client_id' },
  },
}

const clientSecrets: Table = {
  name: 'gh_client_secrets',
  row: 'The hash of a secret of a client. `ending`: the last four characters of the secret.',
  columns: {
    client_id: text.plain,
    hash: bytes.secret,
    created_at: int,
    expires_at: int.orNull,
    scope: int,
    ending: text.secret.orNull,
  },
  key: ['client_id', 'hash'],
  place: 'reference',
  belongs: byScope,
  indexes: {
    ending: { on: 'ending', serves: 'the search of a leaked secret' },
  },
  stays: 'until the secret is replaced and has expired',
}

export const authorizationCodes: Table = {
  name: 'gh_oauth_codes',
  row:
    'An authorization code, and the session that it opened. `audience`: a JSON array of the ' +
    'resources that its request named.',
  columns: {
    hash: bytes.secret,
    client_id: text.plain,
    scope: int,
    subject: text.plain,
    redirect_uri: text.personal,
    challenge: text.secret,
    scopes: text.plain,
    audience: text.plain.orNull,
    authenticated_at: int,
    nonce: text.secret.orNull,
    revision: int,
    expires_at: int,
    used_at: int.orNull,
    session_id: text.plain.orNull,
  },
  key: ['hash'],
  place: 'scope',
  belongs: byScope,
  ofPerson: byPersonId('subject'),
  indexes: {
    expiry: { on: 'expires_at', serves: 'the purge' },
    subject: { on: 'scope, subject, client_id', serves: 'the end of a consent' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

const issuers: Table = {
  name: 'gh_issuers',
  row:
    'A trusted issuer (§16.8). `jwks`, `jwks_uri`: its keys; without both, its metadata leads to ' +
    'them. `owners`: a JSON array of claims. `reuse`: whether an assertion counts many times.',
  columns: {
    id: text.plain,
    issuer: text.plain,
    jwks: text.plain.orNull,
    jwks_uri: text.plain.orNull,
    reuse: text.plain.orNull,
    owners: text.plain,
    created_at: int,
  },
  key: ['id'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    issuer: { on: 'issuer', unique: true, serves: 'an assertion by its `iss`' },
    created: { on: 'created_at, id', serves: 'lists by time' },
  },
  stays: 'until it is deleted',
}

const issuerRules: Table = {
  name: 'gh_issuer_rules',
  row:
    'A rule of a trusted issuer: its assertions that match act for a customer. `claims`, ' +
    '`scopes`, `domains`: JSON. `id`: tokens and registrations name it, and end with it.',
  columns: {
    id: text.plain,
    issuer_id: text.plain,
    position: int,
    scope: int,
    customer: text.plain,
    mode: text.plain,
    claims: text.personal,
    typ: text.plain.orNull,
    scopes: text.plain,
    person: text.plain.orNull,
    domains: text.personal,
  },
  key: ['issuer_id', 'position'],
  place: 'local',
  belongs: byScope,
  indexes: {
    scope: { on: 'scope, issuer_id, position', serves: 'the rules of a customer' },
  },
  stays: 'until its issuer is deleted',
}

export const deviceGrants: Table = {
  name: 'gh_device_grants',
  row:
    'A device that waits for the consent of a person (§16.6). `state`: `pending`, `approved`, ' +
    '`denied` or `used`. `scopes`: the requested ones, and after the consent the granted ones.',
  columns: {
    hash: bytes.secret,
    user_code_hash: bytes.secret,
    client_id: text.plain,
    scope: int,
    scopes: text.plain,
    audience: text.plain.orNull,
    address: text.personal,
    address_block: text.personal,
    place: int.orNull,
    state: text.plain,
    subject: text.plain.orNull,
    authenticated_at: int.orNull,
    revision: int.orNull,
    interval_s: int,
    polled_at: int.orNull,
    created_at: int,
    expires_at: int,
  },
  key: ['hash'],
  place: 'local',
  belongs: byScope,
  ofPerson: byPersonId('subject'),
  indexes: {
    user_code: { on: 'user_code_hash', unique: true, serves: 'the page' },
    address: {
      on: 'address_block, place',
      unique: true,
      serves: 'the limit of an address: `place` is null unless the grant waits',
    },
    subject: { on: 'scope, subject, client_id', serves: 'the end of a consent' },
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

const consents: Table = {
  name: 'gh_consents',
  row:
    'The consent of a person to a client. `redirects`: of a client that describes itself, the ' +
    'scopes by redirect URI, with the hash of its name and redirect URIs.',
  columns: {
    scope: int,
    owner: int,
    client_id: text.plain,
    client_name: text.personal,
    scopes: text.plain,
    redirects: text.personal.orNull,
    created_at: int,
    updated_at: int,
  },
  key: ['scope', 'owner', 'client_id'],
  place: 'scope',
  belongs: byScope,
  ofPerson: byPersonId('owner'),
  indexes: {
    created: { on: 'scope, owner, created_at, client_id', serves: 'lists of a person' },
    client: { on: 'client_id', serves: 'the end of a client' },
    recent: { on: 'scope, created_at, owner, client_id', serves: 'lists of a customer by time' },
  },
  stays: 'until it is withdrawn',
}

export const signIns: Table = {
  name: 'gh_sign_ins',
  row: 'The session of a browser at the authorization server.',
  columns: {
    hash: bytes.secret,
    scope: int,
    subject: text.plain,
    revision: int,
    created_at: int,
    expires_at: int,
  },
  key: ['hash'],
  place: 'local',
  belongs: byScope,
  ofPerson: byPersonId('subject'),
  indexes: {
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

export const oauthTables: readonly Table[] = [
  clients,
  clientSecrets,
  authorizationCodes,
  deviceGrants,
  issuers,
  issuerRules,
  consents,
  signIns,
]
