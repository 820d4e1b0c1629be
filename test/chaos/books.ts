/** Reads the database behind the nodes, of either kind. */
import { DatabaseSync } from 'node:sqlite'
import { queryAsAdmin } from '../rig/postgres.ts'

export type Books = (text: string) => Promise<Record<string, unknown>[]>

const SQLITE = /^sqlite:/

export const fileOf = (url: string): string => url.replace(SQLITE, '')

export function booksOf(url: string): Books {
  if (!SQLITE.test(url)) return (text) => queryAsAdmin(url, text)
  return async (text) => {
    const db = new DatabaseSync(fileOf(url), { readOnly: true })
    try {
      return db.prepare(text).all()
    } finally {
      db.close()
    }
  }
}
