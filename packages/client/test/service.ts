/** A small HTTP service for the client's tests: an in-memory collection, and scripted responses. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface ReceivedRequest {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface ScriptedResponse {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
  /** Closes the connection without a response. */
  readonly hangUp?: boolean
  /** Never responds. */
  readonly silent?: boolean
}

export interface Service {
  readonly baseUrl: string
  /** Every request, in order. */
  readonly requests: readonly ReceivedRequest[]
}

/** Serves on a free port until the test ends. */
export async function serve(
  t: TestContext,
  respond: (request: ReceivedRequest) => ScriptedResponse | Promise<ScriptedResponse>,
): Promise<Service> {
  const requests: ReceivedRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const url = new URL(request.url!, 'http://service')
    const body = text === '' ? undefined : JSON.parse(text)
    const received = { method: request.method!, url, headers: request.headers, body }
    requests.push(received)
    const { status = 200, headers, body: out, hangUp, silent } = await respond(received)
    if (silent) return
    if (hangUp) return void request.socket.destroy()
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof out === 'string' || out === undefined ? out : JSON.stringify(out))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

/** Returns a page of `ids` in the style that the parameters select (§7.1, §7.2). */
export function listPage(ids: readonly number[], url: URL): unknown {
  const query = url.searchParams
  const number = (name: string, otherwise: number) => Number(query.get(name) ?? otherwise)
  const rows = (from: number, count: number) => ids.slice(from, from + count).map((id) => ({ id }))
  const limit = number('limit', 20)
  const total = ids.length
  const style = query.get('pagination')
  if (style === 'offset' || query.has('offset')) {
    const offset = number('offset', 0)
    return { data: rows(offset, limit), offset, limit, total }
  }
  if (style === 'keyset' || query.has('after_id')) {
    const from = ids.filter((id) => id <= number('after_id', 0)).length
    const data = rows(from, limit)
    const after = data.at(-1)?.id ?? number('after_id', 0)
    return { data, after_id: after, has_more: from + limit < total }
  }
  if (style === 'page' || style === 'hypermedia' || query.has('page') || query.has('per_page')) {
    const [page, size] = [number('page', 1), number('per_page', 20)]
    const pages = Math.ceil(total / size)
    const data = rows((page - 1) * size, size)
    if (style !== 'hypermedia') return { data, page, per_page: size, total, total_pages: pages }
    const next = new URLSearchParams(query)
    next.set('page', String(page + 1))
    const links = page < pages ? { next: `/elsewhere?${next}` } : {}
    return { data, links, meta: { total, per_page: size, current_page: page, total_pages: pages } }
  }
  const from = Number(atob(query.get('cursor') ?? btoa('0')))
  const next = from + limit < total ? btoa(String(from + limit)) : null
  return {
    data: rows(from, limit),
    cursors: { next, prev: null },
    next_cursor: next,
    has_more: next !== null,
  }
}
