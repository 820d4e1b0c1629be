/** Reads the database behind the nodes, of either kind, or changes it. */
import { DatabaseSync } from 'node:sqlite'
import { queryAsAdmin } from '../rig/postgres.ts'

export type Books = (text: string) => Promise<Record<string, unknown>[]>

const SQLITE = /^sqlite:/
/** How long a statement waits for the transaction of a node. */
const BUSY_MS = 5_000

export const fileOf = (url: string): string => url.replace(SQLITE, '')

export function booksOf(url: string, readOnly = true): Books {
  if (!SQLITE.test(url)) return (text) => queryAsAdmin(url, text)
  return async (text) => {
    const db = new DatabaseSync(fileOf(url), { readOnly, timeout: BUSY_MS })
    try {
      return db.prepare(text).all()
    } finally {
      db.close()
    }
  }
}
