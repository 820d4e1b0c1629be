/** Signing keys, sessions, and revocations, which every node applies within 2 s (§4). */
import type { Value } from '../../platform/storage/database.ts'
import {
  byPersonId,
  byScope,
  bytes,
  int,
  serial,
  type Table,
  text,
  txid,
} from '../../platform/storage/table.ts'

export const SIGNING_PURPOSE = 'signing'
export const RSA_PURPOSE = 'signing-rsa'
export const ASSERTION_PURPOSE = 'signing-assertion'

const rowOfKey = ([kid]: readonly Value[]) => String(kid)

export const signingKeys: Table = {
  name: 'gh_signing_keys',
  row:
    'A key pair that signs access tokens, one of RSA that signs ID tokens meanwhile, and one ' +
    'that signs assertions to upstreams.',
  columns: {
    kid: text.plain,
    public_jwk: text.plain,
    encrypted_private_jwk: bytes.secret,
    rsa_public_jwk: text.plain,
    encrypted_rsa_jwk: bytes.secret,
    assertion_public_jwk: text.plain,
    encrypted_assertion_jwk: bytes.secret,
    created_at: int,
    signs_from: int,
  },
  key: ['kid'],
  place: 'local',
  belongs: 'installation',
  stays: 'until its tokens have expired',
  encrypted: {
    encrypted_private_jwk: { purpose: SIGNING_PURPOSE, rowOf: rowOfKey },
    encrypted_rsa_jwk: { purpose: RSA_PURPOSE, rowOf: rowOfKey },
    encrypted_assertion_jwk: { purpose: ASSERTION_PURPOSE, rowOf: rowOfKey },
  },
}

export const sessions: Table = {
  name: 'gh_sessions',
  row:
    'A session: a family of refresh tokens. `successor` is the encrypted token that a repeated ' +
    'refresh returns. `audience`: a JSON array, the resources of its first request. ' +
    '`third_party`: its tokens never reach account endpoints (§16.6). ' +
    '`authenticated_at`: when its person signed in to a client. Without `token_hash` it is one ' +
    'access token, of an assertion (§16.8).',
  columns: {
    id: text.plain,
    scope: int,
    customer: text.plain,
    person: int,
    client_id: text.plain,
    scopes: text.plain,
    audience: text.plain.orNull,
    third_party: int.or(0),
    authenticated_at: int.orNull,
    token_hash: bytes.secret.orNull,
    previous_hash: bytes.secret.orNull,
    successor: bytes.secret.orNull,
    rotated_at: int.orNull,
    created_at: int,
    last_used_at: int,
    expires_at: int,
    ends_at: int,
    access_until: int,
  },
  key: ['id'],
  place: 'scope',
  belongs: byScope,
  ofPerson: byPersonId('person'),
  indexes: {
    person: { on: 'scope, person, id', serves: 'the sessions of a person' },
    created: { on: 'scope, person, created_at, id', serves: 'the sessions of a person by time' },
    client: { on: 'scope, client_id', serves: 'the end of a client' },
    expiry: { on: 'expires_at', serves: 'the purge' },
    successors: {
      on: 'rotated_at',
      where: 'successor IS NOT NULL',
      serves: 'the purge of successors',
    },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
}

export const revocations: Table = {
  name: 'gh_revocations',
  row: 'A session, person or client whose access tokens are invalid.',
  columns: {
    position: serial,
    txid: txid,
    kind: text.plain,
    value: text.plain,
    keep_until: int,
  },
  key: ['position'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    value: { on: 'value, kind', serves: 'the test of one token' },
    expiry: { on: 'keep_until', serves: 'the purge' },
    feed: { on: 'txid', serves: 'the feed of the nodes', only: 'postgres' },
  },
  stays: 'until the last such token has expired',
  purgedBy: 'keep_until',
}

export const usedOnce: Table = {
  name: 'gh_used_once',
  row: 'The hash of an assertion or a challenge that was used: it counts once.',
  columns: { hash: bytes.secret, expires_at: int },
  key: ['hash'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
}

export const tokensTables: readonly Table[] = [signingKeys, sessions, revocations, usedOnce]
