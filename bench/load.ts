/** The bench's end of the load generator: starts its process, hands it requests, asks for runs. */
import { spawn } from 'node:child_process'
import type { Outcome, RunOptions } from './drive.ts'
import type { ListedRequest, Order, Reply } from './generator.ts'
import { pinned } from './server.ts'

/** One request a row asks, again and again in the order of its list. */
export interface Ask {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'
  /** Path and query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  /** JSON text, where `headers` name no other type. */
  readonly body?: string
  /**
   * Good for one request, which gives the next: a member of the JSON answer, as long as `value`,
   * takes the place of `value` in the request.
   */
  readonly renewed?: { readonly value: string; readonly member: string }
  /** What the row's check knows about the answer. */
  readonly known?: unknown
}

export interface Generator {
  /** Names a list of requests; asking again replaces it and starts at its head. */
  list(name: string, asks: readonly Ask[]): Promise<void>
  run(list: string, port: number, options: RunOptions): Promise<Outcome>
  end(): void
}

export function startGenerator(core: number | undefined): Generator {
  const [file, args] = pinned(core, [new URL('generator.ts', import.meta.url).pathname])
  const child = spawn(file, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const waiting = new Map<number, PromiseWithResolvers<Outcome | undefined>>()
  let number = 0
  child.on('message', (reply: Reply) => {
    const one = waiting.get(reply.number)!
    waiting.delete(reply.number)
    if ('error' in reply) one.reject(new Error(`load generator: ${reply.error}`))
    else one.resolve(reply.outcome)
  })
  child.on('exit', () => {
    for (const one of waiting.values()) one.reject(new Error('the load generator ended'))
  })
  function send(order: Order): Promise<Outcome | undefined> {
    const one = Promise.withResolvers<Outcome | undefined>()
    waiting.set(++number, one)
    child.send({ number, order })
    return one.promise
  }
  return {
    async list(name, asks) {
      await send({ kind: 'list', list: name, requests: asks.map(onTheWire) })
    },
    async run(list, port, options) {
      return (await send({ kind: 'run', list, port, options }))!
    },
    end: () => child.disconnect(),
  }
}

function onTheWire({ method, target, headers, body, renewed }: Ask): ListedRequest {
  let text = `${method} ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\n`
  for (const [name, value] of Object.entries(headers ?? {})) text += `${name}: ${value}\r\n`
  if (body !== undefined) {
    if (headers?.['content-type'] === undefined) text += 'content-type: application/json\r\n'
    text += `content-length: ${Buffer.byteLength(body)}\r\n`
  }
  return { text: `${text}\r\n${body ?? ''}`, bodiless: method === 'HEAD', renewed }
}
