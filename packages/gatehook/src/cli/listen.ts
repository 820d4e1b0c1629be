/**
 * `gatehook listen`: events of a running node as they happen, forwarded to a receiver on the
 * developer's machine, signed as webhooks are (§9.11). Nothing is registered and nothing is stored.
 */
import { readConfig } from '../config/environment.ts'
import { type SigningSecret, signatureHeaders } from '../deliveries/signature.ts'
import { wallClock } from '../kernel/clock.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import { systemRandom } from '../kernel/random.ts'
import { isoTime } from '../kernel/time.ts'
import { eventScopesOf } from '../resources/event-types.ts'
import { targetProblem } from '../transport/address-guard.ts'
import type { Outcome, Send } from '../transport/attempt.ts'
import { isDelivered } from '../transport/attempt.ts'
import { apiOptions, borrowKey, nodeOf } from './api.ts'
import type { CommandSpec, Input } from './command.ts'
import { type FollowedEvent, followEvents } from './follow.ts'
import { onKeys } from './keyboard.ts'
import { localSecret, localSecretFile } from './local-secret.ts'
import { CommandError, UsageError } from './mistake.ts'
import { alarm, bold, cyan, dim, green, type Output, yellow } from './output.ts'
import { messageOf, remoteAsk } from './remote.ts'
import { packageVersion } from './version.ts'

/** `3000`, `localhost:3000/hook` and URLs alike. */
export function forwardTarget(text: unknown): string | undefined {
  if (text === undefined) return undefined
  const given = String(text)
  const url = /^\d+$/.test(given)
    ? `http://127.0.0.1:${given}/`
    : /^[a-z][a-z\d+.-]*:\/\//i.test(given)
      ? given
      : `http://${given}`
  // What no registration could have is not sent to either: no event would ever arrive.
  if (targetProblem(url, true) !== undefined) {
    throw new UsageError(
      `--forward-to "${given}" is no URL to send to; try http://127.0.0.1:3000/webhooks.`,
    )
  }
  return url
}

interface Sent {
  readonly event: FollowedEvent
  readonly deliveryId: string
  attempt: number
}

interface Forwarding {
  readonly to: string | undefined
  readonly secret: SigningSecret
  readonly send: Send
  readonly out: Output
}

/** Sends an event on, or only shows it, and says how that went. */
async function forward({ to, secret, send, out }: Forwarding, sent: Sent): Promise<void> {
  const { event, deliveryId } = sent
  const { type } = JSON.parse(event.data) as { type: string }
  sent.attempt++
  let outcome: Outcome | undefined
  if (to !== undefined) {
    const headers = signatureHeaders({
      secrets: [secret],
      id: event.id,
      type,
      deliveryId,
      attempt: sent.attempt,
      atS: Math.floor(wallClock.now() / 1000),
      body: event.data,
      userAgent: `Gatehook-Webhooks/${packageVersion}`,
    })
    outcome = await send({ url: to, body: event.data, headers })
  }
  out.entry(entryOf(sent, type, outcome), () => lineOf(sent, type, outcome))
}

const entryOf = ({ event, deliveryId, attempt }: Sent, type: string, outcome?: Outcome) => ({
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

function lineOf({ event, attempt }: Sent, type: string, outcome?: Outcome): string {
  const time = dim(isoTime(wallClock.now()).slice(11, 19))
  const head = `${time}  ${cyan(type.padEnd(TYPE_COLUMNS))}  ${event.id}`
  if (!outcome) return head
  const again = attempt > 1 ? dim(`  again (${attempt})`) : ''
  const took = `${String(outcome.durationMs).padStart(5)} ms`
  if (outcome.kind === 'failed') {
    return `${head}  ${alarm('---')}  ${took}  ${alarm(outcome.message)}${again}`
  }
  const paint = isDelivered(outcome) ? green : outcome.status >= 500 ? alarm : yellow
  return `${head}  ${paint(String(outcome.status))}  ${took}${again}`
}

function introduce(input: Input, url: string, { to, secret, out }: Forwarding): void {
  const listening = { url, forward_to: to ?? null, secret: secret.value }
  out.entry({ listening }, () =>
    [
      `Listening to ${bold(url)}${to ? `, forwarding to ${bold(to)}` : ''}.`,
      to ? `Signed with ${bold(secret.value)} ${dim('(the same every time)')}` : undefined,
      input.out.terminal && process.stdin.isTTY
        ? dim(to ? 'r sends the last one again, q ends.' : 'q ends.')
        : undefined,
      '',
    ]
      .filter((line) => line !== undefined)
      .join('\n'),
  )
}

/** Before the first event there ever was. */
const BEGINNING = `evt_${'0'.repeat(22)}`

/**
 * The newest event there is. Starting behind it instead of "now" leaves no gap where the connection
 * breaks before the first event came.
 */
async function newestEvent(url: string, key: string): Promise<string> {
  const { status, body } = await remoteAsk(url, key)('GET', '/events?sort=-id&limit=1&fields=id')
  if (status !== 200) throw new CommandError(messageOf(body, status))
  return body.data[0]?.id ?? BEGINNING
}

async function run(input: Input): Promise<undefined> {
  const { out, options } = input
  const to = forwardTarget(options.forwardTo)
  const config = readConfig(input.flags)
  const random = systemRandom()
  const { url } = nodeOf(input)
  // Loaded when needed: the other commands open no sockets.
  const { createTransport } = await import('../transport/transport.ts')
  const transport = createTransport({
    clock: wallClock,
    allowPrivate: true,
    timeoutMs: config.webhookTimeoutMs,
  })
  const secret = { value: localSecret(localSecretFile(config), random) }
  const forwarding: Forwarding = { to, secret, send: transport.send, out }
  let loan = await borrowKey(input, eventScopesOf)
  let last: Sent | undefined
  let running = Promise.resolve()
  /** One after the other: what the keyboard asks for, too. */
  const inTurn = (sent: Sent) => {
    running = running.then(() => forward(forwarding, sent))
    return running
  }
  const stop = new AbortController()
  const release = onKeys(stop, { r: () => last && to && inTurn(last) })
  try {
    const after = options.after ?? (await newestEvent(url, loan.key))
    introduce(input, url, forwarding)
    await followEvents({
      url,
      types: options.events === undefined ? undefined : String(options.events),
      after: String(after),
      async key(renew) {
        if (renew) loan = await borrowKey(input, eventScopesOf)
        return loan.key
      },
      connected: () => out.progress(dim('connected')),
      lost: (why, againMs) =>
        out.progress(yellow(`${why.replace(/\.$/, '')}; again in ${againMs / 1000} s`)),
      handle(event) {
        const deliveryId = createTimeOrderedId('dlv_', wallClock.now(), random)
        last = { event, deliveryId, attempt: 0 }
        return inTurn(last)
      },
      signal: stop.signal,
    })
  } finally {
    release()
    transport.close()
    await loan.giveBack().catch(() => undefined) // it ends by itself
  }
}

export const listen: CommandSpec = {
  name: 'listen',
  summary: 'events of a running node, forwarded to a receiver on this machine',
  description:
    'Shows events as they happen and sends each on, signed as webhooks are, with a secret of ' +
    'this machine. Where the connection breaks, it goes on behind the last event.',
  options: [
    ...apiOptions,
    ['--forward-to <URL>', 'where each event is POSTed: a URL, host:port/path, or a port'],
    ['--events <TYPES>', 'only these: thing.*,other.created'],
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
