/**
 * Verifies the expressions of derived fields at start. The database creates an index of each on an
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
import { columnFields } from './computed.ts'
import { derivedFields, derivedSql } from './derived.ts'
import type { ResourceDefinition } from './resource.ts'

/** Throws `DeclarationError` with the file and the line of an expression that is not valid. */
export async function checkDerivedFields(
  db: Database,
  resources: readonly ResourceDefinition[],
): Promise<void> {
  for (const resource of resources) {
    if (derivedFields(resource.fields).length > 0) await checkResource(db, resource)
  }
}

const TABLE = 'gh_derived_check'

async function checkResource(db: Database, { name, fields }: ResourceDefinition): Promise<void> {
  const columns = columnFields(fields)
    .filter(([, { computed }]) => computed !== 'derived')
    .map(([column, spec]) => `${column} ${db.dialect.types[columnType(spec)]}`)
  await rehearse(db, async (_, ddl) => {
    await ddl(`CREATE TEMP TABLE ${TABLE} (${columns.join(', ')})`)
    for (const [field, spec] of derivedFields(fields)) {
      await ddl(
        `CREATE INDEX ${TABLE}_${field} ON ${TABLE} ((${derivedSql(spec, db.name)}))`,
      ).catch((error: unknown) => {
        throw describeError({ resource: name, field, spec }, db, error)
      })
    }
  })
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
