/**
 * A consumer of three packages: calls the service of the README with gatehook-client and receives
 * its webhook with gatehook-receiver. Prints the results as JSON.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient, GatehookError } from 'gatehook-client'
import type { WebhookEvent } from 'gatehook-receiver'
import { nodeReceiver } from 'gatehook-receiver/node'

interface Book {
  id: number
  title: string
  status: 'in' | 'out'
}

const { GATEHOOK_URL: baseUrl = '', GATEHOOK_KEY: apiKey = '' } = process.env
const client = createClient({ baseUrl, apiKey, version: 'v1' })

const received = Promise.withResolvers<WebhookEvent<Book>>()
const secrets = ['whsec_bm90IGtub3duIHlldCwgbm90IGtub3duIHlldA==']
const receive = nodeReceiver({
  secrets,
  onEvent: (event: WebhookEvent<Book>) => {
    if (event.type === 'book.lent') received.resolve(event)
  },
})
const server = createServer((request, response) => {
  if (registered) receive(request, response)
  else response.end() // the ping, before the secret has arrived
})
let registered = false
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo

const webhooks = client.collection<{ id: string; secret: string }, object>('/webhooks')
const { secret } = await webhooks.create({ url: `http://127.0.0.1:${port}/`, events: ['book.*'] })
secrets[0] = secret
registered = true

const books = client.collection<Book, Pick<Book, 'title'>>('books')
const book = await books.create({ title: 'Solaris' })
const lent = await books.act(book.id, 'lend')
let rejected: unknown
try {
  await books.act(book.id, 'lend')
} catch (error) {
  if (error instanceof GatehookError) rejected = [error.status, error.code]
}
const titles: string[] = []
for await (const { title } of books.list({ status: 'out' })) titles.push(title)
const event = await received.promise
console.log(
  JSON.stringify({
    node: process.versions.node,
    status: lent.status,
    rejected,
    titles,
    event: [event.type, event.data.object.title],
  }),
)
server.close()
server.closeAllConnections()
