/** Verifies the expressions of derived fields for `gatehook check`, in an empty SQLite database. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { derivedFields } from '../declare/resources/derived.ts'
import { checkDerivedFields } from '../declare/resources/derived-check.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import { createLog } from '../kernel/log.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { DeclarationError } from '../protocol/fields/declaration-mistakes.ts'

/**
 * Returns the mistakes of the expressions, as a start on SQLite would report them. Those that are
 * for PostgreSQL alone are verified at a start on it.
 */
export async function findDerivedMistakes({ resources }: ServiceDefinition): Promise<string[]> {
  const derived = resources.filter(({ fields }) => derivedFields(fields).length > 0)
  if (derived.length === 0) return []
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-check-'))
  const log = createLog({ level: 'fatal', destination: { write: () => undefined } })
  try {
    const db = await openDatabase(`sqlite:${join(folder, 'check.db')}`, { log })
    try {
      await checkDerivedFields(db, derived)
      return []
    } finally {
      await db.close()
    }
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    return error.message.split('\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
