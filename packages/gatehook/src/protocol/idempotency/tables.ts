/** Records of requests with an idempotency key. */
import { timeTable } from '../../platform/storage/partitions/catalog.ts'
import { byDayId } from '../../platform/storage/partitions/periods.ts'
import { byScope, bytes, int, type Table } from '../../platform/storage/table.ts'

export const RESPONSE_PURPOSE = 'idempotency'

/** Returns the row name that a stored response is encrypted for. */
export const responseRow = (scope: number, id: Uint8Array): string =>
  `${scope} ${Buffer.from(id).toString('base64url')}`

export const idempotencyRecords: Table = {
  name: 'gh_idempotency',
  row:
    'A request by the hash of its key, and its response. `secret` is 1 if the response has a ' +
    'secret.',
  columns: {
    scope: int,
    id: bytes.secret,
    fingerprint: bytes.secret,
    answer: bytes.secret.orNull,
    expires_at: int,
    secret: int.orNull,
  },
  key: ['scope', 'id'],
  place: 'scope',
  belongs: byScope,
  indexes: {
    expiry: { on: 'expires_at', serves: 'the purge', purges: true },
    secret: {
      on: 'expires_at',
      where: 'secret = 1',
      serves: 'the purge of secrets',
      only: 'postgres',
    },
  },
  stays: '24 hours; a response with a secret one hour',
  divided: { ...byDayId, column: 'id' },
  encrypted: {
    answer: {
      purpose: RESPONSE_PURPOSE,
      rowOf: ([scope, id]) => responseRow(scope as number, id as Uint8Array),
    },
  },
}

export const idempotencyTables: readonly Table[] = [idempotencyRecords]

export const recordTable = timeTable(idempotencyRecords)
