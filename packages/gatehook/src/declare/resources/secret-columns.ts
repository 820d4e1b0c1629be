/**
 * The secret columns of all declarations that a database has had (§18.11). A column
 * stays in its table when its resource is declared no more: exports of customers leave it out.
 */
import type { SecretFields } from '../../platform/storage/customer-rows.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import { lockSetting, readSetting, writeSetting } from '../../platform/storage/settings.ts'
import { containsSecret } from '../../protocol/fields/secret-names.ts'
import type { ResourceDefinition } from './resource.ts'

const SETTING = 'secret_columns'

/** The names of columns by table. */
type SecretColumns = SecretFields

const readSecretColumns = async (reader: Reader): Promise<SecretColumns> =>
  (await readSetting<SecretColumns>(reader, SETTING)) ?? {}

/** Returns the secret columns: those of a declared field as it is today, others as they were. */
export async function readSecretFields(
  reader: Reader,
  resources: readonly Pick<ResourceDefinition, 'name' | 'fields'>[],
): Promise<SecretFields> {
  const stored = await readSecretColumns(reader)
  const declared = resources.map(({ name, fields }) => {
    const former = (stored[name] ?? []).filter((field) => !Object.hasOwn(fields, field))
    return [
      name,
      [...former, ...Object.keys(fields).filter((field) => containsSecret(fields[field]!))],
    ]
  })
  return { ...stored, ...Object.fromEntries(declared) }
}

/** Adds the secret columns of a declaration. */
export async function recordSecretColumns(
  db: Database,
  resources: readonly Pick<ResourceDefinition, 'name' | 'fields'>[],
): Promise<void> {
  const declared = resources.flatMap(({ name, fields }) =>
    Object.keys(fields)
      .filter((field) => containsSecret(fields[field]!))
      .map((field) => [name, field] as const),
  )
  const isMissing = (stored: SecretColumns) =>
    declared.some(([table, column]) => !stored[table]?.includes(column))
  if (!isMissing(await readSecretColumns(db))) return
  await db.write(async (tx) => {
    const stored = (await lockSetting<SecretColumns>(tx, SETTING)) ?? {}
    const all = new Map(Object.entries(stored).map(([table, names]) => [table, new Set(names)]))
    for (const [table, column] of declared) {
      all.set(table, (all.get(table) ?? new Set()).add(column))
    }
    const entries = [...all].map(([table, names]) => [table, [...names]])
    await writeSetting(tx, SETTING, Object.fromEntries(entries))
  })
}
