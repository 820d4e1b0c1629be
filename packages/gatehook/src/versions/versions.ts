/**
 * The room put together: what it gives to the app. Which version a call gets, what it hears of that
 * version's end, who is written down for it.
 */

import type { Identify } from '../access/authenticate.ts'
import type { Actor, AuditSigner } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { After, Answer, Call, Route, Step } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'
import type { Random } from '../kernel/random.ts'
import type { Lister } from '../lists/list.ts'
import type { Database } from '../storage/database.ts'
import { announce, type ShownVersion, shownVersion } from './announce.ts'
import { type Board, createBoard, type Standing } from './board.ts'
import { SUPPORTED_MAX, type VersionDefinition } from './calendar.ts'
import type { VersionChange } from './change.ts'
import { createLedger, FLUSH_MS, type Ledger } from './ledger.ts'
import { createNaming, type Naming } from './naming.ts'
import { negotiation } from './negotiation.ts'
import { createAutopilot } from './notices.ts'
import { createGone } from './retirement.ts'
import { versionRoutes } from './routes.ts'
import { insertVersion, readAnnounced } from './store.ts'

/** Every node applies announcements and clock changes within a second (§8.5, §12.6). */
const FOLLOW_INTERVAL_MS = 1000

export interface VersionsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
  readonly log: Log
  readonly list: Lister
  /** Majors, oldest first, with what the service declares of them. */
  readonly definitions: readonly VersionDefinition[]
  readonly changes: readonly VersionChange[]
  /** In `application/vnd.<vendor>.api.v1+json`. */
  readonly vendor: string
  readonly strict: boolean
  readonly publicUrl: () => string
  readonly identify: Identify
  readonly record: RecordEvent
}

export interface VersionSteps {
  /** Before the credential: what the call names, or 410. */
  readonly explicit: Step
  /** After it: the pin, the oldest, or 400. */
  readonly settled: Step
  /** What every answer of a version says. */
  readonly signals: After
  /** Writes the call into the ledger. */
  readonly count: After
}

export interface Versions {
  readonly routes: readonly Route[]
  readonly steps: VersionSteps
  start(): void
  /** Ends the loop and stores what was counted. */
  stop(): Promise<void>
  /** Every version as `/admin/versions` shows it, oldest first. */
  shown(): ShownVersion[]
  /** §13: `PUT /admin/versions/{v}`. */
  announce(version: string, input: unknown, actor: Actor): Promise<ShownVersion>
  /** The version itself, or the successor that stands for it once it is retired (§9.11). */
  living(version: string): string
  /** Takes over what other nodes announced; the loop calls it every second. */
  follow(): Promise<void>
  /** Sends what is due (§8.10); the loop calls it every second. Gives how many events. */
  notify(): Promise<number>
  /** Stores what was counted; the loop calls it every `FLUSH_MS`. */
  flush(): Promise<void>
}

/** Reads what is announced, so that the first call is answered rightly. */
export async function openVersions(deps: VersionsDeps): Promise<Versions> {
  const { db, log } = deps
  const board = createBoard(deps)
  const naming = createNaming(deps.definitions, deps.vendor)
  const ledger = createLedger(deps)
  const follow = async () => {
    for (const { version, overrides, revision } of await readAnnounced(db)) {
      board.apply(version, overrides, revision)
    }
  }
  await addMissing(db, board.versions)
  await follow()
  warnOfMany(board, log)
  const notify = createAutopilot({ ...deps, board, ledger })
  const often = async () => {
    await follow()
    await notify()
  }
  let stop = async () => {}
  return {
    routes: versionRoutes({ ...deps, board, ledger }),
    steps: stepsOf(deps, board, naming, ledger),
    start() {
      const timers = [
        startInterval({
          intervalMs: FOLLOW_INTERVAL_MS,
          run: often,
          log,
          failure: 'announcements could not be read',
        }),
        startInterval({
          intervalMs: FLUSH_MS,
          run: ledger.flush,
          log,
          failure: 'version usage could not be stored',
        }),
      ]
      stop = async () => void (await Promise.all(timers.map((stopTimer) => stopTimer())))
    },
    async stop() {
      await stop()
      await ledger.flush().catch((error: unknown) => {
        log.warn({ err: error }, 'the last counts of version usage could not be stored')
      })
    },
    shown: () => board.versions.map((version) => shownVersion(board.standing(version)!)),
    announce: (version, input, actor) => announce({ ...deps, board }, version, input, actor),
    living: board.living,
    follow,
    notify,
    flush: ledger.flush,
  }
}

/** A list of versions needs a row for each; a start that finds them all writes nothing. */
async function addMissing(db: Database, versions: readonly string[]): Promise<void> {
  const have = new Set((await readAnnounced(db)).map(({ version }) => version))
  const missing = versions.filter((version) => !have.has(version))
  if (missing.length === 0) return
  await db.write(async (tx) => {
    for (const version of missing) await insertVersion(tx, version)
  })
}

function warnOfMany(board: Board, log: Log): void {
  const supported = board.versions.filter((one) => board.standing(one)!.state === 'supported')
  if (supported.length <= SUPPORTED_MAX) return
  const late = supported.slice(0, -SUPPORTED_MAX).join(', ')
  log.warn(
    { supported },
    `more than ${SUPPORTED_MAX} versions are supported; deprecate ${late} in the declaration, or ` +
      'by gatehook versions deprecate',
  )
}

function stepsOf(
  { clock, strict, identify }: VersionsDeps,
  board: Board,
  naming: Naming,
  ledger: Ledger,
): VersionSteps {
  const gone = createGone(clock, identify)
  /**
   * The request limit refuses before any version is negotiated, and its response names the version
   * all the same (§8.4). It is not counted as use of it.
   */
  const versionOfRefusal = (call: Call, answer: Answer): string | undefined => {
    if (answer.status !== 429 || call.kind !== 'api') return undefined
    try {
      return naming.versionOf(call) ?? (strict ? undefined : board.oldest())
    } catch {
      return undefined
    }
  }
  return {
    ...negotiation({ board, naming, strict, gone }),
    signals(call, answer) {
      const version = call.version ?? versionOfRefusal(call, answer)
      if (version === undefined) return
      call.out['x-api-version'] = version
      const { headers, warning } = board.standing(version)!
      if (headers) signal(call, headers, warning)
      const { accept } = call.headers
      if (answer.json === undefined || answer.status >= 400) return
      const type = naming.vendorType(accept)
      if (type !== undefined) call.out['content-type'] = type
    },
    count(call, answer) {
      const { version, principal } = call
      if (version === undefined) return
      if (principal || call.operation || answer.status === 410) {
        ledger.note(version, call, principal)
        return
      }
      // Nobody was asked who they are: an unknown path, an unknown method. No answer waits for it.
      void Promise.try(identify, call).then(
        (known) => ledger.note(version, call, known),
        () => ledger.note(version, call, undefined),
      )
    },
  }
}

function signal(
  call: Call,
  { link, ...headers }: NonNullable<Standing['headers']>,
  warning: Standing['warning'],
): void {
  Object.assign(call.out, headers)
  call.out.link = call.out.link ? `${call.out.link}, ${link}` : link!
  call.warnings.push(warning(call.route))
}
