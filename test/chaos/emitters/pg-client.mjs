/** An application: each transaction adds an invoice and emits its event, and some roll back. */
import pg from 'pg'

const [url, prefix] = process.argv.slice(2)
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function pay(client, id, n) {
  const emit = () =>
    client.query("SELECT gatehook.gatehook_emit('invoice.paid', $1, 'default', key => $2)", [
      JSON.stringify({ id }),
      n % 2 === 0 ? id : null,
    ])
  await client.query('BEGIN')
  if (n % 3 === 0) await emit()
  await client.query('INSERT INTO app.invoices VALUES ($1)', [id])
  if (n % 3 !== 0) await emit()
  await client.query(n % 8 === 7 ? 'ROLLBACK' : 'COMMIT')
  if (n % 8 !== 7) console.log(id)
}

let n = 0
for (;;) {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  try {
    await client.connect()
    for (;;) {
      n += 1
      await pay(client, `${prefix}-${n}`, n)
      await pause(10)
    }
  } catch {
    await client.end().catch(() => undefined)
    await pause(20)
  }
}
