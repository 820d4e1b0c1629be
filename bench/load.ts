/** The client of the load generator: starts its process, sends it requests and runs. */
import { spawn } from 'node:child_process'
import type { Outcome, RunOptions } from './drive.ts'
import type { ListedRequest, Order, Reply } from './generator.ts'
import { pinnedCommand } from './server.ts'

/** A request of a row. The generator sends the requests of a list cyclically. */
export interface BenchRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'
  /** Path and query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  /** JSON text, unless `headers` name another type. */
  readonly body?: string
  /**
   * For a request that can be sent once: the named member of the JSON response replaces `value` in
   * the next one. Both have the same length.
   */
  readonly renewed?: { readonly value: string; readonly member: string }
  /** The expected content of the response, for the row's check. */
  readonly expected?: unknown
}

export interface Generator {
  /** Stores a list of requests under a name; a second call replaces it. */
  list(name: string, requests: readonly BenchRequest[]): Promise<void>
  run(list: string, port: number, options: RunOptions): Promise<Outcome>
  end(): void
}

export function startGenerator(core: number | undefined): Generator {
  const [file, args] = pinnedCommand(core, [new URL('generator.ts', import.meta.url).pathname])
  const child = spawn(file, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const pending = new Map<number, PromiseWithResolvers<Outcome | undefined>>()
  let number = 0
  child.on('message', (reply: Reply) => {
    const run = pending.get(reply.number)!
    pending.delete(reply.number)
    if ('error' in reply) run.reject(new Error(`load generator: ${reply.error}`))
    else run.resolve(reply.outcome)
  })
  child.on('exit', () => {
    for (const run of pending.values()) run.reject(new Error('the load generator ended'))
  })
  function send(order: Order): Promise<Outcome | undefined> {
    const run = Promise.withResolvers<Outcome | undefined>()
    pending.set(++number, run)
    child.send({ number, order })
    return run.promise
  }
  return {
    async list(name, requests) {
      await send({ kind: 'list', list: name, requests: requests.map(wireText) })
    },
    async run(list, port, options) {
      return (await send({ kind: 'run', list, port, options }))!
    },
    end: () => child.disconnect(),
  }
}

function wireText({ method, target, headers, body, renewed }: BenchRequest): ListedRequest {
  let text = `${method} ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\n`
  for (const [name, value] of Object.entries(headers ?? {})) text += `${name}: ${value}\r\n`
  if (body !== undefined) {
    if (headers?.['content-type'] === undefined) text += 'content-type: application/json\r\n'
    text += `content-length: ${Buffer.byteLength(body)}\r\n`
  }
  return { text: `${text}\r\n${body ?? ''}`, bodiless: method === 'HEAD', renewed }
}
