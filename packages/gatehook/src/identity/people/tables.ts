/** Accounts that sign in, failed attempts, operators and the tokens that mail carries. */
import type { Value } from '../../platform/storage/database.ts'
import {
  byScope,
  bytes,
  int,
  type PersonRows,
  type Table,
  text,
} from '../../platform/storage/table.ts'

/** The rows of a person's account, which `column` names in its resource. */
const ofAccount = (column: 'id' | 'person'): PersonRows => ({
  columns: ['resource', column],
  isOf: ({ resource, [column]: id }, person) =>
    resource === person.resource && String(id) === person.id,
  effect: 'delete',
})

const byId = ([id]: readonly Value[]) => String(id)

const people: Table = {
  name: 'gh_people',
  row:
    'The account of a row that signs in. The name leads to the scope: it is unique in its ' +
    '`namespace`, the installation (-1) or a scope (§4.8). `confirmed` (1): `admin` set the ' +
    'name, or the person used the token of a mail to it.',
  columns: {
    resource: text.plain,
    id: int,
    scope: int,
    customer: text.plain,
    mode: text.plain,
    username: text.personal,
    folded: text.personal,
    password: text.secret,
    role: text.plain.orNull,
    scopes: text.plain,
    disabled: int.or(0),
    revision: int.or(1),
    created_at: int,
    last_sign_in_at: int.orNull,
    confirmed: int.or(0),
    name: text.personal.orNull,
    namespace: int.or(-1),
  },
  key: ['resource', 'id'],
  place: 'reference',
  belongs: byScope,
  ofPerson: ofAccount('id'),
  indexes: {
    customer: { on: 'resource, customer, id', serves: 'lists of a customer' },
    names: { on: 'namespace, folded', unique: true, serves: 'sign-in by a name' },
    username: { on: 'resource, folded', serves: 'lists by name' },
  },
  stays: 'as long as its row',
}

/** The unique index of identities. */
export const IDENTITY_INDEX = 'gh_identities_identity'

const identities: Table = {
  name: 'gh_identities',
  row: 'How a trusted issuer names a person (§16.8).',
  columns: {
    resource: text.plain,
    person: int,
    position: int,
    scope: int,
    issuer: text.plain,
    sub: text.personal,
  },
  key: ['resource', 'person', 'position'],
  place: 'reference',
  belongs: byScope,
  ofPerson: ofAccount('person'),
  indexes: {
    identity: { on: 'scope, issuer, sub', unique: true, serves: 'the person of an assertion' },
  },
  stays: 'as long as the account of its person',
}

