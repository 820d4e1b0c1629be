// gatehook-client and gatehook-receiver in Deno, Bun and Node 20: one list, three deliveries.
import { createClient } from 'gatehook-client'
import { receiver, sign } from 'gatehook-receiver'

const [baseUrl, apiKey] = (globalThis.Deno?.args ?? process.argv.slice(2)).slice(-2)
const client = createClient({ baseUrl, apiKey, version: 'v1' })
const { data } = await client.collection('books').list({ limit: 1 })

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const events = []
const handle = receiver({ secrets: [secret], onEvent: (event) => void events.push(event.type) })
const body = JSON.stringify({ id: 'evt_1', type: 'book.lent', created: 1767225600, data: {} })
const headers = await sign({ body, secret })
const statuses = []
for (const text of [body, body, body.replace('lent', 'sold')]) {
  const request = new Request('https://you.example/hooks', { method: 'POST', headers, body: text })
  statuses.push((await handle(request)).status)
}
console.log(JSON.stringify({ books: data.length, events, statuses }))
