/**
 * Verifies the expressions of derived fields at start; `derived-columns.ts` verifies their names
 * before. The database creates an index of each on an
 * empty temporary table with the declared columns. So it rejects another table, a subquery, an
 * aggregate, and a function whose value changes, such as `random()`.
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from '../../kernel/failure.ts'
import type { Database } from '../../platform/storage/database.ts'
import { rehearse } from '../../platform/storage/recorded-migration.ts'
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import { derivationSite } from '../../protocol/fields/f.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { columnType } from './column-types.ts'
import { tableFields } from './computed.ts'
import { derivedFields, derivedSql } from './derived.ts'
import type { ResourceDefinition } from './resource.ts'

/** Throws `DeclarationError` with the file and the line of each expression that is not valid. */
export async function checkDerivedFields(
  db: Database,
  resources: readonly ResourceDefinition[],
): Promise<void> {
  const mistakes: DeclarationError[] = []
  for (const resource of resources) mistakes.push(...(await findRejected(db, resource)))
  if (mistakes.length === 0) return
  const text = mistakes.map(({ message }) => message).join('\n')
  throw new DeclarationError(text, { cause: mistakes[0]!.cause })
}

const TABLE = 'gh_derived_check'

/** Returns the mistakes of all expressions: an error ends the rehearsal, another one continues. */
async function findRejected(
  db: Database,
  { name, fields }: ResourceDefinition,
): Promise<DeclarationError[]> {
  const columns = tableFields(fields).map(
    ([column, spec]) => `${column} ${db.dialect.types[columnType(spec)]}`,
  )
  const unchecked = derivedFields(fields)
  const mistakes: DeclarationError[] = []
  while (unchecked.length > 0) {
    await rehearse(db, async (_, ddl) => {
      await ddl(`CREATE TEMP TABLE ${TABLE} (${columns.join(', ')})`)
      for (let next = unchecked.shift(); next; next = unchecked.shift()) {
        const [field, spec] = next
        await ddl(
          `CREATE INDEX ${TABLE}_${field} ON ${TABLE} ((${derivedSql(spec, db.name)}))`,
        ).catch((error: unknown) => {
          throw describeError({ resource: name, field, spec }, db, error)
        })
      }
    }).catch((error: unknown) => {
      if (!(error instanceof DeclarationError)) throw error
      mistakes.push(error)
    })
  }
  return mistakes
}

/** Names the field in an error of its SQL. Other errors, such as a lost connection, pass. */
function describeError(
  { resource, field, spec }: { resource: string; field: string; spec: FieldSpec },
  db: Database,
  error: unknown,
): unknown {
  const cause = error instanceof Failure ? error.detail : error
  const isRejectedSql = !(error instanceof Failure) || error.code === 'invalid_request'
  if (!isRejectedSql || !(cause instanceof Error)) return error
  return new DeclarationError(
    `${placeOf(spec)}resource ${resource}: field ${field}: ${db.name} rejects the expression of ` +
      `f.derived(): ${cause.message}`,
    { cause },
  )
}

/** Returns the file and the line of the call of `f.derived()`, with a colon. */
function placeOf({ derived }: FieldSpec): string {
  const [, frame = ''] = (derivationSite.get(derived!)?.stack ?? '').split('\n    at ')
  const [, place, line] = /([^\s(]+):(\d+):\d+\)?\s*$/.exec(frame) ?? []
  if (place === undefined) return ''
  const path = place.startsWith('file:') ? fileURLToPath(place) : place
  const short = relative(process.cwd(), path)
  return `${short.startsWith('..') ? path : short}:${line}: `
}
