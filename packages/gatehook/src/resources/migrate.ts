/** Brings the tables to what is declared (§6.6): additions are applied, anything else is named and refused. */
import type { Database } from '../storage/database.ts'
import { DeclarationError } from './fields.ts'
import { inReferenceOrder, type ServiceDefinition } from './service.ts'
import { planTable, type TablePlan } from './table.ts'

/** One line for each statement run. */
export type Progress = (line: string) => void

export interface Pending {
  readonly table: string
  readonly plan: TablePlan
}

/** What the declaration needs of the database; nothing is changed. */
export async function planService(db: Database, service: ServiceDefinition): Promise<Pending[]> {
  const pending: Pending[] = []
  for (const definition of inReferenceOrder(service.resources)) {
    const [columns, indexes] = [
      await db.columns(definition.name),
      await db.indexes(definition.name),
    ]
    const plan = planTable(definition, { columns, indexes }, db.dialect)
    if (plan.ddl.length + plan.refused.length > 0) pending.push({ table: definition.name, plan })
  }
  return pending
}

/** Throws `DeclarationError` when a change would not only add; then nothing was changed. */
export async function migrateService(
  db: Database,
  service: ServiceDefinition,
  progress: Progress = () => {},
): Promise<void> {
  const pending = await planService(db, service)
  const refused = pending.flatMap(({ plan }) => plan.refused)
  if (refused.length > 0) {
    throw new DeclarationError(
      `The declaration changed in ways that need a reviewed migration:\n${refused.join('\n')}`,
    )
  }
  if (pending.length === 0) return
  await db.migrate(async (_tx, ddl) => {
    for (const { table, plan } of pending) {
      for (const statement of plan.ddl) await ddl(statement)
      progress(`${table}: ${plan.ddl.length} statements`)
    }
  })
}
