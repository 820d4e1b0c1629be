/**
 * The tables of resources as tables with rows of customers (§18.11), those of earlier declarations
 * included. A row is deleted before the row that it refers to.
 */
import type { OwnedTable } from '../../platform/storage/customer-rows.ts'
import type { Column, Database } from '../../platform/storage/database.ts'
import { listTables, readRowKey } from '../../platform/storage/move/tables.ts'
import { byScope, text } from '../../platform/storage/table.ts'
import { orderByReference } from './reference-order.ts'
import { readSecretFields } from './secret-columns.ts'
import type { ServiceDefinition } from './service.ts'
import { isWordTable } from './table.ts'

const isOfEngine = (name: string): boolean => name.startsWith('gh_') && !isWordTable(name)

/** The column with the customer: of resources, and of tables that migrations of the team create. */
const isOwner = ({ name, declaredType }: Column): boolean =>
  (name === 'scope' && /int/i.test(declaredType)) ||
  (name === 'customer' && /char|text/i.test(declaredType))

/** Lists the tables of resources in the order of a deletion. */
export async function listOwnedTables(
  db: Database,
  { resources }: Pick<ServiceDefinition, 'resources'>,
): Promise<OwnedTable[]> {
  const declared = orderByReference(resources)
    .map(({ name }) => name)
    .reverse()
  const others = (await listTables(db)).filter(
    (name) => !isOfEngine(name) && !declared.includes(name),
  )
  const secretFields = await readSecretFields(db, resources)
  const tables: OwnedTable[] = []
  for (const name of [...others, ...declared]) {
    const columns = await db.columns(name)
    const owners = columns.filter(isOwner).map((column) => column.name)
    const owner = owners.find((column) => column === 'scope') ?? owners[0]
    if (owner === undefined) continue
    const fields = resources.find((resource) => resource.name === name)?.fields ?? {}
    const isSecret = (column: string) => secretFields[name]?.includes(column) === true
    const contents = columns.map((column) => [
      column.name,
      { ...text[isSecret(column.name) ? 'secret' : 'personal'], kind: column.type },
    ])
    const key = await readRowKey(db, name)
    const belongs = owner === 'scope' ? byScope : { customer: owner }
    const selfReferences = Object.keys(fields).filter(
      (field) => fields[field]!.target === name && fields[field]!.nullable,
    )
    const table = { name, columns: Object.fromEntries(contents), key, belongs }
    tables.push({ ...table, selfReferences })
  }
  return tables
}
