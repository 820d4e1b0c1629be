/** An application with `pg`: a transaction adds an invoice and emits its event. */
import pg from 'pg'
import { RolledBack, run, url } from './loop.mjs'

const pool = new pg.Pool({ connectionString: url, max: 1 })
// Without these a connection that breaks ends the process.
pool.on('error', () => undefined)
pool.on('connect', (client) => client.on('error', () => undefined))
const EMIT = "SELECT gatehook.gatehook_emit('invoice.paid', $1, 'default', key => $2)"

await run(async ({ id, key, emitsFirst, rollsBack }) => {
  const client = await pool.connect()
  let isBroken = true
  try {
    const emit = () => client.query(EMIT, [JSON.stringify({ id }), key])
    await client.query('BEGIN')
    if (emitsFirst) await emit()
    await client.query('INSERT INTO app.invoices VALUES ($1)', [id])
    if (!emitsFirst) await emit()
    await client.query(rollsBack ? 'ROLLBACK' : 'COMMIT')
    isBroken = false
  } finally {
    client.release(isBroken)
  }
  if (rollsBack) throw new RolledBack()
})
