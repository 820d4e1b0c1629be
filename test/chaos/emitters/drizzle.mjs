/** An application with Drizzle: a transaction adds an invoice and emits its event. */
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgSchema, text } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { RolledBack, run, url } from './loop.mjs'

const pool = new pg.Pool({ connectionString: url, max: 1 })
// Without these a connection that breaks ends the process.
pool.on('error', () => undefined)
pool.on('connect', (client) => client.on('error', () => undefined))
const db = drizzle({ client: pool })
const invoices = pgSchema('app').table('invoices', { id: text().primaryKey() })

await run(({ id, key, emitsFirst, rollsBack }) =>
  db.transaction(async (tx) => {
    const emit = () =>
      tx.execute(sql`SELECT gatehook.gatehook_emit('invoice.paid',
        ${JSON.stringify({ id })}::jsonb, 'default', key => ${key})`)
    if (emitsFirst) await emit()
    await tx.insert(invoices).values({ id })
    if (!emitsFirst) await emit()
    if (rollsBack) throw new RolledBack()
  }),
)
