/**
 * The attacks of row 21 by a customer or an unauthenticated client. Each is a function that runs
 * until its signal is aborted, in a separate process.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { BENCH_KEY } from '../data.ts'
import { HTTPS, send } from './world.ts'

export const LARGE_DELETION = 'deletion of a customer'

export interface Target {
  readonly url: string
  readonly port: number
  readonly noisyKeys: readonly string[]
  readonly leavingId: string
}

export type Attack = (target: Target, signal: AbortSignal) => Promise<void>

/** Runs `count` loops until the signal. A rejected request is a success of the service. */
async function loops(count: number, signal: AbortSignal, once: (n: number) => Promise<unknown>) {
  let n = 0
  const loop = async () => {
    while (!signal.aborted) {
      const failed = await once(n++).then(
        () => false,
        () => true,
      )
      // At most a hundred rejected requests per second from each loop.
      if (failed) await pause(10)
    }
  }
  await Promise.all(Array.from({ length: count }, loop))
}

/** Sends a request on a new socket, and reads the response only if `reads`. */
function raw(port: number, head: readonly string[], signal: AbortSignal, reads: boolean) {
  return new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${head.join('\r\n')}\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
    })
    if (reads) socket.resume()
    else socket.pause()
    const end = () => socket.destroy()
    signal.addEventListener('abort', end)
    socket.on('error', end)
    socket.on('close', () => {
      signal.removeEventListener('abort', end)
      resolve()
    })
  })
}

const proxied = (address: string) => `x-forwarded-for: ${address}\r\nx-forwarded-proto: https`
const anyAddress = (n: number) => `203.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`

const unreadAnswers: Attack = ({ port, noisyKeys }, signal) =>
  loops(40, signal, (n) => {
    const key = noisyKeys[n % noisyKeys.length]
    const path = '/events?limit=100&sort=-id'
    return raw(port, [`GET ${path} HTTP/1.1`, `x-api-key: ${key}`, proxied('::1')], signal, false)
  })

const SORTS = ['note,-amount,status', '-note,created_at', 'status,-note', 'amount,note,-updated_at']

const expensiveLists: Attack = (target, signal) =>
  loops(8, signal, (n) => {
    const key = target.noisyKeys[n % target.noisyKeys.length]!
    const query = `sort=${SORTS[n % SORTS.length]}&limit=100&amount[gte]=${n % 100}`
    const style = n % 2 ? '&pagination=hypermedia&page=1' : ''
    const path = style ? query.replace('limit', 'per_page') + style : query
    return send(target, key, 'GET', `/api/v2/orders?${path}`)
  })

const passwordGuesses: Attack = (target, signal) =>
  loops(150, signal, async (n) => {
    const headers = { 'content-type': 'application/json', ...HTTPS }
    const answer = await fetch(`${target.url}/auth/login`, {
      method: 'POST',
      headers: { ...headers, 'x-forwarded-for': anyAddress(n) },
      body: JSON.stringify({ username: `user${n % 500}@example.com`, password: 'guess guess' }),
    })
    await answer.text()
    if (answer.status !== 401) throw new Error(String(answer.status))
  })

const eventStreams: Attack = ({ port, noisyKeys }, signal) =>
  loops(200, signal, async (n) => {
    const key = noisyKeys[n % noisyKeys.length]
    const head = ['GET /events/stream HTTP/1.1', `x-api-key: ${key}`, proxied('::1')]
    await raw(port, head, signal, true)
    throw new Error('ended')
  })

