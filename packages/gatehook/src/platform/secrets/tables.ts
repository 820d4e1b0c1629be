/** Keys of retired master secrets. */
import { bytes, int, type Table, text } from '../storage/table.ts'

export const RETIRED_KEY_PURPOSE = 'retired key'

export const retiredKeyRow = (keyId: string, purpose: string): string => `${keyId} ${purpose}`

export const retiredKeys: Table = {
  name: 'gh_retired_keys',
  row:
    'A MAC key of a retired master secret, which verifies refresh tokens and stored requests ' +
    'until those expire.',
  columns: {
    key_id: text.plain,
    purpose: text.plain,
    encrypted: bytes.secret,
    expires_at: int,
  },
  key: ['key_id', 'purpose'],
  place: 'local',
  belongs: 'installation',
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  encrypted: {
    encrypted: {
      purpose: RETIRED_KEY_PURPOSE,
      rowOf: ([keyId, purpose]) => retiredKeyRow(String(keyId), String(purpose)),
    },
  },
}

export const secretsTables: readonly Table[] = [retiredKeys]
