/**
 * `gatehook listen`: prints events of a running node, and forwards them to a receiver on the
 * developer's machine, signed as webhooks are (§9.11). It creates no registration.
 */

import { listEventScopes } from '../declare/resources/event-types.ts'
import { wallClock } from '../kernel/clock.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import { printable } from '../kernel/printable.ts'
import { systemRandom } from '../kernel/random.ts'
import { isoTime } from '../kernel/time.ts'
import { type SigningSecret, signatureHeaders } from '../outbound/deliveries/signature.ts'
import type { Outcome, Send } from '../outbound/transport/attempt.ts'
import { isDelivered } from '../outbound/transport/attempt.ts'
import { findTargetProblem } from '../outbound/transport/target.ts'
import { environmentKey } from '../platform/config/environment.ts'
import { borrowKey, customerOptions, nodeOf } from './api.ts'
import { words } from './arguments.ts'
import { type CommandSpec, configOf, type Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { type FollowedEvent, followEvents } from './event-follower.ts'
import { messagesOf, remoteSender } from './http-client.ts'
import { onKeys } from './keyboard.ts'
import { localSecret, localSecretFile } from './local-secret.ts'
import { alarm, bold, cyan, dim, green, type Output, yellow } from './output.ts'
import { packageVersion } from './own-package.ts'

/** Returns the URL of `--forward-to`: a port, `host:port/path` or a URL. Throws `UsageError`. */
export function forwardTarget(text: unknown): string | undefined {
  if (text === undefined) return undefined
  const address = String(text)
  const url = /^\d+$/.test(address)
    ? `http://127.0.0.1:${address}/`
    : /^(?:https?:|[a-z][a-z\d+.-]*:\/\/)/i.test(address)
      ? address
      : `http://${address}`
  // The same URLs as for registrations.
  if (findTargetProblem(url, true) !== undefined) {
    throw new UsageError(
      `--forward-to "${address}" is no URL to send to; try http://127.0.0.1:3000/webhooks.`,
    )
  }
  return url
}

interface ForwardedEvent {
  readonly event: FollowedEvent
  readonly deliveryId: string
  attempt: number
}

interface Forwarder {
  /** Undefined to print events only. */
  readonly to: string | undefined
  readonly secret: SigningSecret
  readonly send: Send
  readonly out: Output
}

/** Forwards an event, and prints it with the result. */
async function forward(
  { to, secret, send, out }: Forwarder,
  forwarded: ForwardedEvent,
): Promise<void> {
  const { event, deliveryId } = forwarded
  const { type } = JSON.parse(event.data) as { type: string }
  forwarded.attempt++
  let outcome: Outcome | undefined
  if (to !== undefined) {
    const headers = signatureHeaders({
      secrets: [secret],
      id: event.id,
      type,
      deliveryId,
      attempt: forwarded.attempt,
      atS: Math.floor(wallClock.now() / 1000),
      body: event.data,
      userAgent: `Gatehook-Webhooks/${packageVersion}`,
    })
    outcome = await send({ url: to, body: event.data, headers })
  }
  out.entry(entryOf(forwarded, type, outcome), () => lineOf(forwarded, type, outcome))
}

const entryOf = (
  { event, deliveryId, attempt }: ForwardedEvent,
  type: string,
  outcome?: Outcome,
) => ({
  event_id: event.id,
  type,
  at: isoTime(wallClock.now()),
  ...(outcome && {
    delivery_id: deliveryId,
    attempt,
    delivered: isDelivered(outcome),
    response_status: outcome.kind === 'answered' ? outcome.status : null,
    error: outcome.kind === 'answered' ? null : outcome.message,
    duration_ms: outcome.durationMs,
  }),
  event: JSON.parse(event.data) as unknown,
})

const TYPE_COLUMNS = 24

function lineOf({ event, attempt }: ForwardedEvent, type: string, outcome?: Outcome): string {
  const time = dim(isoTime(wallClock.now()).slice(11, 19))
  const name = printable(type).padEnd(TYPE_COLUMNS)
  const head = `${time}  ${cyan(name)}  ${printable(event.id)}`
  if (!outcome) return head
  const attemptText = attempt > 1 ? dim(`  attempt ${attempt}`) : ''
  const duration = `${String(outcome.durationMs).padStart(5)} ms`
  if (outcome.kind === 'failed') {
    const cause = alarm(printable(outcome.message))
    return `${head}  ${alarm('---')}  ${duration}  ${cause}${attemptText}`
  }
  const paint = isDelivered(outcome) ? green : outcome.status >= 500 ? alarm : yellow
  return `${head}  ${paint(String(outcome.status))}  ${duration}${attemptText}`
}

function printIntroduction(input: Input, url: string, { to, secret, out }: Forwarder): void {
  const listening = { url, forward_to: to ?? null, secret: secret.value }
  out.entry({ listening }, () =>
    [
      `Listening to ${bold(url)}${to ? `, forwarding to ${bold(to)}` : ''}.`,
      to ? `Signed with ${bold(secret.value)} ${dim('(the same for each run)')}` : undefined,
      input.out.terminal && process.stdin.isTTY
        ? dim(to ? 'r resends the last event, q ends.' : 'q ends.')
        : undefined,
      '',
    ]
      .filter((line) => line !== undefined)
      .join('\n'),
  )
}

/** An id before every event. */
const SMALLEST_ID = `evt_${'0'.repeat(22)}`

/**
 * Returns the id of the newest event. A stream from there has no gap if the connection is lost
 * before its first event.
 */
async function newestEventId(url: string, key: string): Promise<string> {
  const { status, body } = await remoteSender(url, key)('GET', '/events?sort=-id&limit=1&fields=id')
  if (body?.error === 'invalid_api_key' && environmentKey() === undefined) {
    throw new CommandError(
      `The node at ${url} does not know the key that this command has just created in the ` +
        'database of this folder: the node uses another database. Name it by --dir or ' +
        '--database-url, or set GATEHOOK_API_KEY to a key of the node.',
    )
  }
  if (status !== 200) throw new CommandError(messagesOf(body, status)[0]!)
  return body.data[0]?.id ?? SMALLEST_ID
}

const streamPath = (types: unknown): string =>
  types === undefined
    ? '/events/stream'
    : `/events/stream?types=${encodeURIComponent(words(types).join(','))}`

async function run(input: Input): Promise<undefined> {
  const { out, options } = input
  const to = forwardTarget(options.forwardTo)
  const config = configOf(input)
  const random = systemRandom()
  const { url } = nodeOf(input)
  // Loaded here: the other commands open no sockets.
  const { createTransport } = await import('../outbound/transport/transport.ts')
  const transport = createTransport({
    clock: wallClock,
    allowPrivate: true,
    timeoutMs: config.webhookTimeoutMs,
  })
  // Before the secret: a folder without a database gets no data folder.
  let borrowedKey = await borrowKey(input, listEventScopes)
  const secret = { value: localSecret(localSecretFile(config), random) }
  const forwarder: Forwarder = { to, secret, send: transport.send, out }
  let last: ForwardedEvent | undefined
  let queue = Promise.resolve()
  /** Forwards one event at a time, those that a key resends included. */
  const enqueue = (event: ForwardedEvent) => {
    queue = queue.then(() => forward(forwarder, event))
    return queue
  }
  const stop = new AbortController()
  const release = onKeys(stop, { r: () => last && to && enqueue(last) })
  try {
    const after = options.after ?? (await newestEventId(url, borrowedKey.key))
    let isIntroduced = false
    await followEvents({
      url,
      path: streamPath(options.events),
      after: String(after),
      async key(renew) {
        if (renew) borrowedKey = await borrowKey(input, listEventScopes)
        return borrowedKey.key
      },
      connected() {
        if (!isIntroduced) printIntroduction(input, url, forwarder)
        isIntroduced = true
        out.progress(dim('connected'))
      },
      lost: (reason, retryMs) =>
        out.progress(yellow(`${reason.replace(/\.$/, '')}; retry in ${retryMs / 1000} s`)),
      handle(event) {
        const deliveryId = createTimeOrderedId('dlv_', wallClock.now(), random)
        last = { event, deliveryId, attempt: 0 }
        return enqueue(last)
      },
      signal: stop.signal,
    })
  } finally {
    release()
    transport.close()
    await borrowedKey.giveBack().catch(() => undefined) // it expires in any case
  }
}

export const listen: CommandSpec = {
  name: 'listen',
  summary: 'events of a running node, forwarded to a receiver on this machine',
  description:
    'Prints events as they occur and forwards each, signed as webhooks are, with a secret of ' +
    'this machine. After a lost connection, it continues behind the last event. It is a client ' +
    'of a running node: name its address by --port or --url. `trigger` needs neither, because ' +
    'it opens the database of the folder itself.',
  options: [
    ...customerOptions,
    ['--forward-to <URL>', 'the receiver of each event: a URL, host:port/path, or a port'],
    ['--events <TYPES...>', 'only these: thing.*,other.created; may be repeated'],
    ['--after <EVENT>', 'start behind this event instead of now'],
  ],
  json: 'print a line of JSON for each event',
  config: ['databaseUrl', 'host', 'port', 'webhookTimeoutMs'],
  examples: [
    ['gatehook listen --forward-to localhost:3000/webhooks', 'develop a receiver'],
    ['gatehook listen --events "thing.*" --json', 'a line of JSON for each event'],
    ['GATEHOOK_API_KEY=… gatehook listen --url https://api.example.com', 'of another machine'],
  ],
  run,
}