/** Starts a local receiver that responds with a status, or never. */
export async function receiver(signal: AbortSignal, status: number | undefined): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    const ping = request.headers['gatehook-event'] === 'webhook.ping'
    if (status !== undefined || ping) response.writeHead(status ?? 200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  signal.addEventListener('abort', () => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function registered(target: Target, count: number, url: string): Promise<string[]> {
  const body = { url, events: ['payment.succeeded'] }
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { id } = await send(target, target.noisyKeys[0]!, 'POST', '/webhooks', body)
    ids.push(id)
  }
  return ids
}

async function removed(target: Target, ids: readonly string[]): Promise<void> {
  for (const id of ids) await send(target, target.noisyKeys[0]!, 'DELETE', `/webhooks/${id}`)
}

const replays: Attack = async (target, signal) => {
  const ids = await registered(target, 10, await receiver(signal, 200))
  const body = { since: '2025-01-01T00:00:00Z' }
  await loops(10, signal, async (n) => {
    await send(target, target.noisyKeys[1]!, 'POST', `/webhooks/${ids[n % 10]}/replay`, body)
    await pause(50)
  })
  await removed(target, ids)
}

const registrationLoop: Attack = async (target, signal) => {
  const url = await receiver(signal, 500)
  await loops(8, signal, async (n) => {
    const key = target.noisyKeys[n % target.noisyKeys.length]!
    const body = { url, events: ['payment.succeeded'] }
    const { id } = await send(target, key, 'POST', '/webhooks', body)
    await send(target, key, 'DELETE', `/webhooks/${id}`)
  })
}

const hangingReceivers: Attack = async (target, signal) => {
  const ids = await registered(target, 50, await receiver(signal, undefined))
  const object = { id: 1, text: 'x'.repeat(250_000) }
  await loops(1, signal, async () => {
    const body = { type: 'payment.succeeded', object }
    await send(target, target.noisyKeys[2]!, 'POST', '/events', body)
    await pause(150)
  })
  await removed(target, ids)
}

const SPACES = ' '.repeat(7_000)
const RANGES = Array.from({ length: 380 }, (_, n) => `a/b${n};q=0.${n}`).join(',')

const costlyHeaders: Attack = ({ port }, signal) =>
  loops(4, signal, (n) => {
    const header =
      n % 2 ? `accept: ${RANGES}` : `authorization: Bearer a${SPACES}b${SPACES.slice(0, 6_000)}c`
    const close = 'connection: close'
    const head = ['GET /api/v2/protected HTTP/1.1', header, close, proxied(anyAddress(n))]
    return raw(port, head, signal, true)
  })

const RELATIONS = Array.from({ length: 10 }, (_, n) => `r${n}`).join(',')

/** Sends a request with a key of the attacker, and reads the response. */
async function sendRaw(target: Target, n: number, path: string, init: RequestInit = {}) {
  const key = target.noisyKeys[n % target.noisyKeys.length]!
  const headers = { 'x-api-key': key, 'content-type': 'application/json', ...HTTPS }
  const answer = await fetch(target.url + path, {
    ...init,
    headers: { ...headers, ...(init.headers as Record<string, string>) },
  })
  await answer.arrayBuffer()
}

const dryDeletions: Attack = (target, signal) =>
  loops(3, signal, (n) =>
    sendRaw(target, n, '/api/v2/folders/1', { method: 'DELETE', headers: { prefer: 'dry-run' } }),
  )

const LARGE_ROW = Object.fromEntries(
  ['a', 'b', 'c'].map((name) => [name, { text: 'y'.repeat(65_000) }]),
)

/** Creates folders of 20 rows of 195 kB, and deletes each with its rows. */
const cascadingDeletions: Attack = (target, signal) =>
  loops(3, signal, async (n) => {
    const key = target.noisyKeys[n % target.noisyKeys.length]!
    const { id } = await send(target, key, 'POST', '/api/v2/folders', { name: 'cascade' })
    const items = Array(5).fill({ folder_id: id, ...LARGE_ROW })
    for (let batch = 0; batch < 4; batch++) {
      await send(target, key, 'POST', '/api/v2/texts/batch', { items })
    }
    await send(target, key, 'DELETE', `/api/v2/folders/${id}`)
  })

const expandedPages: Attack = (target, signal) =>
  loops(6, signal, (n) => {
    const style = n % 2 ? '&pagination=hypermedia&per_page=100' : '&limit=100'
    return sendRaw(target, n, `/api/v2/links?expand=${RELATIONS}${style}`)
  })

const notes = (count: number): string => {
  const body = (item: number) =>
    Array.from({ length: 1_000 }, (_, n) => (n * 7_919 + item * 104_729).toString(36)).join(' ')
  const items = Array.from({ length: count }, (_, item) => ({ body: body(item) }))
  return JSON.stringify({ items })
}

/** Creates rows with words: more than one change may have, or as many. */
const words =
  (rows: number): Attack =>
  (target, signal) => {
    const body = notes(rows)
    const init = { method: 'POST', body }
    return loops(3, signal, (n) => sendRaw(target, n, '/api/v2/notes/batch', init))
  }

const FILLER = Array.from({ length: 8 }, (_, n) => `x-filler-${n}: ${'f'.repeat(500)}`)

const refusedStrangers: Attack = ({ port }, signal) =>
  loops(3, signal, () => {
    const close = 'connection: close'
    const from = proxied('203.0.113.9')
    return raw(port, ['GET /api/v2/users HTTP/1.1', ...FILLER, close, from], signal, true)
  })

/** No attack: an operator deletes a customer with a million rows, which must delay no neighbour. */
const largeDeletion: Attack = async (target, signal) => {
  await send(target, BENCH_KEY, 'DELETE', `/admin/customers/${target.leavingId}`)
  if (!signal.aborted) await once(signal, 'abort')
}

/** The attacks by their names in the README. */
export const attacks: Readonly<Record<string, Attack>> = {
  'unread answers': unreadAnswers,
  'expensive lists': expensiveLists,
  'password guesses': passwordGuesses,
  'event streams': eventStreams,
  replays,
  'hanging receivers': hangingReceivers,
  'costly headers': costlyHeaders,
  'dry deletions': dryDeletions,
  'cascading deletions': cascadingDeletions,
  'expanded pages': expandedPages,
  'too many words': words(100),
  'most words': words(20),
  'refused strangers': refusedStrangers,
  // The last ones: it uses up the registrations of a minute, which two of the others need.
  'registrations in a loop': registrationLoop,
  // The deletion goes on after its row.
  [LARGE_DELETION]: largeDeletion,
}