export const throttle: Table = {
  name: 'gh_throttle',
  row: 'Failed attempts of a subject. `told_until`: when its owner may be notified again.',
  columns: {
    subject: text.secret,
    attempts: text.secret.or('[]'),
    told_until: int.or(0),
    expires_at: int,
  },
  key: ['subject'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  ofNodes: true,
}

export const recognizedClients: Table = {
  name: 'gh_recognized_clients',
  row: 'A client from which an account has signed in (§3.8).',
  columns: {
    account: text.secret,
    client: text.secret,
    used_at: int,
  },
  key: ['account', 'client'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    used: { on: 'used_at', serves: 'the purge' },
  },
  stays: '90 days after the last sign-in',
  purgedBy: 'used_at',
  ofNodes: true,
}

export const TOTP_PURPOSE = 'operator-totp'
export const PROVIDER_PURPOSE = 'operator-provider'

export const operators: Table = {
  name: 'gh_operators',
  row:
    'An operator. `totp` is its second factor, `totp_pending` one that is not confirmed yet. ' +
    '`issuer`, `subject`: the identity of one who signs in with OpenID Connect (§16.9); ' +
    '`in_group`: 0 once its provider named it without a group.',
  columns: {
    id: text.plain,
    email: text.personal,
    folded: text.personal,
    password: text.secret,
    disabled: int.or(0),
    created_at: int,
    totp: bytes.secret.orNull,
    totp_pending: bytes.secret.orNull,
    totp_step: int.or(0),
    role: text.plain.or('administrator'),
    issuer: text.plain.orNull,
    subject: text.personal.orNull,
    in_group: int.or(1),
  },
  key: ['id'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    folded: {
      on: 'folded',
      unique: true,
      where: 'issuer IS NULL',
      serves: 'sign-in by an address',
    },
    identity: { on: 'issuer, subject', unique: true, serves: 'sign-in with OpenID Connect' },
  },
  stays: 'until it is deleted',
  searched: {
    type: 'operator',
    prefix: 'op',
    id: 'id',
    label: 'e.email',
    names: { column: 'folded', isFolded: true },
  },
  encrypted: {
    totp: { purpose: TOTP_PURPOSE, rowOf: byId },
    totp_pending: { purpose: TOTP_PURPOSE, rowOf: byId },
  },
}

const recoveryCodes: Table = {
  name: 'gh_operator_recovery_codes',
  row: 'A code that replaces the second factor once.',
  columns: {
    operator: text.plain,
    hash: bytes.secret,
  },
  key: ['operator', 'hash'],
  place: 'local',
  belongs: 'installation',
  stays: 'until it is used',
  endsInRestoredData: true,
}

export const consoleLinks: Table = {
  name: 'gh_console_links',
  row:
    'A link that opens the console once, as its `operator`. `maker`: the administrator who ' +
    'created it, as JSON. `maker_id`, `maker_client`, `maker_session`: with whose access it ends.',
  columns: {
    hash: bytes.secret,
    id: text.plain,
    operator: text.plain.orNull,
    maker: text.plain.orNull,
    maker_id: text.plain.orNull,
    maker_client: text.plain.orNull,
    maker_session: text.plain.orNull,
    expires_at: int,
  },
  key: ['hash'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

export const consoleSessions: Table = {
  name: 'gh_console_sessions',
  row:
    'A session of the console. `provider_tokens`: with which the groups of its operator are read ' +
    'again; `claims_read_at`: when they were read, `claims_claimed_at`: when a node began to. ' +
    '`maker_id`, `maker_client`, `maker_session`: with whose access it ends.',
  columns: {
    hash: bytes.secret,
    operator: text.plain.orNull,
    link: text.plain.orNull,
    maker_id: text.plain.orNull,
    maker_client: text.plain.orNull,
    maker_session: text.plain.orNull,
    created_at: int,
    expires_at: int,
    id: text.plain.or(''),
    address: text.personal.or(''),
    last_used_at: int.or(0),
    ends_at: int.or(0),
    verified: int.or(0),
    provider_tokens: bytes.secret.orNull,
    claims_read_at: int.orNull,
    claims_claimed_at: int.or(0),
  },
  key: ['hash'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    expiry: { on: 'expires_at', serves: 'the purge' },
    operator: { on: 'operator', serves: 'the sessions of an operator' },
    id: { on: 'id', unique: true, serves: 'a session by its id' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
  encrypted: {
    provider_tokens: {
      purpose: PROVIDER_PURPOSE,
      rowOf: ([hash]) => Buffer.from(hash as Uint8Array).toString('base64url'),
    },
  },
}

export const mailTokens: Table = {
  name: 'gh_mail_tokens',
  row: 'The hash of a token that mail carries: of a sign-up or a password reset.',
  columns: {
    hash: bytes.secret,
    purpose: text.plain,
    resource: text.plain,
    folded: text.personal,
    person: int.orNull,
    revision: int.orNull,
    body: text.personal.orNull,
    created_at: int,
    expires_at: int,
    namespace: int.or(-1),
  },
  key: ['hash'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    folded: { on: 'resource, folded, created_at', serves: 'the newest tokens of an address' },
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  endsInRestoredData: true,
}

const passkeyColumns = {
  credential: text.secret,
  public_key: bytes.secret,
  counter: int,
  transports: text.plain,
  created_at: int,
  last_used_at: int.orNull,
}

const passkeys: Table = {
  name: 'gh_passkeys',
  row: 'A passkey of a person (§16.12): the public key of a credential of WebAuthn.',
  columns: { id: text.plain, resource: text.plain, person: int, scope: int, ...passkeyColumns },
  key: ['id'],
  place: 'reference',
  belongs: byScope,
  ofPerson: ofAccount('person'),
  indexes: {
    credential: { on: 'credential', unique: true, serves: 'sign-in by a passkey' },
    person: { on: 'scope, person, id', serves: 'the passkeys of a person' },
    created: { on: 'scope, person, created_at, id', serves: 'these by time' },
    owner: { on: 'resource, person', serves: 'their deletion' },
  },
  stays: 'until its person deletes it, or a reset of the password does',
}

const operatorPasskeys: Table = {
  name: 'gh_operator_passkeys',
  row: 'A passkey of an operator.',
  columns: { id: text.plain, operator: text.plain, ...passkeyColumns },
  key: ['id'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    credential: { on: 'credential', unique: true, serves: 'sign-in by a passkey' },
    operator: { on: 'operator', serves: 'the passkeys of an operator' },
  },
  stays: 'until its operator deletes it, or a new password does',
}

export const peopleTables: readonly Table[] = [
  people,
  identities,
  throttle,
  recognizedClients,
  operators,
  recoveryCodes,
  consoleLinks,
  consoleSessions,
  mailTokens,
  passkeys,
  operatorPasskeys,
]
