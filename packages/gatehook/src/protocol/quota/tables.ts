/** Counts of requests that several nodes share. */
import { int, type Table, text } from '../../platform/storage/table.ts'

export const quotaCounts: Table = {
  name: 'gh_quota',
  row: 'The requests of a subject in a period.',
  columns: {
    subject: text.personal,
    period: int,
    used: int,
    used_at: int,
    expires_at: int,
  },
  key: ['subject', 'period'],
  place: 'local',
  belongs: 'installation',
  indexes: {
    expiry: { on: 'expires_at', serves: 'the purge' },
  },
  stays: 'until `expires_at`',
  purgedBy: 'expires_at',
  ofNodes: true,
}

export const quotaTables: readonly Table[] = [quotaCounts]
