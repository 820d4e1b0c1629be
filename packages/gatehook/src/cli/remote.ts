/**
 * A running node, called over HTTP by the command line. The only file of the CLI that opens
 * connections; which node and with which key is `api.ts`.
 */
import { CommandError } from './mistake.ts'

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer's shape is known by who asked
  readonly body: any
}

/** Sends a request and reads the whole answer. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<Reply>

const ASK_MS = 60_000

/** Throws a `CommandError` where no node answers. */
export function remoteAsk(url: string, key: string): Ask {
  return async (method, path, body) => {
    const response = await reached(url, path, {
      method,
      headers: {
        'x-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(ASK_MS),
    })
    const text = await response.text()
    return { status: response.status, body: parsed(text) }
  }
}

export interface OpenedStream {
  readonly status: number
  /** Seconds, where the node asks to come later. */
  readonly retryAfter: number | undefined
  /** Of a refusal. */
  readonly message: string
  /** Text as it comes in; undefined for a refusal. */
  readonly text: AsyncIterable<string> | undefined
}

/** Opens a body without an end. Throws a `CommandError` where no node answers. */
export async function openStream(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<OpenedStream> {
  const response = await reached(url, path, { headers, redirect: 'error', signal })
  const { status } = response
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const known = Number.isNaN(retryAfter) ? undefined : retryAfter
  if (status === 200 && response.body) {
    const text = response.body.pipeThrough(new TextDecoderStream())
    return { status, retryAfter: known, message: '', text: text as AsyncIterable<string> }
  }
  const message = messageOf(parsed(await response.text()), status)
  return { status, retryAfter: known, message, text: undefined }
}

/** What an API says of a refusal. */
export const messageOf = (body: Reply['body'], status: number): string => {
  const [first] = body?.errors ?? []
  const where = String(first?.pointer ?? first?.parameter ?? '').replace(/^\//, '')
  return first ? `${where} ${first.message}`.trim() : (body?.message ?? `The answer was ${status}.`)
}

async function reached(url: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url + path, init)
  } catch (error) {
    if (init.signal?.aborted) throw error
    const why = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code
    throw new CommandError(
      `No node answers at ${url}${why ? ` (${why})` : ''}. Start one: gatehook start. ` +
        'Elsewhere: --url URL.',
    )
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
